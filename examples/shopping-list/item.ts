import type { ObjectOf } from 'kindred/model';
import { defineModel, Type } from 'kindred/model';

/** Shared by the plugin and the page: in a bundle for browsers only its names and types are left. */
export const Item = defineModel({
  gvk: { group: 'shopping.example.com', version: 'v1', kind: 'Item', singular: 'item', plural: 'items' },
  spec: Type.Object({
    name: Type.String({ minLength: 1, maxLength: 60 }),
    amount: Type.Integer({ minimum: 1, maximum: 99, default: 1 }),
    bought: Type.Boolean({ default: false }),
  }),
  indexes: (index) => [
    index.single('spec.name', String, (item) => item.spec.name, { unique: true }),
    index.single('spec.bought', Boolean, (item) => item.spec.bought),
  ],
});
export type Item = ObjectOf<typeof Item>;
