/** Lists, and what is done with all objects of one: the deletion of a collection. */

import { KindredError } from '../errors.ts';
import type { Exchange } from '../http/server/exchange.ts';
import { rightsChanged } from '../http/server/problem.ts';
import { sliceSize, writeSlices } from '../http/server/slices.ts';
import type { Feed } from '../resource/feed.ts';
import type { PastStates } from '../resource/past-states.ts';
import type { Stored } from '../resource/registered-model.ts';
import { limited } from '../resource/visible.ts';
import { sameNames } from '../resource/watch/rights.ts';
import type { BodyDependencies } from './body.ts';
import type { ContinueToken } from './continue.ts';
import { continueText, continueToken } from './continue.ts';
import { deleteOptions } from './delete.ts';
import { encoded } from './form.ts';
import type { ListMetadata } from './list-form.ts';
import { ListForm } from './list-form.ts';
import type { ListingRequest, Portion } from './listing.ts';
import { Listing } from './listing.ts';
import type { Form } from './negotiate.ts';
import { formOf } from './negotiate.ts';
import type { KubeObjects } from './objects.ts';
import { count, revision, tooLarge } from './parameters.ts';
import { conditionOf } from './selection.ts';
import { badRequest, invalidFields, StatusError } from './status.ts';
import { includeObject } from './table.ts';
import type { ResourceTarget } from './target.ts';

export interface ListsDependencies extends BodyDependencies {
  /** Those of each store, by its name. */
  readonly past: ReadonlyMap<string, PastStates>;
  readonly objects: KubeObjects;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * Asks for the rights of the caller, again while a large answer is under way.
 * @returns the names, as rules have them, of the objects that the caller may see; undefined: every name
 * @throws KindredError Unauthenticated, Forbidden, NotReady
 */
type Allowed = () => ReadonlySet<string> | undefined;

/** Which objects, of which moment, and how many. */
interface ListCall {
  readonly request: ListingRequest;
  readonly allowed: Allowed;
  /** Those that were allowed when the request came. */
  readonly names: ReadonlySet<string> | undefined;
  /** Undefined: all. */
  readonly limit: number | undefined;
  readonly token: ContinueToken | undefined;
}

/** Deletions of one request that are under way at the same time. */
const deletionsAtOnce = 32;

const expiredText =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';

export class KubeLists {
  readonly #dependencies: ListsDependencies;

  constructor(dependencies: ListsDependencies) {
    this.#dependencies = dependencies;
  }

  async list(exchange: Exchange, target: ResourceTarget, allowed: Allowed): Promise<void> {
    const query = new URLSearchParams(exchange.query);
    const form = formOf(exchange.request.headers.accept);
    const shape = { form, includeObject: includeObject(query), now: this.#dependencies.now() };
    const call = await this.#call(target, query, allowed);
    const { resource } = target.model;
    const past = this.#dependencies.past.get(resource.place.name)!;
    const listing = new Listing(resource, past, call.request, exchange.timeSlice());
    const next = (most: number) => this.#next(listing, call, most);
    await this.#answer(exchange, new ListForm(target.model, shape), form, call, next);
  }

  async deleteCollection(exchange: Exchange, target: ResourceTarget, allowed: Allowed): Promise<void> {
    const { objects } = this.#dependencies;
    const { resource } = target.model;
    const past = this.#dependencies.past.get(resource.place.name)!;
    const query = new URLSearchParams(exchange.query);
    const form = formOf(exchange.request.headers.accept);
    const shape = { form, includeObject: includeObject(query), now: this.#dependencies.now() };
    const options = await deleteOptions(exchange, query, this.#dependencies, false);
    const call = await this.#call(target, query, allowed);
    let { after } = call.request;
    const remove = async ({ name }: Stored): Promise<Stored | undefined> => {
      try {
        return (await objects.remove(exchange, target, name, options)).stored;
      } catch (error) {
        if (error instanceof KindredError && error.code === 'NotFound') return undefined;
        throw error;
      }
    };
    const next = async (most: number) => {
      // Each portion is of its own moment: all that is there when its turn comes goes.
      const request = { ...call.request, revision: undefined, after };
      const listing = new Listing(resource, past, request, exchange.timeSlice());
      const portion = await listing.next(most);
      after = portion.objects.at(-1)?.name;
      const removed: Stored[] = [];
      for (let at = 0; at < portion.objects.length; at += deletionsAtOnce) {
        const some = await Promise.all(portion.objects.slice(at, at + deletionsAtOnce).map(remove));
        removed.push(...some.filter((one) => one !== undefined));
      }
      return { ...portion, objects: removed };
    };
    await this.#answer(exchange, new ListForm(target.model, shape), form, call, next);
  }

  async #call(target: ResourceTarget, query: URLSearchParams, allowed: Allowed): Promise<ListCall> {
    const names = allowed();
    const { resource } = target.model;
    const where = conditionOf(query, target);
    const text = query.get('continue');
    const token = text ? continueToken(text) : undefined;
    const limit = count(query, 'limit') || undefined;
    await resource.indexed.current();
    const { feed } = resource.place;
    const exact = await this.#revision(feed, query, token !== undefined);
    const at = token === undefined ? exact : token.revision || feed.applied;
    const seen = limited(target.model.scheme, where, { namespace: target.namespace, names });
    return { request: { ...seen, revision: at, after: token?.after }, allowed, names, limit, token };
  }

  /** The revision that is asked for exactly; undefined for the newest. */
  async #revision(feed: Feed, query: URLSearchParams, isContinued: boolean): Promise<number | undefined> {
    const wanted = revision(query.get('resourceVersion'));
    const match = query.get('resourceVersionMatch') ?? '';
    if (match !== '' && match !== 'Exact' && match !== 'NotOlderThan') {
      throw forbiddenMatch(`Unsupported value: ${JSON.stringify(match.slice(0, 100))}`, 'FieldValueNotSupported');
    }
    if (match !== '' && wanted === undefined) {
      throw forbiddenMatch('Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided');
    }
    if (isContinued) {
      if (match !== '') throw forbiddenMatch('Forbidden: resourceVersionMatch is forbidden when continue is provided');
      if (wanted) throw badRequest('specifying resource version is not allowed when using continue');
      return undefined;
    }
    if (wanted === undefined) return undefined;
    if (wanted > feed.applied) await feed.newest();
    if (wanted > feed.applied) throw tooLarge(wanted, feed.applied);
    if (match !== 'Exact') return undefined;
    if (wanted === 0)
      throw forbiddenMatch('Forbidden: resourceVersionMatch "Exact" is forbidden for resourceVersion "0"');
    return wanted;
  }

  async #next(listing: Listing, { token }: ListCall, most: number): Promise<Portion> {
    try {
      return await listing.next(most);
    } catch (error) {
      if (!token || !(error instanceof KindredError && error.code === 'Expired')) throw error;
      // Revision 0 stands for the newest: what is left can be had, of another moment.
      const text = continueText({ ...token, revision: 0, remaining: undefined });
      throw new StatusError('Expired', expiredText, { continue: text });
    }
  }

  /** A small list as a whole, a large one portion by portion, as the client takes it. */
  async #answer(
    exchange: Exchange,
    written: ListForm,
    form: Form,
    { allowed, names, limit, token }: ListCall,
    next: (most: number) => Promise<Portion>,
  ): Promise<void> {
    const { response } = exchange;
    const slice = exchange.timeSlice();
    const writing = { timeout: this.#dependencies.limits.requestTimeout, slice };
    let pieces: Buffer[] = [];
    let length = 0;
    let revision = 0;
    let left = limit ?? Number.POSITIVE_INFINITY;
    let last: string | undefined;
    let remaining = token?.remaining;
    let isComplete = false;
    let isOpen = false;
    const hold = exchange.hold();
    try {
      while (!isComplete) {
        const portion = await next(left);
        revision = portion.revision;
        if (portion.total !== undefined && !token) remaining = portion.total;
        for (const stored of portion.objects) {
          const piece = written.item(stored);
          pieces.push(piece);
          length += piece.length;
          if (slice.isOver) await slice.renew();
        }
        last = portion.objects.at(-1)?.name ?? last;
        left -= portion.objects.length;
        if (remaining !== undefined) remaining -= portion.objects.length;
        isComplete = portion.isLast || left <= 0;
        if (portion.isLast || remaining === 0) last = undefined;
        if (isComplete && !isOpen) break;
        if (length < sliceSize && !isComplete) continue;
        if (!isOpen) {
          // A list that is written as it is read has its metadata at its end.
          exchange.assertRoom();
          exchange.open(200, ['Content-Type', 'application/json']);
          isOpen = true;
          pieces.unshift(written.start());
        }
        if (isComplete) pieces.push(written.end(metadataOf(revision, last, remaining)));
        hold.set(length);
        if (exchange.isHead) break;
        await writeSlices(response, pieces, writing);
        if (response.destroyed) break;
        pieces = [];
        length = 0;
        if (!sameNames(allowed(), names)) throw rightsChanged();
      }
    } finally {
      hold.set(0);
    }
    if (isOpen) {
      response.end();
      exchange.finish(response.destroyed ? 499 : 200);
      return;
    }
    const bytes = written.whole(metadataOf(revision, last, remaining), pieces);
    exchange.send(200, ['Content-Type', form.type, 'Cache-Control', 'no-cache, private'], encoded(bytes, form));
  }
}

/** @param last name behind which the rest of the list is; undefined when there is none */
function metadataOf(revision: number, last: string | undefined, remaining: number | undefined): ListMetadata {
  const resourceVersion = String(revision);
  if (last === undefined) return { resourceVersion };
  const text = continueText({ revision, after: last, remaining });
  return { resourceVersion, continue: text, ...(remaining !== undefined && { remainingItemCount: remaining }) };
}

function forbiddenMatch(message: string, reason = 'FieldValueForbidden'): StatusError {
  return invalidFields([{ reason, message, field: 'resourceVersionMatch' }]);
}
