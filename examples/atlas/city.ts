import type { ObjectOf } from 'kindred/model';
import { defineModel, Type } from 'kindred/model';

/** GeoNames' codes of populated places, as far as they occur in the data. */
const featureCodes = [
  'PPL',
  'PPLA',
  'PPLA2',
  'PPLA3',
  'PPLA4',
  'PPLA5',
  'PPLC',
  'PPLCH',
  'PPLF',
  'PPLG',
  'PPLH',
  'PPLL',
  'PPLQ',
  'PPLR',
  'PPLS',
  'PPLW',
  'PPLX',
  'STLMT',
] as const;

export const City = defineModel({
  gvk: { group: 'atlas.example.com', version: 'v1alpha1', kind: 'City', singular: 'city', plural: 'cities' },
  presentation: {
    title: { en: 'City', 'zh-CN': '城市' },
    columns: ['spec.name', 'spec.country', 'spec.population'],
    summary: 'spec.name',
  },
  spec: Type.Object({
    geonameId: Type.Integer({ minimum: 1, description: 'Number of the place in GeoNames' }),
    name: Type.String({ minLength: 1, maxLength: 100, examples: ['Paris'] }),
    alternateName: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
    country: Type.String({ pattern: '^[A-Z]{2}$', description: 'ISO 3166-1 alpha-2', examples: ['FR'] }),
    admin: Type.Optional(Type.String({ maxLength: 20, description: 'Code of the first administrative division' })),
    featureCode: Type.Enum([...featureCodes], { description: 'What kind of place it is, as GeoNames says' }),
    population: Type.Integer({ minimum: 0 }),
    location: Type.Object({
      latitude: Type.Number({ minimum: -90, maximum: 90 }),
      longitude: Type.Number({ minimum: -180, maximum: 180 }),
    }),
  }),
  indexes: (index) => [
    index.single('spec.geonameId', Number, (city) => city.spec.geonameId, { unique: true }),
    index.single('spec.name', String, (city) => city.spec.name),
    index.single('spec.country', String, (city) => city.spec.country),
    index.single('spec.featureCode', String, (city) => city.spec.featureCode),
    index.single('spec.population', Number, (city) => city.spec.population, { order: 'DESC' }),
    index.single('spec.location.cell', String, (city) => cellOf(city.spec.location)),
    index.multi('spec.words', String, (city) => wordsOf(city.spec.name)),
  ],
});
export type City = ObjectOf<typeof City>;

/** The square of one degree that a place lies in, for finding what is near: `48:2` for Paris. */
function cellOf({ latitude, longitude }: { latitude: number; longitude: number }): string {
  return `${Math.floor(latitude)}:${Math.floor(longitude)}`;
}

/** The words of a name in lower case, without accents: how people type when they search. */
export function wordsOf(name: string): string[] {
  const plain = name
    .normalize('NFD')
    .replace(/\p{Mn}/gu, '')
    .toLowerCase();
  return plain.match(/[\p{L}\p{N}]+/gu) ?? [];
}
