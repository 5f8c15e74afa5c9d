/**
 * The objects of a list as they were at one revision, in the order of their names, in portions. Objects that were not
 * changed since are read as they are now; the others as the log has them from before.
 */
import { ifFound } from '../errors.ts';
import { fullNameField } from '../indexes/field.ts';
import type { Scheme } from '../model/scheme.ts';
import { bind } from '../query/bind.ts';
import type { Condition } from '../query/condition.ts';
import { Queries } from '../query/condition.ts';
import { matches } from '../query/match.ts';
import type { ChangedSince, PastStates } from '../resource/past-states.ts';
import type { Stored } from '../resource/registered-model.ts';
import type { ModelResource } from '../resource/resource.ts';
import type { TimeSlice } from '../runtime/time-slice.ts';

export interface ListingRequest {
  readonly where: Condition;
  /** Only these objects, by their full names. */
  readonly names?: ReadonlySet<string>;
  /** Undefined: the newest when the first portion is read. */
  readonly revision: number | undefined;
  /** Only objects behind this full name. */
  readonly after: string | undefined;
}

export interface Portion {
  /** Of the whole list. */
  readonly revision: number;
  readonly objects: readonly Stored[];
  /** Matches of the list that are not behind, where they are counted: in the first portion of the newest state. */
  readonly total: number | undefined;
  readonly isLast: boolean;
}

/** Objects that are read at once: at first, then at most, and of what size about if they are as large as those before. */
const portionLimits = { first: 64, most: 1_000, bytes: 2 ** 20 };

/** The field whose order lists have. */
export function orderField({ isNamespaced }: Scheme): string {
  return isNamespaced ? fullNameField : 'metadata.name';
}

export class Listing {
  readonly #resource: ModelResource;
  readonly #past: PastStates;
  readonly #request: ListingRequest;
  readonly #slice: TimeSlice;
  #revision: number | undefined;
  #after: string | undefined;
  #size = portionLimits.first;
  #isFirst = true;

  constructor(resource: ModelResource, past: PastStates, request: ListingRequest, slice: TimeSlice) {
    this.#resource = resource;
    this.#past = past;
    this.#request = request;
    this.#slice = slice;
    this.#revision = request.revision;
    this.#after = request.after;
  }

  /** @throws KindredError Expired, NotReady, QueryLimit, InvalidSelector */
  async next(most: number): Promise<Portion> {
    const { where, names } = this.#request;
    const size = Math.min(most, this.#size);
    const field = orderField(this.#resource.scheme);
    const rest = this.#after === undefined ? where : where.and(Queries.greaterThan(field, this.#after));
    const request = {
      where: rest,
      sort: [{ field, direction: 'asc' } as const],
      page: 1,
      size,
      ...(names && { names }),
    };
    const { revision, outline, items } = await this.#resource.window(request, ({ names }) => names.keys());
    const present = await this.#withValues(
      outline.names.map((name, i) => {
        return { id: outline.ids[i]!, revision: outline.revisions[i]!, name, bytes: items.get(i)! };
      }),
    );
    const isFirst = this.#isFirst;
    this.#isFirst = false;
    this.#revision ??= revision;
    this.#learnSize(present);
    const hasMore = outline.total > present.length;
    if (revision === this.#revision) {
      this.#after = present.at(-1)?.name ?? this.#after;
      return { revision, objects: present, total: isFirst ? outline.total : undefined, isLast: !hasMore };
    }
    const changed = await this.#past.changedSince(this.#resource, this.#revision, revision);
    const until = hasMore ? present.at(-1)!.name : undefined;
    const before = await this.#asBefore(changed, until);
    const merged = [...present.filter(({ name }) => !changed.has(name)), ...before].sort((a, b) =>
      a.name < b.name ? -1 : 1,
    );
    const objects = merged.slice(0, most);
    const isCut = objects.length < merged.length;
    this.#after = isCut ? objects.at(-1)!.name : (until ?? this.#after);
    return { revision: this.#revision, objects, total: undefined, isLast: !isCut && !hasMore };
  }

  /** Those that changed since, as they matched then, behind the last name up to `until`. */
  async #asBefore(changed: ChangedSince, until: string | undefined): Promise<Stored[]> {
    const { where, names } = this.#request;
    const { model, scheme } = this.#resource;
    const bound = bind(where, scheme.indexes);
    const found: Stored[] = [];
    for (const [name, stored] of changed) {
      if (this.#slice.isOver) await this.#slice.renew();
      if (!stored || (this.#after !== undefined && name <= this.#after) || (until !== undefined && name > until))
        continue;
      if (names && !names.has(name)) continue;
      if (bound.op !== 'all' && !matches(bound, model.entryOf(model.parse(stored.bytes, name), name))) continue;
      found.push(this.#resource.shownAsOf(stored));
    }
    return found;
  }

  /** Lists of Kubernetes hold the values of Secrets, which native ones leave out. */
  async #withValues(objects: readonly Stored[]): Promise<readonly Stored[]> {
    if (!this.#resource.hidesValues) return objects;
    return Promise.all(
      objects.map(async (one) => {
        const read = await ifFound(async () => this.#resource.get(one.name));
        return read?.stored.revision === one.revision ? read.stored : one;
      }),
    );
  }

  #learnSize(objects: readonly Stored[]): void {
    if (objects.length === 0) return;
    const bytes = objects.reduce((sum, one) => sum + one.bytes.length, 0) / objects.length;
    const { most, bytes: wanted } = portionLimits;
    this.#size = Math.max(1, Math.min(most, Math.floor(wanted / bytes)));
  }
}
