/**
 * What the service itself keeps in a store, in rows of no model: where the objects of models are (`place`), which
 * contracts became active in a store without the objects of `ModelState` (`contract`), generations that moves of objects gave
 * (`move`), and by which declaration the claims of a model were compared with its objects last (`claims`).
 */
import type { Activation, ModelRow, Store, WriteResult } from '../store/store.ts';
import { asBuffer } from './bytes.ts';

export type MarkKind = 'place' | 'contract' | 'move' | 'claims';

export interface MarkOptions {
  /** What becomes true together with the mark. */
  readonly activate?: Activation;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** The store's number of the marks of a kind. */
function markNumber(store: Store, kind: MarkKind): Promise<number> {
  return store.modelNumber('', `#${kind}`);
}

/** As `markNumber`, without making one; undefined while there are none. */
export async function knownMarkNumber(store: Store, kind: MarkKind): Promise<number | undefined> {
  return (await store.models()).find((row) => row.group === '' && row.kind === `#${kind}`)?.number;
}

/** Whether a row of the store's models stands for marks. No kind of a model has such a name. */
export function isOfMarks({ group, kind }: Pick<ModelRow, 'group' | 'kind'>): boolean {
  return group === '' && kind.startsWith('#');
}

/** @returns `exists` when there is one with this name */
export async function makeMark(
  store: Store,
  kind: MarkKind,
  name: string,
  content: object,
  options: MarkOptions,
): Promise<WriteResult> {
  return commitMark('create', store, kind, name, content, options);
}

/** Makes a mark, or takes the place of the one with this name. */
export async function putMark(
  store: Store,
  kind: MarkKind,
  name: string,
  content: object,
  options: MarkOptions,
): Promise<WriteResult> {
  const made = await commitMark('create', store, kind, name, content, options);
  if (made.ok || made.reason !== 'exists') return made;
  return commitMark('update', store, kind, name, content, options);
}

export interface Mark<Content> {
  readonly content: Content;
  /** Of its last change. */
  readonly revision: number;
}

/** By name. */
export async function readMarks<Content>(store: Store, number: number): Promise<Map<string, Mark<Content>>> {
  const marks = new Map<string, Mark<Content>>();
  for (let after = 0; ; ) {
    const rows = await store.scan(number, after, 500);
    if (rows.length === 0) return marks;
    for (const { name, revision, bytes } of rows) marks.set(name, { content: markOf<Content>(bytes), revision });
    after = rows.at(-1)!.id;
  }
}

export function markOf<Content>(bytes: Uint8Array): Content {
  return JSON.parse(asBuffer(bytes).toString()) as Content;
}

async function commitMark(
  type: 'create' | 'update',
  store: Store,
  kind: MarkKind,
  name: string,
  content: object,
  { activate, now }: MarkOptions,
): Promise<WriteResult> {
  const model = await markNumber(store, kind);
  const bytes = Buffer.from(JSON.stringify(content));
  const [result] = await store.commit([{ type, model, name, bytes, ...(activate && { activate }) }], now);
  return result!;
}
