/** What a PostgreSQL with standbys is asked, and what it says. */
import type { ClientBase } from 'pg';
import { isStandby } from '../server/admission.ts';
import type { Gate } from '../server/dialect.ts';
import { lockWait, shortQuery } from '../server/timeouts.ts';

/** The code of a notice that is no warning. */
const noWarning = '00000';

/**
 * Runs what commits. Throws a plain error when the server warns meanwhile: the wait for the standbys was cancelled, and
 * what was committed may be nowhere else.
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

export const postgresGate: Gate<ClientBase> = {
  async refuseStandby(client) {
    const { rows } = await client.query<{ transaction_read_only: string }>(question('SHOW transaction_read_only'));
    if (rows[0]!.transaction_read_only === 'on') throw isStandby();
  },

  /**
   * A server that starts again in place, because a process of it was killed, keeps its start time and loses its
   * statistics (PostgreSQL documentation, "The Cumulative Statistics System"). Engines that know neither are one run:
   * they decide by majorities what they show.
   */
  async runOf(client) {
    const text = 'SELECT pg_postmaster_start_time()::text AS started, stats_reset::text AS reset FROM pg_stat_bgwriter';
    try {
      const { rows } = await client.query(question(text));
      return JSON.stringify(rows);
    } catch (error) {
      if (/^(42|0A)/.test((error as { code?: string }).code ?? '')) return '';
      throw error;
    }
  },

  /** The lock makes it a transaction that writes: others do not wait for the standbys. */
  async confirm(client) {
    await client.query(
      question(`BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = ${lockWait};
        SELECT value FROM kindred_meta WHERE key = 'revision' FOR UPDATE`),
    );
    await certainly(client, () => client.query(question('COMMIT')));
  },
};

function question(text: string): { text: string; query_timeout: number } {
  return { text, query_timeout: shortQuery };
}
