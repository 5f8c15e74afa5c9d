/** The certificate of the listening socket: files in PEM, read again when they change, so that renewing one needs no restart. */
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Logger } from '../../runtime/logger.ts';
import { tls } from '../../runtime/node-http.ts';
import type { Timers } from '../../runtime/timers.ts';

export interface TlsFiles {
  /** The certificate, and behind it those that lead to one that clients trust. */
  readonly cert: string;
  readonly key: string;
}

interface Pair {
  readonly cert: Buffer;
  readonly key: Buffer;
}

/** Milliseconds between two looks at the files. */
const lookInterval = 10_000;

export class Certificate {
  readonly #files: TlsFiles;
  #pair: Pair;
  /** What was found in the files last, whether it could be used or not. */
  #seen: Pair;

  /** @throws a plain error that names what is wrong with the files */
  constructor(files: TlsFiles) {
    this.#files = files;
    const read = (name: keyof TlsFiles): Buffer => {
      try {
        return readFileSync(files[name]);
      } catch (error) {
        throw new Error(`the file ${files[name]} (tls.${name}) cannot be read: ${(error as Error).message}`);
      }
    };
    this.#pair = { cert: read('cert'), key: read('key') };
    this.#seen = this.#pair;
    assertUsable(files, this.#pair);
  }

  get pair(): Pair {
    return this.#pair;
  }

  /** Gives what is new to `use`; a pair that does not fit leaves the old one in use. @returns what ends it */
  follow(use: (pair: Pair) => void, timers: Pick<Timers, 'after'>, logger: Pick<Logger, 'info' | 'warn'>): () => void {
    let cancel = (): void => {};
    let isEnded = false;
    let told = '';
    const look = async (): Promise<void> => {
      try {
        const pair = { cert: await readFile(this.#files.cert), key: await readFile(this.#files.key) };
        if (isEnded || isSame(pair, this.#seen)) return;
        this.#seen = pair;
        assertUsable(this.#files, pair);
        this.#pair = pair;
        use(pair);
        told = '';
        logger.info({ file: this.#files.cert }, 'The certificate was read again');
      } catch (error) {
        const { message } = error as Error;
        if (message !== told) logger.warn({ err: error }, 'The certificate cannot be read again; the one before stays');
        told = message;
      } finally {
        if (!isEnded) cancel = timers.after(lookInterval, look);
      }
    };
    cancel = timers.after(lookInterval, look);
    return () => {
      isEnded = true;
      cancel();
    };
  }
}

function isSame(a: Pair, b: Pair): boolean {
  return a.cert.equals(b.cert) && a.key.equals(b.key);
}

function assertUsable({ cert, key }: TlsFiles, pair: Pair): void {
  try {
    tls().createSecureContext(pair);
  } catch (error) {
    throw new Error(`${cert} and ${key} are no certificate with its key in PEM: ${(error as Error).message}`);
  }
}
