/** Checked by the compiler alone (`npm run typecheck`): what a typed client knows of a model. */
import type { ModelClient } from 'kindred/client';
import { createClient } from 'kindred/client';
import { City } from '../../examples/atlas/city.ts';

const cities = createClient({ url: 'http://127.0.0.1:8090' }).for(City);

export async function typed(): Promise<void> {
  const page = await cities.list({
    fields: { 'spec.country': 'FR', 'spec.population': { '>=': 1 } },
    sort: ['spec.population,desc', 'metadata.name'],
  });
  const name: string = page.items[0]!.spec.name;
  const population: number = (await cities.get(name)).spec.population;
  await cities.create({ metadata: { name: 'city-1' }, spec: { ...page.items[0]!.spec, population } });
  for await (const event of cities.watch({ select: { labels: { rank: 'capital' } } })) {
    if (event.type !== 'BOOKMARK') event.object.spec.location.latitude satisfies number;
  }
  const options = { fieldManager: 'importer', force: true, dryRun: true };
  const applied = await cities.apply({ metadata: { name }, spec: { population: 1 } }, options);
  applied.spec.location.latitude satisfies number;
  // @ts-expect-error: a population is a number
  await cities.apply({ metadata: { name }, spec: { population: '1' } }, options);
  // @ts-expect-error: fields have an owner
  await cities.apply({ metadata: { name }, spec: { population: 1 } }, {});
  const limited = createClient({ url: 'http://127.0.0.1:8090', timeout: 1_000 }).with({ retry: { patience: 5_000 } });
  (await limited.for(City).get(name)).spec.population satisfies number;
  // @ts-expect-error: another service is another client
  limited.with({ url: 'http://127.0.0.1:8091' });
  // @ts-expect-error: "spec.admin" is no index of City
  await cities.list({ fields: { 'spec.admin': 'x' } });
  // @ts-expect-error: nor is it a sort key
  await cities.list({ sort: ['spec.admin,desc'] });
  // @ts-expect-error: directions are asc and desc
  await cities.list({ sort: ['spec.population,down'] });
  // @ts-expect-error: a population is a number
  await cities.create({ metadata: { name: 'city-1' }, spec: { ...page.items[0]!.spec, population: '1' } });
  // @ts-expect-error: City has no such field
  page.items[0]!.spec.mayor;
}

/** Where the type of the model does not say, every name is accepted. */
export const loose = (client: ModelClient<unknown>) => client.list({ fields: { anything: 1 }, sort: ['anything,asc'] });
