/** What the stores on a database server have in common: how long they wait, what they do again, how many snapshots they open, how connections are secured. */
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { notReady, unknownOutcome } from '../failure.ts';
import { maxSnapshots } from '../limits.ts';
import type { StoreOptions } from '../options.ts';
import { shownUrl } from '../shown-url.ts';
import type { Row, Snapshot } from '../store.ts';

/** Milliseconds after which a database that does not answer counts as away. */
export const connectTimeout = 1_500;
export const shortQuery = 1_800;
export const longQuery = 30_000;
/** Milliseconds for which the server itself keeps up the wait for a lock that nobody may be waiting for any more. */
export const lockWait = 1_500;
export const commitTimeout = 9_000;
/** Milliseconds for learning what became of a batch whose connection broke. */
export const resolveTimeout = 8_000;
/** Milliseconds that closing a store waits for connections that are in use, or that the server does not let go. */
const closeTimeout = 5_000;

const attempts = 12;

/** How a driver's errors are read. */
export interface ErrorReader {
  /** True when the transaction was undone for the sake of another one: it may be tried again. */
  repeatable(error: unknown): boolean;
  /** The error in our words, for what certainly changed nothing. */
  translate(error: unknown): Error;
}

/** Runs a transaction, up to 12 times as long as it is undone for the sake of another one; what it throws is translated. */
export async function repeated<T>(run: () => Promise<T>, { repeatable, translate }: ErrorReader): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      if (!repeatable(error) || attempt === attempts) throw translate(error);
      await pause(randomInt(1, 5 * attempt));
    }
  }
}

/**
 * Whether a batch whose connection broke was committed: asked until the database answers, for 8 s at most.
 * Throws `UnknownOutcome` after that, when the store is closed meanwhile, and when the question itself throws it.
 */
export async function learnOutcome(ask: () => Promise<boolean>, closed: () => boolean, cause: Error): Promise<boolean> {
  const deadline = Date.now() + resolveTimeout;
  for (let wait = 50; ; wait = Math.min(wait * 2, 1_000)) {
    try {
      return await ask();
    } catch (error) {
      if ((error as { code?: unknown }).code === 'UnknownOutcome') throw error;
      if (Date.now() + wait > deadline || closed()) throw unknownOutcome(cause.message, cause);
      await pause(wait);
    }
  }
}

/** A connection to the server, whatever the driver. */
interface Connection {
  destroy(): void;
  readonly ended: Promise<void>;
}

/** The connections that one store has open. */
export class OpenConnections {
  readonly #open = new Set<Connection>();

  add(connection: Connection): void {
    this.#open.add(connection);
    void connection.ended.then(() => this.#open.delete(connection));
  }

  /** Waits for these endings and for every connection, for 5 s at most; then destroys what is still open. */
  async end(endings: readonly (Promise<unknown> | undefined)[]): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, closeTimeout);
    });
    const ended = [...this.#open].map((connection) => connection.ended);
    await Promise.race([Promise.allSettled([...endings, ...ended]), late]);
    clearTimeout(timer);
    for (const connection of this.#open) connection.destroy();
  }
}

/** The snapshots that one process has open. */
export class Snapshots {
  #open = 0;

  /** @param make opens it, and calls what it is given when it is closed */
  async open(make: (closed: () => void) => Promise<Snapshot>): Promise<Snapshot> {
    // Waiting for another one to end could take for ever, and whoever opens a snapshot holds the memory still meanwhile.
    if (this.#open >= maxSnapshots) throw notReady(`${maxSnapshots} snapshots are open already`);
    this.#open++;
    const closed = (): void => {
      this.#open--;
    };
    try {
      return await make(closed);
    } catch (error) {
      closed();
      throw error;
    }
  }
}

/** Throws a plain error, or warns when that is allowed, about settings with which an acknowledged write could be lost. */
export function refuseUnsafeDurability(problems: readonly string[], options: StoreOptions): void {
  if (problems.length === 0) return;
  const text = `the database server can lose acknowledged writes (${problems.join(', ')})`;
  if (!options.allowUnsafeDurability) throw new Error(`${text}; change these settings, or allow unsafe durability`);
  options.warn?.(text);
}

/** How connections to the server are secured. */
export interface Security {
  /** PEM of the authorities that may have issued the server's certificate; undefined: those that Node.js trusts. */
  readonly ca?: Buffer;
  /** PEM of the client's own certificate and key. */
  readonly cert?: Buffer;
  readonly key?: Buffer;
  /** The server's certificate must be of an authority that is trusted. */
  readonly rejectUnauthorized: boolean;
  /** It must also be for the host of the URL. */
  readonly verifyIdentity: boolean;
}

const securityParameters = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey'];
const securityModes = ['disable', 'require', 'verify-ca', 'verify-full'];

/**
 * The URL without its parameters of security, and these: `sslmode` (`disable`, the default; `require`; `verify-ca`;
 * `verify-full`), `sslrootcert`, `sslcert` and `sslkey` (files in PEM), with the meaning that they have for libpq
 * (PostgreSQL documentation, "SSL Support"). Throws a plain error of one line when they do not fit together.
 */
export function securityOf(url: string): { url: URL; security: Security | undefined } {
  if (/^\w+:\/\/(?:[^/]*@)?[^/@?]*,/.test(url)) {
    throw new Error('the database URL names several hosts: name one, such as a proxy that leads to the primary');
  }
  if (!URL.canParse(url))
    throw new Error('the database URL cannot be read, expected <scheme>://user:password@host/database');
  const rest = new URL(url);
  const { searchParams } = rest;
  const unknown = [...searchParams.keys()].find((name) => name.startsWith('ssl') && !securityParameters.includes(name));
  if (unknown !== undefined) {
    throw new Error(`${unknown} in the database URL: TLS is chosen with ${securityParameters.join(', ')}`);
  }
  const [mode = 'disable', rootFile, certFile, keyFile] = securityParameters.map((name) => {
    const value = searchParams.get(name) ?? undefined;
    searchParams.delete(name);
    return value;
  });
  if (!securityModes.includes(mode)) {
    throw new Error(`sslmode=${mode} in the database URL: expected ${securityModes.join(', ')}`);
  }
  if (mode === 'disable') {
    if (rootFile ?? certFile ?? keyFile) {
      throw new Error('the database URL names certificates but asks for no TLS: add sslmode=verify-full');
    }
    return { url: rest, security: undefined };
  }
  if (mode === 'verify-ca' && rootFile === undefined) {
    throw new Error(
      "sslmode=verify-ca in the database URL needs sslrootcert, the file with your authority's certificate: any server can have a certificate of a public one",
    );
  }
  if ((certFile === undefined) !== (keyFile === undefined)) {
    throw new Error('the database URL must have both sslcert and sslkey, or neither');
  }
  const [ca, cert, key] = [pem('sslrootcert', rootFile), pem('sslcert', certFile), pem('sslkey', keyFile)];
  const security = {
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    rejectUnauthorized: mode !== 'require' || ca !== undefined,
    verifyIdentity: mode === 'verify-full',
  };
  return { url: rest, security };
}

function pem(parameter: string, file: string | undefined): Buffer | undefined {
  if (file === undefined) return undefined;
  try {
    return readFileSync(file);
  } catch (cause) {
    throw new Error(`${parameter} in the database URL: ${(cause as Error).message}`, { cause });
  }
}

/** OpenSSL's words for a chain that ends at nobody who is trusted; the driver of MySQL passes on no code. */
const untrusted =
  /self-signed certificate|unable to (verify the first|get (local )?issuer) certificate|certificate (not trusted|signature failure)/;

/** What an operator can do about a connection that failed, where the driver's words do not say it. */
function advice(message: string): string {
  if (message.includes("does not match certificate's altnames")) {
    return '; use the name that the certificate has, or sslmode=verify-ca with an authority of your own';
  }
  if (untrusted.test(message)) {
    return '; its authority is not trusted: name the file with its certificate by sslrootcert in the database URL';
  }
  return '';
}

export function unreachable(url: string, cause: unknown): Error {
  const { message } = cause as Error;
  // What a server itself says has a severity (PostgreSQL) or an SQL state (MySQL).
  const isAnswer = 'severity' in (cause as object) || 'sqlState' in (cause as object);
  const failure = isAnswer ? 'refuses the connection' : 'cannot be reached';
  return new Error(`the database ${shownUrl(url)} ${failure}: ${message}${advice(message)}`, { cause });
}

/** It was reached, and is not what the service needs. */
export function unusable(url: string, cause: unknown): Error {
  return new Error(`the database ${shownUrl(url)} cannot be used: ${(cause as Error).message}`, { cause });
}

/** The rows in the order of the ids, those that are there. */
export function inOrder(ids: readonly number[], rows: readonly Row[]): Row[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => byId.get(id)).filter((row) => row !== undefined);
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
