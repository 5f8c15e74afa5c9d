/**
 * Server-side apply as docs/decisions/server-side-apply.md says it, a second time and in another form: an object is a table
 * of paths with their values, an owner a set of paths. It is slow, and shares nothing with `src/apply/`.
 */
import assert from 'node:assert/strict';

/** A place of the schema that the random objects have. */
export interface Place {
  readonly list?: 'set' | 'map';
  readonly keys?: readonly { readonly name: string; readonly initial?: unknown }[];
  readonly atomic?: true;
  readonly items?: Place;
  readonly members?: Readonly<Record<string, Place>>;
}

type Kind = 'value' | 'object' | 'list';

interface Table {
  /** Of every place, containers and items too. */
  readonly kinds: Map<string, Kind>;
  /** Of the fields: values as texts, `∅` of an empty container, `•` of an item. */
  readonly fields: Map<string, string>;
}

export interface Claim {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly paths: Set<string>;
}

export type Outcome = { readonly conflicts: string[] } | { readonly content: unknown };

/** Edges are joined by a character that no name in the tests has. */
const step = '\u0001';
const below = (path: string, other: string): boolean => other.startsWith(path + step);

function tableOf(content: unknown, root: Place): Table {
  const table: Table = { kinds: new Map(), fields: new Map() };
  const visit = (value: unknown, place: Place, path: string): void => {
    const parts = partsOf(value, place);
    table.kinds.set(path, parts ? (Array.isArray(value) ? 'list' : 'object') : 'value');
    if (!parts) table.fields.set(path, JSON.stringify(value));
    else if (parts.length === 0) table.fields.set(path, '∅');
    for (const [edge, one, at] of parts ?? []) {
      visit(one, at, path + step + edge);
      if (edge.startsWith('k:') && !table.fields.has(path + step + edge)) table.fields.set(path + step + edge, '•');
    }
  };
  visit(content, root, '');
  if (table.fields.get('') === '∅') table.fields.delete('');
  return table;
}

function partsOf(value: unknown, place: Place): [string, unknown, Place][] | undefined {
  if (typeof value !== 'object' || value === null || place.atomic) return undefined;
  if (!Array.isArray(value)) {
    return Object.entries(value).map(([name, one]) => [`f:${name}`, one, place.members?.[name] ?? {}]);
  }
  if (place.list === undefined) return undefined;
  return value.map((one) => [
    place.list === 'set' ? `v:${JSON.stringify(one)}` : keyOf(one, place),
    one,
    place.items ?? {},
  ]);
}

function keyOf(item: Record<string, unknown>, place: Place): string {
  const keys = place.keys!.map(({ name, initial }) => [name, item[name] ?? initial]);
  return `k:${JSON.stringify(Object.fromEntries(keys.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1))))}`;
}

interface Delta {
  readonly set: Set<string>;
  readonly gone: Set<string>;
}

function delta(before: Table, after: Table): Delta {
  const set = new Set<string>();
  const gone = new Set<string>();
  const isContainer = (kind: Kind | undefined) => kind === 'object' || kind === 'list';
  for (const [path, kind] of after.kinds) {
    const old = before.kinds.get(path);
    if (old !== undefined && old !== kind) set.add(path);
  }
  for (const [path, value] of after.fields) {
    const old = before.kinds.get(path);
    // A container that was there and is empty now: its members went, it did not change.
    if (old !== undefined && old === after.kinds.get(path) && isContainer(old)) continue;
    if (before.fields.get(path) !== value) set.add(path);
  }
  for (const path of before.fields.keys()) {
    const now = after.kinds.get(path);
    const stays = now !== undefined && now === before.kinds.get(path);
    if (!stays && !set.has(path)) gone.add(path);
  }
  return { set, gone };
}

/** The content as lists and objects of the JSON value, without the places that `drop` names. */
function without(content: unknown, root: Place, drop: (path: string) => boolean): unknown {
  const visit = (value: unknown, place: Place, path: string): unknown => {
    const parts = partsOf(value, place);
    if (!parts) return value;
    const kept = parts.filter(([edge]) => !drop(path + step + edge));
    if (Array.isArray(value)) return kept.map(([edge, one, at]) => visit(one, at, path + step + edge));
    return Object.fromEntries(kept.map(([edge, one, at]) => [edge.slice(2), visit(one, at, path + step + edge)]));
  };
  return visit(content, root, '');
}

function together(live: unknown, body: unknown, place: Place): unknown {
  const [a, b] = [partsOf(live, place), partsOf(body, place)];
  if (!a || !b || Array.isArray(live) !== Array.isArray(body)) return body;
  const own = new Map(a.map(([edge, one]) => [edge, one]));
  const applied = new Set(b.map(([edge]) => edge));
  const all = [...a.filter(([edge]) => !applied.has(edge)), ...b].map(([edge, one, at]): [string, unknown] => [
    edge,
    applied.has(edge) && own.has(edge) ? together(own.get(edge), one, at) : one,
  ]);
  return Array.isArray(live)
    ? all.map(([, one]) => one)
    : Object.fromEntries(all.map(([edge, one]) => [edge.slice(2), one]));
}

export class Oracle {
  readonly #root: Place;
  content: unknown = {};
  claims: Claim[] = [];

  constructor(root: Place) {
    this.#root = root;
  }

  apply(manager: string, body: unknown, rule: 'fail' | 'force' | 'yield', adopts?: 'unapplied' | 'all'): Outcome {
    const root = this.#root;
    // Who owns nothing any more is forgotten.
    this.claims = this.claims.filter(({ paths }) => paths.size > 0);
    const before = this.claims;
    if (adopts) this.#take(manager, adopts);
    else if (this.claims.length === 0) this.adopt('before-first-apply', 'Update');
    const mine = this.claims.find((one) => one.manager === manager && one.operation === 'Apply');
    const others = this.claims.filter((one) => one !== mine);
    let applied = body;
    let next = together(this.content, applied, root);
    const { set, gone } = delta(tableOf(this.content, root), tableOf(next, root));
    const hits = others.flatMap(({ manager, operation, paths }) =>
      [...paths].filter((path) => set.has(path) || gone.has(path)).map((path) => ({ manager, operation, path })),
    );
    if (hits.length > 0 && rule === 'fail') {
      this.claims = before;
      return { conflicts: hits.map(({ manager, operation, path }) => `${manager} ${operation} ${path}`).sort() };
    }
    if (rule === 'force') for (const one of others) for (const { path } of hits) one.paths.delete(path);
    if (hits.length > 0 && rule === 'yield') {
      const fields = tableOf(body, root).fields;
      const isLeft = (path: string): boolean =>
        !hits.some((hit) => hit.path === path || below(hit.path, path) || (below(path, hit.path) && isValue(path)));
      const isValue = (path: string) => fields.has(path) && fields.get(path) !== '•';
      // A container goes when all that it holds goes.
      const keeps = (path: string) =>
        [...fields.keys()].some((one) => (one === path || below(path, one)) && isLeft(one));
      applied = without(body, root, (path) => !keeps(path));
      next = together(this.content, applied, root);
    }
    const last = mine?.paths ?? new Set<string>();
    const named = new Set(tableOf(applied, root).fields.keys());
    // Every object has metadata, whoever owns what is in it.
    const owned = [named, ...others.map(({ paths }) => paths)]
      .flatMap((paths) => [...paths])
      .concat(`${step}f:metadata`);
    const isNamed = (path: string) => [...last].some((one) => one === path || below(path, one));
    const isKept = (path: string) =>
      path.slice(path.lastIndexOf(step) + 1).startsWith('k:')
        ? owned.includes(path)
        : owned.some((one) => one === path || below(path, one));
    const joined = tableOf(next, root);
    next = without(next, root, (path) => isNamed(path) && !isKept(path));
    const removed = delta(joined, tableOf(next, root)).gone;
    this.content = next;
    this.claims = [...others, { manager, operation: 'Apply', paths: named }];
    for (const { paths } of this.claims) for (const path of removed) paths.delete(path);
    if (adopts && others.every(({ paths }) => paths.size === 0)) this.claims = [];
    return { content: next };
  }

  /** What nobody else applies, or everything, is the manager's; but for what stays with whoever wrote it. */
  #take(manager: string, adopts: 'unapplied' | 'all'): void {
    const left = ['f:status', `f:metadata${step}f:finalizers`, `f:metadata${step}f:ownerReferences`];
    const isLeft = (path: string) => left.some((one) => path === step + one || below(step + one, path));
    // Every object has metadata.
    const isField = (path: string) => path !== `${step}f:metadata` && !isLeft(path);
    const all = [...tableOf(this.content, this.#root).fields.keys()].filter(isField);
    const isMine = (one: Claim) => one.manager === manager && one.operation === 'Apply';
    const stays = (one: Claim) => adopts === 'unapplied' && one.operation === 'Apply';
    const others = this.claims.filter((one) => !isMine(one));
    const rest = others.map((one) => ({
      ...one,
      paths: new Set([...one.paths].filter((path) => !all.includes(path))),
    }));
    const applied = new Set(others.filter(stays).flatMap(({ paths }) => [...paths]));
    const paths = new Set(all.filter((path) => !applied.has(path)));
    this.claims = [...others.map((one, at) => (stays(one) ? one : rest[at]!)), { manager, operation: 'Apply', paths }];
  }

  update(manager: string, content: unknown): void {
    const { set, gone } = delta(tableOf(this.content, this.#root), tableOf(content, this.#root));
    for (const { paths } of this.claims) for (const path of [...set, ...gone]) paths.delete(path);
    let mine = this.claims.find((one) => one.manager === manager && one.operation === 'Update');
    if (!mine) {
      mine = { manager, operation: 'Update', paths: new Set() };
      this.claims.push(mine);
    }
    for (const path of set) mine.paths.add(path);
    this.content = content;
  }

  /** Before the first apply: everything belongs to one owner. */
  adopt(manager: string, operation: 'Apply' | 'Update'): void {
    const paths = new Set(tableOf(this.content, this.#root).fields.keys());
    this.claims = [...this.claims, { manager, operation, paths }];
  }

  /** As `src/apply/` gives them. */
  shown(): string[] {
    return this.claims
      .filter(({ paths }) => paths.size > 0)
      .map(({ manager, operation, paths }) => `${manager} ${operation}\n${[...paths].sort().join('\n')}`)
      .sort();
  }

  /** Associative lists are equal in any order. */
  static assertSame(a: unknown, b: unknown, root: Place, message: string): void {
    const shown = (value: unknown) => [...tableOf(value, root).fields].sort(([x], [y]) => (x < y ? -1 : 1));
    assert.deepEqual(shown(a), shown(b), message);
  }
}
