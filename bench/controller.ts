/**
 * The controller of examples/atlas while 135,233 cities are imported: how long the import takes, how many names wait at
 * most, and how long after its end the status of all 250 countries is right.
 *
 * `npm run build && node bench/controller.ts`
 */
import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { startHarness } from 'kindred/testing';
import { City } from '../examples/atlas/city.ts';
import { Country } from '../examples/atlas/country.ts';
import { cities, countries } from '../examples/atlas/data.ts';

const perRequest = 2_000;
const path = '/apis/atlas.example.com/v1alpha1';

const harness = await startHarness({
  persistent: true,
  plugins: [resolve(import.meta.dirname, '../examples/atlas')],
});

async function post(plural: string, objects: readonly object[]): Promise<void> {
  const body = objects.map((object) => `${JSON.stringify(object)}\n`).join('');
  const response = await harness.fetch(`${path}/${plural}`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-ndjson' },
    body,
  });
  const lines = (await response.text()).trim().split('\n');
  const refused = lines.find((line) => !line.includes('"status":201'));
  assert.equal(refused, undefined);
  assert.equal(lines.length, objects.length);
}

/** Names that wait for the controller's worker, as /metrics tells. */
async function waiting(): Promise<number> {
  const text = await (await harness.fetch('/metrics')).text();
  return Number(/^kindred_controller_queue\{[^}]*state="waiting"[^}]*\} (\d+)/m.exec(text)?.[1] ?? 0);
}

const expected = new Map<string, { cities: number; population: number; largestCity?: string }>();
for (const { spec } of countries()) expected.set(spec.code, { cities: 0, population: 0 });
const largest = new Map<string, number>();
const all = [...cities()].sort((a, b) => (a.metadata.name! < b.metadata.name! ? -1 : 1));
for (const { metadata, spec } of all) {
  const status = expected.get(spec.country);
  if (!status) continue;
  status.cities += 1;
  status.population += spec.population;
  if (spec.population > (largest.get(spec.country) ?? -1)) {
    largest.set(spec.country, spec.population);
    status.largestCity = metadata.name!;
  }
}

await post('countries', [...countries()]);
const source = [...cities()];
let deepest = 0;
const began = performance.now();
for (let at = 0; at < source.length; at += perRequest) {
  await post('cities', source.slice(at, at + perRequest));
  deepest = Math.max(deepest, await waiting());
}
const imported = performance.now();
await harness.until(
  async () => {
    for await (const { spec, status } of harness.client.listAll(Country))
      assert.deepEqual(status, expected.get(spec.code), spec.code);
    return true;
  },
  { timeout: 60_000, interval: 50, what: 'every country is right' },
);
const right = performance.now();
assert.equal(await harness.client.count(City), source.length);

const seconds = (imported - began) / 1_000;
console.log(
  `imported ${source.length} cities in ${seconds.toFixed(1)} s: ${Math.round(source.length / seconds)} a second`,
);
console.log(`names that waited for the controller: at most ${deepest}`);
console.log(`every status right ${((right - imported) / 1_000).toFixed(2)} s after the import`);
await harness.stop();
