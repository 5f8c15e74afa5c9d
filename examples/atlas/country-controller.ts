import type { Controller, ControllerBuilder, ExtensionClient, ReconcileRequest, Reconciler } from 'kindred';
import { ListOptions, Queries, Result } from 'kindred';
import { City } from './city.ts';
import { Country } from './country.ts';

/** Milliseconds between two looks at one country: while cities come in by the thousand, one look covers many of them. */
const pause = 1_000;

/**
 * Keeps the status of countries: how many cities there are, how many people live in them, which is the largest. It looks
 * at what is there and not at what happened, so the order of changes does not matter.
 */
export class CountryController implements Reconciler {
  readonly #client: ExtensionClient;
  /** When a country was looked at last. */
  readonly #looked = new Map<string, number>();

  constructor(client: ExtensionClient) {
    this.#client = client;
  }

  setupWith(builder: ControllerBuilder): Controller {
    return builder
      .extension(Country)
      .watches<City>(City, (city) => [city.spec.country.toLowerCase()])
      .build();
  }

  async reconcile({ name, signal }: ReconcileRequest): Promise<Result | undefined> {
    const wait = (this.#looked.get(name) ?? 0) + pause - performance.now();
    if (wait > 0) return Result.requeue(wait);
    const country = await this.#client.fetch(Country, name);
    if (!country) {
      this.#looked.delete(name);
      return undefined;
    }
    this.#looked.set(name, performance.now());
    const status: NonNullable<Country['status']> = { cities: 0, population: 0 };
    let largest = -1;
    const inCountry = ListOptions.builder().andQuery(Queries.equal('spec.country', country.spec.code)).build();
    for await (const { metadata, spec } of this.#client.listAll(City, inCountry, ['metadata.name,asc'])) {
      if (signal.aborted) return undefined;
      status.cities += 1;
      status.population += spec.population;
      if (spec.population > largest) {
        largest = spec.population;
        status.largestCity = metadata.name;
      }
    }
    await this.#client.updateStatus(Country, { ...country, status });
    return undefined;
  }
}
