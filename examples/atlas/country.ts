import type { ObjectOf } from 'kindred/model';
import { defineModel, Type } from 'kindred/model';

const code2 = Type.String({ pattern: '^[A-Z]{2}$', description: 'ISO 3166-1 alpha-2', examples: ['FR'] });
const code3 = Type.String({ pattern: '^[A-Z]{3}$', description: 'ISO 3166-1 alpha-3', examples: ['FRA'] });

export const Country = defineModel({
  gvk: {
    group: 'atlas.example.com',
    version: 'v1alpha1',
    kind: 'Country',
    singular: 'country',
    plural: 'countries',
    subresources: { status: true },
  },
  presentation: {
    title: { en: 'Country', 'zh-CN': '国家' },
    columns: ['spec.name.common', 'spec.region', 'spec.area', 'status.population'],
    summary: 'spec.name.common',
  },
  spec: Type.Object({
    name: Type.Object({
      common: Type.String({ minLength: 1, maxLength: 100, examples: ['France'] }),
      official: Type.String({ minLength: 1, maxLength: 200 }),
    }),
    code: code2,
    code3,
    capitals: Type.Array(Type.String({ minLength: 1 }), { uniqueItems: true }),
    region: Type.Enum(['Africa', 'Americas', 'Antarctic', 'Asia', 'Europe', 'Oceania']),
    subregion: Type.Optional(Type.String()),
    languages: Type.Record(Type.String(), Type.String(), { description: 'ISO 639-3 code to name' }),
    currencies: Type.Array(
      Type.Object({
        code: Type.String({ pattern: '^[A-Z]{3}$' }),
        name: Type.String(),
        symbol: Type.Optional(Type.String()),
      }),
    ),
    borders: Type.Array(code3, { uniqueItems: true, description: 'Neighbours by land' }),
    area: Type.Optional(Type.Number({ exclusiveMinimum: 0, description: 'km²' })),
    landlocked: Type.Boolean(),
    independent: Type.Optional(Type.Boolean()),
    unMember: Type.Boolean(),
    location: Type.Object({
      latitude: Type.Number({ minimum: -90, maximum: 90 }),
      longitude: Type.Number({ minimum: -180, maximum: 180 }),
    }),
    flag: Type.String(),
  }),
  status: Type.Object({
    cities: Type.Integer({ minimum: 0 }),
    population: Type.Integer({ minimum: 0, description: 'Of all its cities together' }),
    largestCity: Type.Optional(
      Type.String({ description: 'Name of the City object', 'x-reference': 'cities.atlas.example.com' }),
    ),
  }),
  indexes: (index) => [
    index.single('spec.code', String, (country) => country.spec.code, { unique: true }),
    index.single('spec.code3', String, (country) => country.spec.code3, { unique: true }),
    index.single('spec.name.common', String, (country) => country.spec.name.common, { unique: true }),
    index.single('spec.region', String, (country) => country.spec.region),
    index.single('spec.subregion', String, (country) => country.spec.subregion),
    index.single('spec.area', Number, (country) => country.spec.area, { order: 'DESC' }),
    index.single('spec.landlocked', Boolean, (country) => country.spec.landlocked),
    index.multi('spec.capitals', String, (country) => country.spec.capitals),
    index.multi('spec.borders', String, (country) => country.spec.borders),
    index.multi('spec.languages', String, (country) => Object.values(country.spec.languages)),
  ],
});
export type Country = ObjectOf<typeof Country>;
