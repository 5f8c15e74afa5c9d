/** Replicas in this process that serve one model, `Note`, and what tests ask of them. */
import assert from 'node:assert/strict';
import type { Service, ServiceOptions } from 'kindred';
import { createService, defineModel, Type } from 'kindred';
import pino from 'pino';

const gvk = { group: 'replicas.example.com', version: 'v1', kind: 'Note', singular: 'note', plural: 'notes' };
const spec = Type.Object({ text: Type.String(), code: Type.Optional(Type.String()) });
export const Note = defineModel({
  gvk,
  spec,
  indexes: (index) => [index.single('spec.code', String, (note) => note.spec.code, { unique: true })],
});
/** The same model with another unique index in place of that one, as the next version of a plugin could have it. */
export const NextNote = defineModel({
  gvk,
  spec,
  indexes: (index) => [index.single('spec.text', String, (note) => note.spec.text, { unique: true })],
});

export const notes = '/apis/replicas.example.com/v1/notes';

const cleanUps: (() => Promise<unknown>)[] = [];

/** For what a test made: undone by `cleanUp`, the latest first. */
export function atEnd(undo: () => Promise<unknown>): void {
  cleanUps.push(undo);
}

export async function cleanUp(): Promise<void> {
  for (const one of cleanUps.splice(0).reverse()) await one();
}

export interface Replica {
  readonly service: Service;
  readonly url: string;
}

export async function replica(
  database: string,
  options: ServiceOptions = {},
  model: typeof Note | typeof NextNote = Note,
): Promise<Replica> {
  const logger = pino({ level: 'silent' });
  const service = await createService({ database, port: 0, auth: false, logger, ...options });
  atEnd(() => service.stop());
  service.schemeManager.register(model);
  return { service, url: (await service.start()).url };
}

export interface Answer {
  readonly status: number;
  readonly revision: number;
  readonly body: { readonly code?: string; readonly status?: unknown; readonly total?: number; readonly spec?: object };
  readonly ms: number;
}

export async function call({ url }: Replica, path: string, init?: RequestInit & { json?: unknown }): Promise<Answer> {
  const started = performance.now();
  const { json, ...rest } = init ?? {};
  const headers = json === undefined ? {} : { 'content-type': 'application/json' };
  const body = json === undefined ? undefined : JSON.stringify(json);
  const response = await fetch(url + path, { headers, body, ...rest });
  const answered = (await response.json()) as Answer['body'];
  const revision = Number(response.headers.get('kindred-revision'));
  return { status: response.status, revision, body: answered, ms: performance.now() - started };
}

export const create = (at: Replica, name: string, spec: object): Promise<Answer> =>
  call(at, notes, { method: 'POST', json: { metadata: { name }, spec } });

export interface Told {
  readonly type: string;
  readonly object?: { readonly metadata: { readonly name: string } };
  readonly error?: { readonly code: string };
}

/** Resolves once the watch is open, to what gives its events when it has ended. */
export async function watch({ url }: Replica): Promise<() => Promise<Told[]>> {
  const response = await fetch(`${url}${notes}?watch=true`);
  assert.equal(response.status, 200);
  const text = response.text();
  return async () =>
    (await text)
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Told);
}
