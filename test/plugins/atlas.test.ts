/** The controller and the pre-declared objects of the example plugin `atlas`, on a part of its real data. */
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Harness } from 'kindred/testing';
import { City } from '../../examples/atlas/city.ts';
import { Country } from '../../examples/atlas/country.ts';
import { cities, countries } from '../../examples/atlas/data.ts';
import type { Region } from '../../examples/atlas/region.ts';
import { cleanUp, harnessOf, pluginOf } from './kit.ts';

const codes = ['LI', 'MC', 'MT', 'SM', 'AD'];
const path = '/apis/atlas.example.com/v1alpha1';

describe('atlas', () => {
  let harness: Harness;
  before(async () => {
    harness = await harnessOf({ plugins: [resolve(import.meta.dirname, '../../examples/atlas')] });
  });
  after(cleanUp);

  /** From scratch, from what is stored. */
  async function expected(code: string): Promise<Country['status']> {
    const status: Country['status'] = { cities: 0, population: 0 };
    let largest = -1;
    for await (const { metadata, spec } of harness.client.listAll(City, undefined, ['metadata.name'])) {
      if (spec.country !== code) continue;
      status.cities += 1;
      status.population += spec.population;
      if (spec.population > largest) {
        largest = spec.population;
        status.largestCity = metadata.name;
      }
    }
    return status;
  }

  async function untilRight(): Promise<void> {
    for (const code of codes) {
      await harness.until(
        async () => {
          assert.deepEqual((await harness.client.get(Country, code.toLowerCase())).status, await expected(code));
          return true;
        },
        { what: `the status of ${code} is right` },
      );
    }
  }

  it('plugins: brings its regions and saved queries along', async () => {
    const list = async (plural: string) =>
      (
        (await (await harness.fetch(`${path}/${plural}?sort=metadata.name,asc`)).json()) as { items: Region[] }
      ).items.map(({ metadata }) => metadata.name);
    assert.deepEqual((await pluginOf(harness, 'atlas')).status, { state: 'STARTED' });
    assert.deepEqual(await list('regions'), ['africa', 'americas', 'antarctic', 'asia', 'europe', 'oceania']);
    assert.deepEqual(await list('savedqueries'), ['capitals-of-europe', 'landlocked-countries', 'largest-cities']);
  });

  it('controllers: the status of a country is right under any order of changes', async () => {
    // Some cities come before their country.
    const all = [...cities(codes)];
    const half = all.length >> 1;
    await Promise.all(all.slice(0, half).map((city) => harness.client.create(City, city)));
    await Promise.all(
      [...countries()]
        .filter(({ spec }) => codes.includes(spec.code))
        .map((country) => harness.client.create(Country, country)),
    );
    await Promise.all(all.slice(half).map((city) => harness.client.create(City, city)));
    await untilRight();
    const before = (await harness.client.get(Country, 'mt')).status!;
    assert.ok(before.cities > 50 && before.population > 100_000);

    const [moved, grown, gone] = all.filter(({ spec }) => spec.country === 'MT').map(({ metadata }) => metadata.name!);
    await harness.client.patch(City, moved!, { spec: { country: 'LI' } });
    await harness.client.patch(City, grown!, { spec: { population: 99_000_000 } });
    await harness.client.delete(City, gone!);
    await untilRight();
    assert.equal((await harness.client.get(Country, 'mt')).status!.largestCity, grown);
    await harness.client.delete(City, grown!);
    await untilRight();
  });
});
