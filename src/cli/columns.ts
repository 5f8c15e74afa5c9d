/**
 * Which members of objects a table shows. Nobody declares them, so they are chosen by what the objects have: the name for people
 * first, then the simple members of `spec` in their order, and the state. What only repeats the name is left out.
 */
import type { ExtensionObject } from '../model/object.ts';
import { isRecord } from '../model/object.ts';

export interface Column {
  readonly head: string;
  cell(object: ExtensionObject): string;
}

export interface ColumnOptions {
  /** Every simple member, whole. */
  readonly wide: boolean;
  readonly now: number;
  /** The namespace first. */
  readonly withNamespace?: boolean;
  /** Keys of labels, each a column of its own. */
  readonly labelColumns?: readonly string[];
  /** All labels last. Default false. */
  readonly showLabels?: boolean;
}

/** Chosen columns besides those of every table. */
const chosenLimit = 5;
const cellLimit = 40;

/** Members of `spec` that name an object for people, the best first. */
const nameMembers = ['displayName', 'title', 'fullName', 'name'];
/** Members of `status` that say in a word how it is. */
const stateMembers = ['phase', 'state'];

/** Where a value stands in an object. */
type Path = readonly string[];

/** Name, chosen columns, age and version. */
export function columnsOf(objects: readonly ExtensionObject[], options: ColumnOptions): Column[] {
  const { wide, now, withNamespace, labelColumns = [], showLabels = false } = options;
  const paths = chosenPaths(objects, wide);
  const heads = headsOf(paths, objects[0]?.kind ?? '');
  return [
    ...(withNamespace
      ? [{ head: 'NAMESPACE', cell: ({ metadata }: ExtensionObject) => metadata.namespace ?? '' }]
      : []),
    { head: 'NAME', cell: ({ metadata }) => metadata.name },
    ...paths.map((path, i) => ({ head: heads[i]!, cell: (object: ExtensionObject) => cellOf(at(object, path), wide) })),
    {
      head: 'AGE',
      cell: ({ metadata }) => age(metadata.creationTimestamp, now) + (metadata.deletionTimestamp ? ' (deleting)' : ''),
    },
    { head: 'VERSION', cell: ({ metadata }) => String(metadata.version ?? '') },
    ...labelColumns.map((key) => ({
      // As kubectl does: without the prefix.
      head: key.slice(key.lastIndexOf('/') + 1).toUpperCase(),
      cell: ({ metadata }: ExtensionObject) => metadata.labels?.[key] ?? '',
    })),
    ...(showLabels ? [{ head: 'LABELS', cell: labelsOf }] : []),
  ];
}

function labelsOf({ metadata: { labels = {} } }: ExtensionObject): string {
  const texts = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return texts.length > 0 ? texts.join(',') : '<none>';
}

function chosenPaths(objects: readonly ExtensionObject[], wide: boolean): Path[] {
  const human = nameMembers.map((member) => namePath(objects, ['spec', member])).find((path) => path !== undefined);
  const states = stateMembers.map((member) => ['status', member]).filter((path) => isShown(objects, path));
  const members = memberPaths(objects);
  const named = human ? [human] : [];
  if (wide) return distinct([...named, ...members, ...states]);
  const telling = members.filter((path) => !repeatsName(objects, path));
  const long = telling.filter((path) => isLong(objects, path));
  const state = states.slice(0, 1);
  const chosen = distinct([...named, ...telling.filter((path) => !long.includes(path)), ...long]);
  return [...chosen.slice(0, chosenLimit - state.length), ...state];
}

/** The member itself, or the first text in it: `name: { common, official }`. */
function namePath(objects: readonly ExtensionObject[], path: Path): Path | undefined {
  for (const object of objects) {
    const value = at(object, path);
    if (typeof value === 'string') return path;
    const [inner] = Object.entries(isRecord(value) ? value : {}).find(([, one]) => typeof one === 'string') ?? [];
    if (inner !== undefined) return [...path, inner];
  }
  return undefined;
}

/** Simple members of `spec`, and of objects without one those beside `metadata`, in the order in which they are met. */
function memberPaths(objects: readonly ExtensionObject[]): Path[] {
  const paths = objects.flatMap((object) => {
    const { apiVersion, kind, metadata, spec, status, ...own } = object as ExtensionObject & Record<string, unknown>;
    const members: [Path, unknown][] = isRecord(spec)
      ? Object.entries(spec).map(([name, value]) => [['spec', name], value])
      : Object.entries(own).flatMap(([name, value]): [Path, unknown][] =>
          isRecord(value) ? [[[name, 'name'], value.name]] : [[[name], value]],
        );
    return members.filter(([, value]) => isSimple(value)).map(([path]) => path);
  });
  return distinct(paths);
}

function distinct(paths: readonly Path[]): Path[] {
  return [...new Map(paths.map((path) => [path.join('.'), path])).values()];
}

function isShown(objects: readonly ExtensionObject[], path: Path): boolean {
  return objects.some((object) => isSimple(at(object, path)));
}

/** `code: MC` of "mc", `id: 17` of "city-17". */
function repeatsName(objects: readonly ExtensionObject[], path: Path): boolean {
  return objects.every((object) => {
    const value = at(object, path);
    if (value === undefined || value === null) return true;
    const { name } = object.metadata;
    const text = String(value).toLowerCase();
    return name === text || name.endsWith(`-${text}`);
  });
}

function isLong(objects: readonly ExtensionObject[], path: Path): boolean {
  return objects.some((object) => String(at(object, path) ?? '').length > cellLimit);
}

const alwaysThere = new Set(['NAME', 'AGE', 'VERSION']);

/** `featureCode` as `FEATURE CODE`; what every table has already gets the kind before it: `CITY NAME`. */
function headsOf(paths: readonly Path[], kind: string): string[] {
  return paths.map((path) => {
    const [top, member = top!] = path;
    const head = wordsOf(path.length > 1 && top !== 'spec' && top !== 'status' ? top! : member);
    return alwaysThere.has(head) ? `${wordsOf(kind)} ${head}` : head;
  });
}

function wordsOf(name: string): string {
  return name.replace(/([a-z0-9])([A-Z])/g, '$1 $2').toUpperCase();
}

function at(object: ExtensionObject, path: Path): unknown {
  let value: unknown = object;
  for (const member of path) value = isRecord(value) && Object.hasOwn(value, member) ? value[member] : undefined;
  return value;
}

function isSimple(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

function cellOf(value: unknown, wide: boolean): string {
  if (!isSimple(value)) return value === undefined || value === null ? '-' : '…';
  const text = String(value);
  if (wide || text.length <= cellLimit) return text;
  // Not in the middle of a character.
  return `${text.slice(0, cellLimit - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** `12s`, `5m`, `3h`, `40d`. */
export function age(timestamp: string | undefined, now: number): string {
  if (timestamp === undefined) return '-';
  const seconds = Math.max(0, Math.floor((now - Date.parse(timestamp)) / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86_400)}d`;
}
