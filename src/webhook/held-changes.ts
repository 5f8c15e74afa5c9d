/**
 * Changes of models that are not registered, as while their plugin does not start. A webhook that may name these models holds
 * the changes until the models are there, or for as long as it tries to deliver one.
 */
import { KindredError } from '../errors.ts';
import type { AppliedChange } from '../resource/change.ts';
import type { Feed, LogPortion } from '../resource/feed.ts';
import type { Timers } from '../runtime/timers.ts';

interface HeldChangesDependencies {
  readonly feed: Pick<Feed, 'changes' | 'isRegistered'>;
  /** The models that the store has objects or changes of; what the service keeps there itself is of none. */
  readonly models: () => Promise<readonly { readonly number: number; readonly group: string }[]>;
  readonly timers: Pick<Timers, 'now'>;
  /** Milliseconds for which the changes of a model are held. */
  readonly limit: number;
}

interface MissingModel {
  readonly number: number;
  readonly group: string;
  readonly since: number;
}

/** Of a part of the log, by revision. */
export type Found = ReadonlyMap<number, MissingModel>;

/** A change that is no longer held: it can be delivered, or says why it cannot. */
type Released = { readonly revision: number } & ({ readonly change: AppliedChange } | { readonly problem: string });

export class HeldChanges {
  readonly #dependencies: HeldChangesDependencies;
  /** What changes wait for, by revision. */
  readonly #held = new Map<number, MissingModel>();
  /** By number. */
  readonly #missing = new Map<number, MissingModel>();

  constructor(dependencies: HeldChangesDependencies) {
    this.#dependencies = dependencies;
  }

  get size(): number {
    return this.#held.size;
  }

  /** In ascending order. */
  get revisions(): Iterable<number> {
    return this.#held.keys();
  }

  /** A model is there by now of which changes are held: they go before those that follow. */
  get isDue(): boolean {
    return [...this.#held.values()].some(({ number }) => this.#dependencies.feed.isRegistered(number));
  }

  /**
   * Those that are to be held.
   * @param unknown resources that a webhook names and that have no model
   */
  async find(changes: LogPortion['unregistered'], unknown: readonly string[]): Promise<Found> {
    const { feed, models, timers } = this.#dependencies;
    for (const number of this.#missing.keys()) if (feed.isRegistered(number)) this.#missing.delete(number);
    const found = new Map<number, MissingModel>();
    if (changes.length === 0 || unknown.length === 0) return found;
    const groups = new Map((await models()).map(({ number, group }) => [number, group]));
    for (const { revision, model: number } of changes) {
      const group = groups.get(number);
      if (group === undefined || !isOfGroup(unknown, group)) continue;
      const missing = this.#missing.get(number) ?? { number, group, since: timers.now() };
      this.#missing.set(number, missing);
      found.set(revision, missing);
    }
    return found;
  }

  /** Those up to a revision. */
  hold(found: Found, through: number): void {
    for (const [revision, missing] of found) if (revision <= through) this.#held.set(revision, missing);
  }

  /** Drops those of groups that a webhook no longer names. */
  narrow(resources: readonly string[]): void {
    for (const [revision, { group }] of this.#held) if (!isOfGroup(resources, group)) this.#held.delete(revision);
  }

  /** Drops those after a revision. */
  forget(after: number): void {
    for (const revision of this.#held.keys()) if (revision > after) this.#held.delete(revision);
  }

  /**
   * Of models that are registered by now, and those that were held for too long or are no longer in the log. Each is held until
   * the next is asked for.
   */
  async *release(): AsyncGenerator<Released, void, undefined> {
    const { feed, timers, limit } = this.#dependencies;
    let isOldest = true;
    for (const [revision, { number, since }] of this.#held) {
      let change: AppliedChange | undefined;
      let problem = timers.now() - since >= limit ? 'was given up: its model is not registered' : undefined;
      if (isOldest || feed.isRegistered(number)) {
        try {
          change = await this.read(revision);
        } catch (error) {
          if (!isExpired(error)) throw error;
          problem = 'is no longer kept and was not delivered';
        }
        // It was dropped meanwhile.
        if (!this.#held.has(revision)) continue;
      }
      isOldest &&= change !== undefined || problem !== undefined;
      if (change) yield { revision, change };
      else if (problem !== undefined) yield { revision, problem: `the change of revision ${revision} ${problem}` };
      else continue;
      this.#held.delete(revision);
    }
  }

  /** One change of the log. Undefined when its model is not registered. @throws Expired */
  async read(revision: number): Promise<AppliedChange | undefined> {
    const { changes } = await this.#dependencies.feed.changes(revision - 1, 1);
    return changes.find((change) => change.revision === revision);
  }
}

export function isExpired(error: unknown): boolean {
  return error instanceof KindredError && error.code === 'Expired';
}

/** @param resources as a webhook names them, of whatever version */
function isOfGroup(resources: readonly string[], group: string): boolean {
  return resources.some((resource) => (group === '' ? !resource.includes('.') : resource.endsWith(`.${group}`)));
}
