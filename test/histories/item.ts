import { defineModel, Type } from 'kindred';

/** What the recorded clients write. `value` names the operation that wrote it; of one history no two objects share a slug. */
export const ItemModel = defineModel({
  gvk: { group: 'histories.example.com', version: 'v1', kind: 'Item', singular: 'item', plural: 'items' },
  spec: Type.Object({ history: Type.String(), value: Type.String(), slug: Type.Optional(Type.String()) }),
  indexes: (index) => [
    index.single('spec.history', String, (item) => item.spec.history),
    index.single('spec.slug', String, (item) => item.spec.slug, { unique: true }),
  ],
});

export const itemsPath = '/apis/histories.example.com/v1/items';
