/**
 * Bulk creation (docs/reference/api.md), so that every object has one answer in the end. What certainly was not applied is
 * sent again. A connection that breaks leaves objects of which nobody knows whether they are stored: those with a name
 * are sent again too, and when the name is taken then, what is stored under it tells whether it is this import's own.
 */
import type { Text } from '../errors.ts';
import { KindredError } from '../errors.ts';
import { readJson } from '../runtime/read-json.ts';
import type { Connection } from './connection.ts';
import { errorFrom, Silence } from './connection.ts';
import { lines } from './ndjson.ts';
import type { RetryPolicy } from './retry.ts';
import { isNotApplied, Patience, retrying } from './retry.ts';
import type { Stored } from './written.ts';
import { isWritten } from './written.ts';

/** What became of one object: acknowledged, or refused with the reason. `index` counts the objects from 0. */
export type ImportResult =
  | { readonly index: number; readonly ok: true; readonly name: string; readonly version: number }
  | {
      readonly index: number;
      readonly ok: false;
      readonly object: object | string;
      /** `UnknownOutcome`: the object may be stored, or not. */
      readonly error: KindredError;
    };

export interface ImportOptions {
  /** Of a namespaced model: where the objects are created. */
  namespace?: string | undefined;
  /** Objects in one request; default 1,000. Requests of more than 4 MiB are sent in parts. */
  batch?: number;
  /** Requests under way at once; default 2. */
  concurrency?: number;
  /** Cuts off what is under way: the import throws the signal's reason, and objects without a result may be stored or not. */
  signal?: AbortSignal;
  /**
   * How objects that were not applied, or whose outcome is unknown, are sent again; a `Patience` that several imports
   * share ends for all of them at once. Default: until none succeeded for 2 minutes. False: never.
   */
  retry?: RetryPolicy | Patience | false;
}

const texts: Record<'lost' | 'gone' | 'changed' | 'empty', Text> = {
  lost: {
    en: 'Whether the object was stored could not be learnt, and without a name it cannot be looked for ({reason})',
    zh: '无法确定对象是否已存储，且没有名称无法查找（{reason}）',
  },
  gone: {
    en: 'Whether "{name}" was stored could not be learnt ({reason})',
    zh: '无法确定 "{name}" 是否已存储（{reason}）',
  },
  changed: {
    en: 'There is a "{name}" already; this import may have created it and lost the answer, but it has been changed since',
    zh: '"{name}" 已存在；可能由本次导入创建但丢失了应答，且之后已被修改',
  },
  empty: { en: 'The text holds no object', zh: '文本中没有对象' },
};

/** Statuses of an object that is not stored, whatever became of it before: it can never be, or its name is free. */
const saysNotStored = new Set([400, 409, 413, 422]);

const defaultPatience = 120_000;
const bytesAtOnce = 4 * 2 ** 20;
const readsAtOnce = 16;

/** Results in the order of the objects, one for each that was taken from `objects`, also when that fails midway. */
export async function* importObjects(
  connection: Connection,
  path: string,
  objects: Iterable<object | string> | AsyncIterable<object | string>,
  options: ImportOptions = {},
): AsyncGenerator<ImportResult, void, undefined> {
  const { batch: size = 1000, concurrency = 2 } = options;
  const left = new AbortController();
  const bulk = new Bulk(connection, path, options, left.signal);
  const underWay: Promise<ImportResult[]>[] = [];
  let batch: Line[] = [];
  let length = 0;
  let read = 0;
  const start = () => {
    const sent = bulk.send(batch);
    // Handled where it is awaited; a failure of a later one must not count as unhandled before that.
    sent.catch(() => {});
    underWay.push(sent);
    batch = [];
    length = 0;
  };
  let failure: { reason: unknown } | undefined;
  try {
    try {
      for await (const object of objects) {
        const line = new Line(read++, object);
        batch.push(line);
        length += line.text.length;
        if (batch.length < size && length < bytesAtOnce) continue;
        start();
        if (underWay.length >= concurrency) yield* await underWay.shift()!;
      }
    } catch (reason) {
      failure = { reason };
    }
    if (batch.length > 0) start();
    while (underWay.length > 0) yield* await underWay.shift()!;
  } finally {
    // A consumer that stops early leaves nothing under way.
    left.abort();
  }
  if (failure) throw failure.reason;
}

/** One object on its way. */
class Line {
  readonly index: number;
  readonly object: object | string;
  /** One line of NDJSON. */
  readonly text: string;
  /** An answer was lost: the object may be stored already. */
  unsure = false;
  result: ImportResult | undefined;
  #parsed: Stored | undefined;

  constructor(index: number, object: object | string) {
    this.index = index;
    this.object = object;
    // Line ends stand between the tokens of a JSON text, never inside one.
    this.text = typeof object === 'string' ? object.replace(/[\r\n]+/g, ' ').trim() : String(JSON.stringify(object));
  }

  /** Undefined for a text that is no JSON object, which the service never stores. */
  get parsed(): Stored | undefined {
    if (this.#parsed) return this.#parsed;
    try {
      const value: unknown = readJson(this.text);
      if (typeof value === 'object' && value !== null) this.#parsed = value as Stored;
    } catch {}
    return this.#parsed;
  }

  get name(): string | undefined {
    return this.parsed?.metadata?.name || undefined;
  }

  /** Sent twice it is stored at most once. */
  get isRepeatable(): boolean {
    return this.name !== undefined || this.parsed?.metadata?.generateName === undefined;
  }

  accept(name: string, version: number): void {
    this.result = { index: this.index, ok: true, name, version };
  }

  refuse(error: KindredError): void {
    this.result = { index: this.index, ok: false, object: this.object, error };
  }

  /** The end of a line for which there is no further attempt. */
  giveUp(error: KindredError): void {
    if (!this.unsure || error.code === 'UnknownOutcome') return this.refuse(error);
    const { name } = this;
    const text = name === undefined ? texts.lost : texts.gone;
    this.refuse(new KindredError('UnknownOutcome', text, { params: { name, reason: error.message }, cause: error }));
  }
}

class Bulk {
  readonly #connection: Connection;
  readonly #path: string;
  readonly #signal: AbortSignal;
  readonly #patience: Patience;
  /** Names of the objects that are stored by this import: a second one of the same name never is. */
  readonly #stored = new Set<string>();
  /** When the first object may have been created at the earliest, by this machine's clock. */
  readonly #began = Date.now();

  constructor(connection: Connection, path: string, { retry, signal }: ImportOptions, left: AbortSignal) {
    this.#connection = connection;
    this.#path = path;
    this.#signal = AbortSignal.any([left, connection.signal, signal].filter((one) => one !== undefined));
    if (retry instanceof Patience) this.#patience = retry;
    else this.#patience = new Patience({ patience: retry === false ? 0 : defaultPatience, ...(retry || undefined) });
  }

  /** Resolves when each line has its result. @throws the signal's reason */
  async send(batch: readonly Line[]): Promise<ImportResult[]> {
    for (const line of batch) if (line.text === '') line.refuse(new KindredError('BadRequest', texts.empty));
    let failures = 0;
    for (let open = batch.filter((line) => !line.result); open.length > 0; ) {
      const failure = await this.#attempt(open);
      const rest = open.filter((line) => !line.result);
      failures++;
      if (rest.length < open.length) {
        this.#patience.progress();
        failures = 1;
      }
      if (failure && rest.length > 0) await this.#wait(failure, failures, rest);
      open = rest.filter((line) => !line.result);
    }
    return batch.map((line) => line.result!);
  }

  /** When there is to be no further attempt, the lines have their results. */
  async #wait(failure: KindredError, failures: number, rest: readonly Line[]): Promise<void> {
    const isOver = isNotApplied(failure) && !this.#connection.isWorthAnother(failure);
    try {
      if (isOver) throw failure;
      await this.#patience.wait(failure, failures, this.#signal);
    } catch (error) {
      if (error !== failure) throw error;
      for (const line of rest) line.giveUp(failure);
    }
  }

  /** Sends lines once and gives those their results that need no further attempt; the others are left because of the failure. */
  async #attempt(open: readonly Line[]): Promise<KindredError | undefined> {
    const taken: Line[] = [];
    let failure: KindredError | undefined;
    let answered = 0;
    let isUnread = false;
    const silence = new Silence(this.#connection.timeout);
    try {
      const response = await this.#connection.send('POST', this.#path, {
        headers: { 'content-type': 'application/x-ndjson', accept: 'application/x-ndjson' },
        body: open.map((line) => `${line.text}\n`).join(''),
        signal: this.#signal,
        silence,
      });
      for await (const text of lines(response.body!, silence)) {
        const line = open[answered];
        if (!line) throw new Error('the answer has more lines than the request');
        const answer = readJson(text) as Record<string, unknown>;
        // The service read no further: what is left goes into the next request.
        isUnread = answer.unread === true && answered > 0;
        if (isUnread) break;
        answered++;
        if (Number(answer.status) < 400) this.#accept(line, String(answer.name), Number(answer.version));
        else failure = this.#refused(line, errorFrom(answer), taken) ?? failure;
      }
      if (answered < open.length && !isUnread) throw new Error('the answer ended early');
    } catch (error) {
      if (this.#signal.aborted) throw this.#signal.reason;
      const reason = error instanceof KindredError ? error : this.#connection.broken(error, true);
      for (const line of open.slice(answered)) failure = this.#refused(line, reason, taken) ?? failure;
    }
    if (taken.length > 0) failure = (await this.#settle(taken)) ?? failure;
    return failure;
  }

  #accept(line: Line, name: string, version: number): void {
    this.#stored.add(name);
    line.accept(name, version);
  }

  /** Gives the line its result, puts it among those whose name is `taken`, or returns why it has to be sent again. */
  #refused(line: Line, error: KindredError, taken: Line[]): KindredError | undefined {
    if (isNotApplied(error)) return error;
    if (error.code === 'UnknownOutcome') {
      line.unsure = true;
      if (line.isRepeatable) return error;
      line.giveUp(new KindredError('UnknownOutcome', texts.lost, { params: { reason: error.message }, cause: error }));
    } else if (line.unsure && error.code === 'AlreadyExists') taken.push(line);
    else if (saysNotStored.has(error.status)) line.refuse(error);
    else line.giveUp(error);
    return undefined;
  }

  /** Of lines that may be stored, and whose names are taken: whether what is stored there is theirs. */
  async #settle(taken: readonly Line[]): Promise<KindredError | undefined> {
    const stored = new Map<Line, Stored | KindredError>();
    const next = taken.values();
    const readRest = async () => {
      for (const line of next) {
        const path = `${this.#path}/${encodeURIComponent(line.name!)}`;
        const read = () => this.#connection.jsonOnce<Stored>('GET', path, { signal: this.#signal });
        const isWorthAnother = (error: KindredError) => this.#connection.isWorthAnother(error);
        stored.set(
          line,
          await retrying(read, isWorthAnother, this.#patience, this.#signal).catch((error: unknown) => {
            if (!(error instanceof KindredError)) throw error;
            return error;
          }),
        );
      }
    };
    await Promise.all(Array.from({ length: readsAtOnce }, readRest));
    let failure: KindredError | undefined;
    const { clockAhead } = this.#connection;
    const began = clockAhead === undefined ? undefined : this.#began + clockAhead;
    for (const line of taken) {
      const name = line.name!;
      const found = stored.get(line)!;
      if (found instanceof KindredError) {
        if (isNotApplied(found)) failure = found;
        else line.giveUp(found);
      } else if (!this.#stored.has(name) && isWritten(line.parsed!, found, began)) {
        this.#accept(line, name, found.metadata?.version ?? 0);
      } else {
        const isChanged = (found.metadata?.version ?? 0) > 0;
        const exists: Text = isChanged ? texts.changed : { en: 'There is a "{name}" already', zh: '"{name}" 已存在' };
        line.refuse(new KindredError('AlreadyExists', exists, { params: { name } }));
      }
    }
    return failure;
  }
}
