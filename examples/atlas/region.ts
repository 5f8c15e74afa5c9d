import type { ObjectOf } from 'kindred';
import { defineModel, Type } from 'kindred';

/** The plugin brings its regions along (`extensions/regions.yaml`); countries and cities carry their names as a label. */
export const Region = defineModel({
  gvk: { group: 'atlas.example.com', version: 'v1alpha1', kind: 'Region', singular: 'region', plural: 'regions' },
  presentation: { title: { en: 'Region', 'zh-CN': '地区' }, summary: 'spec.name' },
  spec: Type.Object({
    name: Type.String({ minLength: 1, description: 'As in `spec.region` of a country' }),
    description: Type.String(),
  }),
  indexes: (index) => [index.single('spec.name', String, (region) => region.spec.name, { unique: true })],
});
export type Region = ObjectOf<typeof Region>;
