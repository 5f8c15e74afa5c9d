import { KindredError } from '../errors.ts';
import type { Connection } from './connection.ts';
import { errorFrom } from './connection.ts';
import { lines } from './ndjson.ts';

/** What became of one object: acknowledged, or refused with the reason. `index` counts the objects from 0. */
export type ImportResult =
  | { readonly index: number; readonly ok: true; readonly name: string; readonly version: number }
  | { readonly index: number; readonly ok: false; readonly object: object | string; readonly error: KindredError };

export interface ImportOptions {
  /** Objects in one request; default 1,000. */
  batch?: number;
  /** Requests under way at once; default 2. */
  concurrency?: number;
  signal?: AbortSignal;
}

/**
 * Bulk creation (contract section 3): objects, or their JSON texts as they are, in requests of many; results in the
 * order of the objects. What a broken connection left open is answered `UnknownOutcome`.
 */
export async function* importObjects(
  connection: Connection,
  path: string,
  objects: Iterable<object | string> | AsyncIterable<object | string>,
  options: ImportOptions = {},
): AsyncGenerator<ImportResult, void, undefined> {
  const { batch: size = 1000, concurrency = 2 } = options;
  const underWay: Promise<ImportResult[]>[] = [];
  let batch: (object | string)[] = [];
  let first = 0;
  const start = () => {
    const sent = send(connection, path, batch, first, options.signal);
    // Handled where it is awaited; a failure of a later one must not count as unhandled before that.
    sent.catch(() => {});
    underWay.push(sent);
    first += batch.length;
    batch = [];
  };
  for await (const object of objects) {
    batch.push(object);
    if (batch.length < size) continue;
    start();
    if (underWay.length >= concurrency) yield* await underWay.shift()!;
  }
  if (batch.length > 0) start();
  for (const sent of underWay) yield* await sent;
}

async function send(
  connection: Connection,
  path: string,
  batch: readonly (object | string)[],
  first: number,
  signal: AbortSignal | undefined,
): Promise<ImportResult[]> {
  const results: ImportResult[] = [];
  const refuse = (error: KindredError) => {
    const object = batch[results.length]!;
    results.push({ index: first + results.length, ok: false, object, error });
  };
  let body = '';
  for (const object of batch) body += `${typeof object === 'string' ? object : JSON.stringify(object)}\n`;
  try {
    const response = await connection.send('POST', path, {
      headers: { 'content-type': 'application/x-ndjson', accept: 'application/x-ndjson' },
      body,
      ...(signal && { signal }),
    });
    for await (const line of lines(response.body!)) {
      const answer = JSON.parse(line) as Record<string, unknown>;
      if (Number(answer.status) >= 400) refuse(errorFrom(answer));
      else {
        const { name, version } = answer as { name: string; version: number };
        results.push({ index: first + results.length, ok: true, name, version });
      }
    }
    if (results.length < batch.length) throw new Error('the answer ended early');
  } catch (error) {
    if (signal?.aborted || connection.signal?.aborted) throw error;
    const reason = error instanceof KindredError ? error : connection.broken(error, true);
    while (results.length < batch.length) refuse(reason);
  }
  return results;
}
