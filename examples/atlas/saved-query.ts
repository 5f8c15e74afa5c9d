import type { ObjectOf } from 'kindred';
import { defineModel, Type } from 'kindred';

/** A question worth keeping: the parameters of a list. Some come with the plugin (`extensions/saved-queries.yaml`). */
export const SavedQuery = defineModel({
  gvk: {
    group: 'atlas.example.com',
    version: 'v1alpha1',
    kind: 'SavedQuery',
    singular: 'savedquery',
    plural: 'savedqueries',
  },
  presentation: { title: { en: 'Saved query', 'zh-CN': '已保存的查询' }, summary: 'spec.title' },
  spec: Type.Object({
    title: Type.String({ minLength: 1, maxLength: 200 }),
    of: Type.Enum(['cities', 'countries']),
    fieldSelector: Type.Optional(Type.String()),
    labelSelector: Type.Optional(Type.String()),
    sort: Type.Optional(Type.Array(Type.String())),
  }),
  indexes: (index) => [index.single('spec.title', String, (query) => query.spec.title)],
});
export type SavedQuery = ObjectOf<typeof SavedQuery>;
