import { defineModel, Type } from 'kindred';

/** What the recorded clients write. `value` names the operation that wrote it; of one history no two objects share a slug. */
export const ItemModel = itemModel('histories.example.com');

/** The same in another group, for another store. */
export const PlacedItemModel = itemModel('placed.example.com');

export const itemsPath = '/apis/histories.example.com/v1/items';
export const placedItemsPath = '/apis/placed.example.com/v1/items';

function itemModel(group: string) {
  return defineModel({
    gvk: { group, version: 'v1', kind: 'Item', singular: 'item', plural: 'items' },
    spec: Type.Object({ history: Type.String(), value: Type.String(), slug: Type.Optional(Type.String()) }),
    indexes: (index) => [
      index.single('spec.history', String, (item) => item.spec.history),
      index.single('spec.slug', String, (item) => item.spec.slug, { unique: true }),
    ],
  });
}
