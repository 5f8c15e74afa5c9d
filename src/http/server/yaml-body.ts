/** Request bodies in YAML. A thread reads them and gives JSON back, which is then read as any other body. */
import { isUtf8 } from 'node:buffer';
import { Worker } from 'node:worker_threads';
import { KindredError } from '../../errors.ts';
import { localized } from '../../locales/localized.ts';

export interface YamlRequest {
  readonly text: string;
  /** Characters of the JSON. */
  readonly limit: number;
  /** Of a member that is given twice the last one counts; otherwise it is a mistake. */
  readonly allowsDuplicates: boolean;
}

export type YamlAnswer =
  | {
      readonly json: string;
      /** Paths of members that were given more than once, 100 at most. */
      readonly duplicates: readonly string[];
      readonly mistake?: undefined;
    }
  | { readonly mistake: string };

const texts = {
  mistake: localized('The body cannot be read: {mistake}'),
  utf8: localized('The body is not UTF-8'),
  slow: localized('The body takes longer than {seconds} s to read; send JSON'),
  busy: localized('Too many bodies in YAML wait to be read; try again, or send JSON'),
};

/** Milliseconds for one body. */
const timeLimit = 10_000;
/** Bodies that wait for the thread, the one that is read among them. */
const waitingLimit = 64;
/** Milliseconds without a body after which the thread ends. */
const idleLimit = 30_000;
/** What aliases may make of a body, in characters for each of its bytes, and of a small one. */
const growth = 4;
const smallest = 10_000;
const megabytes = 256;

/** Whether a body of a type that says YAML is JSON: clients send it under this name. */
export function isJson(bytes: Buffer): boolean {
  for (const byte of bytes) if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) return byte === 0x7b;
  return false;
}

export class YamlReader {
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** One document as JSON. @throws BadRequest; NotReady when there are too many at the same time */
  async json(bytes: Buffer): Promise<Buffer> {
    const answer = await this.read(bytes, false);
    if (answer.mistake === undefined) return Buffer.from(answer.json);
    throw new KindredError('BadRequest', texts.mistake, { params: { mistake: answer.mistake } });
  }

  /** As `json`, with what is wrong with the text as the result, and the members that it gives twice, if that is allowed. */
  async read(bytes: Buffer, allowsDuplicates: boolean): Promise<YamlAnswer> {
    if (!isUtf8(bytes)) throw new KindredError('BadRequest', texts.utf8);
    if (this.#waiting >= waitingLimit)
      throw new KindredError('NotReady', texts.busy, { headers: { 'retry-after': '1' } });
    this.#waiting++;
    const read = this.#last.then(() => this.#read(bytes, allowsDuplicates));
    this.#last = read.catch(() => undefined);
    try {
      return await read;
    } finally {
      this.#waiting--;
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    await this.#worker?.terminate();
  }

  async #read(bytes: Buffer, allowsDuplicates: boolean): Promise<YamlAnswer> {
    clearTimeout(this.#idle);
    const limit = growth * bytes.length + smallest;
    const answer = await this.#ask({ text: bytes.toString('utf8'), limit, allowsDuplicates });
    this.#idle = setTimeout(() => void this.close(), idleLimit).unref();
    return answer;
  }

  #ask(request: YamlRequest): Promise<YamlAnswer> {
    const worker = this.#started();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        end();
        void worker.terminate();
        reject(new KindredError('BadRequest', texts.slow, { params: { seconds: timeLimit / 1_000 } }));
      }, timeLimit);
      const end = (): void => {
        clearTimeout(timer);
        worker.off('message', onMessage).off('exit', onExit);
      };
      const onMessage = (answer: YamlAnswer): void => {
        end();
        resolve(answer);
      };
      // It ran out of memory.
      const onExit = (): void => {
        end();
        resolve({ mistake: `body: it takes more than ${megabytes} MiB to read` });
      };
      worker.on('message', onMessage).on('exit', onExit);
      worker.postMessage(request);
    });
  }

  #started(): Worker {
    if (this.#worker) return this.#worker;
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    const url = new URL(`./yaml-worker.${extension}`, import.meta.url);
    const worker = new Worker(url, { resourceLimits: { maxOldGenerationSizeMb: megabytes } });
    // Told by its exit.
    worker.on('error', () => undefined);
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = undefined;
    });
    worker.unref();
    this.#worker = worker;
    return worker;
  }
}
