/**
 * Servers with standbys. A COMMIT waits until a standby has it, and shows it to nobody before, with two exceptions: the
 * wait was cancelled, of which the server warns; and the server started again after a crash, and shows all that its log
 * has. In neither case is what it shows believed before a later commit has waited: that one has the others before it in
 * the log.
 */
import type { ClientBase } from 'pg';
import { shortQuery } from './server.ts';

/** Milliseconds that the server itself keeps up a wait for the lock, so that nobody who has gone is left waiting there. */
const lockTimeout = 1_500;

/**
 * Runs what commits. Throws a plain error when the server warns meanwhile: it has committed, and may be the only one.
 * @param isCommitting false while statements before the COMMIT run, whose warnings mean nothing here
 */
export async function certainly<T>(
  client: ClientBase,
  commit: () => Promise<T>,
  isCommitting: () => boolean = () => true,
): Promise<T> {
  let warning: string | undefined;
  const listen = ({ code, message }: { code: string | undefined; message: string | undefined }): void => {
    if (code !== noWarning && isCommitting()) warning = message;
  };
  client.on('notice', listen);
  try {
    const answer = await commit();
    if (warning !== undefined) throw new Error(`the server warned at the commit: ${warning}`);
    return answer;
  } finally {
    client.off('notice', listen);
  }
}

/** The code of what is told without being a warning. */
const noWarning = '00000';

/** Throws a plain error on a server that takes no writes. */
export async function refuseStandby(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ transaction_read_only: string }>(question('SHOW transaction_read_only'));
  if (rows[0]!.transaction_read_only === 'on') {
    throw new Error('this server is a standby, or set to read-only: the service needs the primary');
  }
}

/** Which connections may be read from. */
export class Admission {
  readonly #admitted = new WeakSet<ClientBase>();
  /** By run of a server: what it shows is on its standbys too. */
  readonly #confirmed = new Map<string, Promise<void>>();
  #count = 0;

  /** Connections admitted so far. */
  get count(): number {
    return this.#count;
  }

  /** Throws what the driver throws, and plain errors; the connection is then of no use. */
  async admit(client: ClientBase): Promise<void> {
    if (this.#admitted.has(client)) return;
    await refuseStandby(client);
    const run = await runOf(client);
    let confirmed = this.#confirmed.get(run);
    if (!confirmed) {
      confirmed = confirm(client);
      this.#confirmed.set(run, confirmed);
      confirmed.catch(() => this.#confirmed.delete(run));
    }
    await confirmed;
    this.#admitted.add(client);
    this.#count++;
  }
}

/**
 * What the server is from one start to the next. One that starts again in place, because a process of it was killed,
 * keeps its start time, and loses its statistics (PostgreSQL documentation, "The Cumulative Statistics System").
 * Engines that know neither are one run: they decide by majorities what they show.
 */
async function runOf(client: ClientBase): Promise<string> {
  const text = 'SELECT pg_postmaster_start_time()::text AS started, stats_reset::text AS reset FROM pg_stat_bgwriter';
  try {
    const { rows } = await client.query(question(text));
    return JSON.stringify(rows);
  } catch (error) {
    if (/^(42|0A)/.test((error as { code?: string }).code ?? '')) return '';
    throw error;
  }
}

/** A commit that writes: it waits for the standbys, and all that was readable before lies before it in the log. */
async function confirm(client: ClientBase): Promise<void> {
  await client.query(
    question(`BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = ${lockTimeout};
      SELECT value FROM kindred_meta WHERE key = 'revision' FOR UPDATE`),
  );
  await certainly(client, () => client.query(question('COMMIT')));
}

function question(text: string): { text: string; query_timeout: number } {
  return { text, query_timeout: shortQuery };
}
