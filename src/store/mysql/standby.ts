/** What a MySQL or MariaDB with replicas (semi-synchronous, `AFTER_SYNC`) is asked. */
import type { Connection, RowDataPacket } from 'mysql2/promise';
import { isStandby } from '../server/admission.ts';
import type { Gate } from '../server/dialect.ts';
import { lockWait, shortQuery } from '../server/timeouts.ts';

/** A COMMIT waits for the replicas when its transaction has changed something. */
export const touch = "INSERT INTO kindred_meta VALUES ('confirmed', 1) ON DUPLICATE KEY UPDATE value = value + 1";

export const mysqlGate: Gate<Connection> = {
  async refuseStandby(connection) {
    const [row] = await ask(connection, 'SELECT @@GLOBAL.read_only AS read_only');
    if (!/^(0|off)$/i.test(String(row!.read_only))) throw isStandby();
  },

  async runOf(connection) {
    const now = 'SELECT @@server_id AS id, unix_timestamp() AS now';
    const sql = `${now}; SHOW GLOBAL STATUS LIKE 'Uptime'; ${now}`;
    for (;;) {
      const [server, uptime, after] = await ask(connection, sql);
      // Within one second, the start is known to the second.
      if (server!.now === after!.now) return `${server!.id} ${Number(server!.now) - Number(uptime!.Value)}`;
    }
  },

  async confirm(connection) {
    const wait = `SET SESSION innodb_lock_wait_timeout = ${Math.floor(lockWait / 1_000)}`;
    const sql = `${wait}; ${touch}; SET SESSION innodb_lock_wait_timeout = DEFAULT`;
    await connection.query({ sql, timeout: shortQuery });
  },
};

/** The rows of all statements. */
async function ask(connection: Connection, sql: string): Promise<RowDataPacket[]> {
  const [rows] = await connection.query<RowDataPacket[] | RowDataPacket[][]>({ sql, timeout: shortQuery });
  return rows.flat() as RowDataPacket[];
}
