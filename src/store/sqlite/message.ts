/**
 * What goes between the store and its worker thread. A batch of writes crosses as one list of plain values and one
 * buffer that holds all its bytes and is handed over: cloning a list of small buffers would copy the memory pool behind each.
 */
import { changeTypes } from '../limits.ts';
import type { Lease, LoadPart, Rewrite, Write, WriteResult } from '../store.ts';
import type { SqliteWriter } from './writer.ts';

/** What the writer can be asked for: the request and the response of each operation. */
export interface Operations {
  commit: { request: { batch: PackedBatch; time: number }; response: readonly WriteResult[] };
  rewrite: {
    request: { model: number; batch: PackedBatch; generation: number | undefined };
    response: number | undefined;
  };
  purge: { request: { model: number }; response: number };
  modelNumber: { request: { group: string; kind: string }; response: number };
  compact: { request: { keep: number; time: number; now: number }; response: number };
  acquireLease: { request: { name: string; holder: string; ttl: number; now: number }; response: Lease | undefined };
  releaseLease: { request: { lease: Lease }; response: undefined };
  load: { request: { part: LoadPart }; response: undefined };
  jump: { request: undefined; response: number };
  close: { request: undefined; response: undefined };
}

export type OperationName = keyof Operations;

export type RequestMessage = {
  [N in OperationName]: { id: number; name: N; request: Operations[N]['request'] };
}[OperationName];

/** Sends requests to the writer, in this thread or in a worker; rejects with the errors of `Store`. */
export interface WriterClient {
  request<N extends OperationName>(
    name: N,
    request: Operations[N]['request'],
    transfer?: ArrayBuffer[],
  ): Promise<Operations[N]['response']>;
  /** As that of `CommittingStore`. */
  receive?(): boolean;
  stop(): Promise<void>;
}

export function perform(writer: SqliteWriter, message: Exclude<RequestMessage, { name: 'close' }>): unknown {
  const { name, request } = message;
  switch (name) {
    case 'commit':
      return writer.commit(unpackBatch(request.batch), request.time);
    case 'rewrite':
      return writer.rewrite(request.model, unpackRewrites(request.batch), request.generation);
    case 'purge':
      return writer.purge(request.model);
    case 'modelNumber':
      return writer.modelNumber(request.group, request.kind);
    case 'compact':
      return writer.compact(request.keep, request.time, request.now);
    case 'acquireLease':
      return writer.acquireLease(request.name, request.holder, request.ttl, request.now);
    case 'releaseLease':
      return writer.releaseLease(request.lease);
    case 'load':
      return writer.load(request.part);
    case 'jump':
      return writer.jump();
  }
}

/** An error of SQLite on its way through; `errcode` is SQLite's extended result code, 0 for an error that is not SQLite's. */
export interface Failure {
  readonly errcode: number;
  readonly message: string;
  readonly committing: boolean;
}

export type ResponseMessage = { id: number; response: unknown } | { id: number; failure: Failure };

export interface PackedBatch {
  readonly values: readonly (string | number)[];
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export function packBatch(writes: readonly Write[]): PackedBatch {
  const length = writes.reduce((sum, write) => sum + write.bytes.byteLength, 0);
  const bytes = new Uint8Array(new ArrayBuffer(length));
  const values: (string | number)[] = [writes.length];
  let offset = 0;
  for (const write of writes) {
    values.push(changeTypes.indexOf(write.type), write.model, write.name);
    values.push(write.expected?.id ?? -1, write.expected?.revision ?? -1);
    values.push(write.fence?.lease ?? '', write.fence?.token ?? -1);
    values.push(write.generation ?? -1);
    const { activate } = write;
    values.push(activate?.model ?? -1);
    if (activate) {
      const { from, to, contract, storageVersion, checked = -1 } = activate;
      values.push(from, to, contract, storageVersion, checked);
    }
    values.push(write.bytes.byteLength);
    bytes.set(write.bytes, offset);
    offset += write.bytes.byteLength;
  }
  return { values, bytes };
}

export function packRewrites(rows: readonly Rewrite[]): PackedBatch {
  const bytes = new Uint8Array(new ArrayBuffer(rows.reduce((sum, row) => sum + row.bytes.byteLength, 0)));
  let offset = 0;
  for (const row of rows) {
    bytes.set(row.bytes, offset);
    offset += row.bytes.byteLength;
  }
  return { values: rows.flatMap(({ id, revision, bytes }) => [id, revision, bytes.byteLength]), bytes };
}

export function unpackRewrites({ values, bytes }: PackedBatch): Rewrite[] {
  const numbers = values as readonly number[];
  let offset = 0;
  return Array.from({ length: numbers.length / 3 }, (_, i) => {
    const [id, revision, length] = numbers.slice(3 * i, 3 * i + 3) as [number, number, number];
    offset += length;
    return { id, revision, bytes: bytes.subarray(offset - length, offset) };
  });
}

export function unpackBatch({ values, bytes }: PackedBatch): Write[] {
  let position = 0;
  let offset = 0;
  const number = (): number => values[position++] as number;
  const text = (): string => values[position++] as string;
  return Array.from({ length: number() }, () => {
    const type = changeTypes[number()]!;
    const [model, name, id, revision, lease, token] = [number(), text(), number(), number(), text(), number()];
    const generation = number();
    const activated = number();
    const activate = activated >= 0 && {
      model: activated,
      from: number(),
      to: number(),
      contract: text(),
      storageVersion: text(),
      ...checkedBy(number()),
    };
    const length = number();
    offset += length;
    return {
      type,
      model,
      name,
      ...(id >= 0 && { expected: { id, revision } }),
      ...(token >= 0 && { fence: { lease, token } }),
      ...(generation >= 0 && { generation }),
      ...(activate && { activate }),
      bytes: bytes.subarray(offset - length, offset),
    };
  });
}

const checkedBy = (revision: number) => (revision >= 0 ? { checked: revision } : {});
