/**
 * The revision replay: every answer carries a revision, so the order of everything is known and is only to be verified.
 * Complete, and linear in the length of the history (but for lists, each of which is compared whole).
 */
import type { Event, History, Item, Operation, Outcome, Stream, WriteRequest } from './history.ts';
import { isWrite, sameItem, step } from './history.ts';

type Ok = Extract<Outcome, { kind: 'ok' }>;

/** Everything that is wrong with the history, in words; empty when nothing is. */
export function replay(history: History): string[] {
  const violations: string[] = [];
  const wrong = (text: string): void => void violations.push(text);
  checkNumbers(history, wrong);
  const states = new States(history.base);
  const made = match(history, wrong);
  for (const event of history.log) {
    const operation = made.get(event.revision);
    if (operation) checkWrite(event, operation, states, wrong);
    else wrong(`revision ${event.revision}: nobody made this change of ${event.item.name}`);
    states.apply(event);
  }
  const order = new RealTime(history, made);
  for (const operation of history.operations) checkAnswer(operation, states, order, history, wrong);
  for (const [revision, operation] of made) {
    const least = order.before(operation.start);
    if (revision <= least)
      wrong(`${text(operation)} has revision ${revision}, but ${least} was known before it was sent`);
  }
  for (const stream of history.streams) checkStream(stream, history, states, wrong);
  return violations;
}

type Report = (violation: string) => void;

function checkNumbers({ base, newest, log, operations }: History, wrong: Report): void {
  for (const [i, { revision }] of log.entries()) {
    if (revision !== base + 1 + i) return wrong(`the change log has ${revision} where ${base + 1 + i} should be`);
  }
  if (log.length !== newest - base) wrong(`the change log ends at ${base + log.length}, the newest is ${newest}`);
  const seen = new Set<number>();
  for (const operation of operations) {
    const { outcome } = operation;
    if (outcome.kind !== 'ok' || !isWrite(operation.request)) continue;
    if (seen.has(outcome.revision)) wrong(`${text(operation)}: revision ${outcome.revision} was given twice`);
    seen.add(outcome.revision);
    if (outcome.revision <= base || outcome.revision > newest)
      wrong(`${text(operation)}: acknowledged with ${outcome.revision} and lost`);
  }
}

/** Which operation made which revision: what was acknowledged says so, what is unknown is recognised by its value. */
function match({ operations, log }: History, wrong: Report): Map<number, Operation> {
  const made = new Map<number, Operation>();
  const byValue = new Map<string, Operation>();
  const deletions = new Map<string, Operation[]>();
  for (const operation of operations) {
    const { request, outcome } = operation;
    if (!isWrite(request)) continue;
    if (outcome.kind === 'ok') made.set(outcome.revision, operation);
    else if (request.kind !== 'delete') byValue.set(request.value, operation);
    else if (outcome.kind === 'unknown') {
      const known = deletions.get(request.name);
      if (known) known.push(operation);
      else deletions.set(request.name, [operation]);
    }
  }
  for (const list of deletions.values()) list.sort((a, b) => b.start - a.start);
  for (const { revision, type, item } of log) {
    if (made.has(revision)) continue;
    const operation = type === 'DELETED' ? deletions.get(item.name)?.pop() : byValue.get(item.value);
    if (!operation) continue;
    if (operation.outcome.kind !== 'unknown')
      wrong(`revision ${revision}: ${text(operation)} was answered as not applied`);
    // A second change of the same operation finds nobody.
    if (operation.request.kind !== 'delete') byValue.delete(item.value);
    made.set(revision, operation);
  }
  return made;
}

function checkWrite(event: Event, operation: Operation, states: States, wrong: Report): void {
  const request = operation.request as WriteRequest;
  const before = states.now(request.name);
  const result = step(before, request);
  if ('refused' in result)
    return wrong(`revision ${event.revision}: ${text(operation)} should have been refused: ${result.refused}`);
  const type = before === undefined ? 'ADDED' : result.item === undefined ? 'DELETED' : 'MODIFIED';
  if (event.type !== type || !sameItem(event.item, result.answer))
    wrong(
      `revision ${event.revision}: ${text(operation)} should give ${type} ${show(result.answer)}, the log has ${event.type} ${show(event.item)}`,
    );
  const { outcome } = operation;
  if (outcome.kind === 'ok' && !sameItem(outcome.item, result.answer))
    wrong(
      `revision ${event.revision}: ${text(operation)} should answer ${show(result.answer)}, not ${show(outcome.item)}`,
    );
  const slug = result.item?.slug;
  const holder = slug === undefined ? undefined : states.holderNow(slug);
  if (holder !== undefined && holder !== request.name)
    wrong(`revision ${event.revision}: ${text(operation)} takes the slug "${slug}" of ${holder}`);
}

function checkAnswer(operation: Operation, states: States, order: RealTime, history: History, wrong: Report): void {
  const { request, outcome, start, end } = operation;
  if (outcome.kind === 'none' || outcome.kind === 'unknown') return;
  const least = order.before(start);
  const { revision } = outcome;
  if (revision !== undefined) {
    if (revision < least) wrong(`${text(operation)} reflects ${revision}, but ${least} was known before it was sent`);
    if (revision > history.newest)
      return wrong(`${text(operation)} reflects ${revision}, the newest is ${history.newest}`);
  }
  if (outcome.kind === 'ok') {
    if (request.kind === 'get') checkGet(operation, request.name, outcome, states, wrong);
    if (request.kind === 'list') checkList(operation, request.slug, outcome, states, wrong);
    return;
  }
  if (request.kind === 'list') return wrong(`${text(operation)} was refused: ${outcome.code}`);
  const isLegal = (at: number): boolean => isRefusedAt(operation, states, at);
  if (revision !== undefined) {
    if (!isLegal(revision))
      wrong(`${text(operation)} was refused with ${outcome.code} at ${revision}, without a reason`);
    return;
  }
  const most = Math.min(order.after(end), history.newest);
  for (let at = least; at <= most; at++) if (isLegal(at)) return;
  wrong(`${text(operation)} was refused with ${outcome.code}, without a reason from ${least} to ${most}`);
}

function checkGet(operation: Operation, name: string, { item, revision }: Ok, states: States, wrong: Report): void {
  const expected = states.at(name, revision);
  if (!expected || !sameItem(expected, item))
    wrong(`${text(operation)} at ${revision} should answer ${show(expected)}, not ${show(item)}`);
}

function checkList(operation: Operation, slug: string | undefined, ok: Ok, states: States, wrong: Report): void {
  const expected = states.allAt(ok.revision).filter((item) => slug === undefined || item.slug === slug);
  const items = ok.items ?? [];
  if (ok.total !== expected.length)
    wrong(`${text(operation)} at ${ok.revision}: total ${ok.total}, not ${expected.length}`);
  if (items.length !== expected.length || items.some((item, i) => !sameItem(item, expected[i])))
    wrong(
      `${text(operation)} at ${ok.revision} should answer ${expected.map(show).join(' ')}, not ${items.map(show).join(' ')}`,
    );
}

function isRefusedAt({ request, outcome }: Operation, states: States, at: number): boolean {
  if (outcome.kind !== 'refused' || request.kind === 'list') return false;
  const state = states.at(request.name, at);
  if (outcome.code === 'NotFound') return state === undefined;
  if (!isWrite(request)) return false;
  const result = step(state, request);
  if ('refused' in result) {
    if (result.refused !== outcome.code) return false;
    return outcome.code !== 'VersionConflict' || outcome.currentVersion === state?.version;
  }
  const slug = result.item?.slug;
  if (outcome.code !== 'UniqueViolation' || slug === undefined) return false;
  const holder = states.holderAt(slug, at);
  return holder !== undefined && holder !== request.name;
}

function checkStream(stream: Stream, history: History, states: States, wrong: Report): void {
  if (stream.expired) wrong(`a watch from ${stream.since} expired`);
  const sees = (item: Item | undefined): boolean =>
    item !== undefined && (stream.slug === undefined || item.slug === stream.slug);
  const expected = history.log.flatMap((event): Event[] => {
    if (event.revision <= stream.since) return [];
    const saw = sees(states.at(event.item.name, event.revision - 1));
    const isSeen = event.type !== 'DELETED' && sees(event.item);
    if (!saw && !isSeen) return [];
    return [{ ...event, type: saw && isSeen ? 'MODIFIED' : isSeen ? 'ADDED' : 'DELETED' }];
  });
  let next = 0;
  let last = stream.since;
  for (const event of stream.events) {
    const due = expected[next];
    if (event.type === 'BOOKMARK') {
      if (due && due.revision <= event.revision)
        return wrong(`a watch from ${stream.since} was told ${event.revision} without ${due.revision}`);
      if (event.revision < last)
        return wrong(`a watch from ${stream.since} went back from ${last} to ${event.revision}`);
    } else {
      if (!due || due.revision !== event.revision || due.type !== event.type || !sameItem(due.item, event.item))
        return wrong(
          `a watch from ${stream.since} was told ${event.type} ${event.revision} ${show(event.item)}, due was ${due?.type} ${due?.revision} ${show(due?.item)}`,
        );
      next++;
    }
    last = event.revision;
  }
  const due = expected[next];
  if (stream.through !== undefined && due && due.revision <= stream.through)
    wrong(`a watch from ${stream.since} was not told ${due.type} ${due.revision}`);
}

/** Every object at every revision. */
class States {
  readonly #base: number;
  readonly #byName = new Map<string, { revision: number; item: Item | undefined }[]>();
  readonly #bySlug = new Map<string, { revision: number; name: string | undefined }[]>();

  constructor(base: number) {
    this.#base = base;
  }

  apply({ type, revision, item }: Event): void {
    const before = this.now(item.name);
    const after = type === 'DELETED' ? undefined : item;
    push(this.#byName, item.name, { revision, item: after });
    if (before?.slug === after?.slug) return;
    if (before?.slug !== undefined) push(this.#bySlug, before.slug, { revision, name: undefined });
    if (after?.slug !== undefined) push(this.#bySlug, after.slug, { revision, name: after.name });
  }

  now(name: string): Item | undefined {
    return this.#byName.get(name)?.at(-1)?.item;
  }

  at(name: string, revision: number): Item | undefined {
    return lastUpTo(this.#byName.get(name), revision)?.item;
  }

  holderNow(slug: string): string | undefined {
    return this.#bySlug.get(slug)?.at(-1)?.name;
  }

  holderAt(slug: string, revision: number): string | undefined {
    return lastUpTo(this.#bySlug.get(slug), revision)?.name;
  }

  /** By name. */
  allAt(revision: number): Item[] {
    if (revision < this.#base) return [];
    return [...this.#byName.keys()]
      .sort()
      .map((name) => this.at(name, revision))
      .filter((item) => item !== undefined);
  }
}

function push<T>(lists: Map<string, T[]>, key: string, value: T): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

function lastUpTo<T extends { revision: number }>(list: readonly T[] | undefined, revision: number): T | undefined {
  let low = 0;
  let high = list?.length ?? 0;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (list![middle]!.revision <= revision) low = middle + 1;
    else high = middle;
  }
  return list?.[low - 1];
}

/** What the clock of the recording process says about revisions. */
class RealTime {
  readonly #ends: { time: number; revision: number }[];
  readonly #starts: { time: number; revision: number }[];

  constructor({ base, newest, operations }: History, made: ReadonlyMap<number, Operation>) {
    const known = operations.flatMap(({ end, outcome }) =>
      'revision' in outcome && outcome.revision !== undefined ? [{ time: end, revision: outcome.revision }] : [],
    );
    this.#ends = known.sort((a, b) => a.time - b.time);
    let greatest = base;
    for (const end of this.#ends) end.revision = greatest = Math.max(greatest, end.revision);
    this.#ends.unshift({ time: Number.NEGATIVE_INFINITY, revision: base });
    this.#starts = [...made]
      .map(([revision, { start }]) => ({ time: start, revision }))
      .sort((a, b) => a.time - b.time);
    let smallest = newest + 1;
    for (const start of this.#starts.toReversed()) start.revision = smallest = Math.min(smallest, start.revision);
  }

  /** The greatest revision that anybody was answered before this moment. */
  before(time: number): number {
    return this.#ends[firstWhere(this.#ends, (end) => end.time >= time) - 1]!.revision;
  }

  /** The greatest revision that could be newest at this moment: all later ones were asked for afterwards. */
  after(time: number): number {
    const next = this.#starts[firstWhere(this.#starts, (start) => start.time > time)];
    return next ? next.revision - 1 : Number.POSITIVE_INFINITY;
  }
}

function firstWhere<T>(list: readonly T[], isFrom: (one: T) => boolean): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isFrom(list[middle]!)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function text({ client, request }: Operation): string {
  return `client ${client} ${JSON.stringify(request)}`;
}

function show(item: Item | undefined): string {
  return item
    ? `${item.name}/${item.version}=${item.value}${item.slug === undefined ? '' : `(${item.slug})`}`
    : 'nothing';
}
