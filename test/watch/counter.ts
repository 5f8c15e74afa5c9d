import { defineModel, Type } from 'kindred';

export const Counter = defineModel({
  gvk: { group: 'watch.example.com', version: 'v1', kind: 'Counter', singular: 'counter', plural: 'counters' },
  spec: Type.Object({ value: Type.Integer() }),
});
