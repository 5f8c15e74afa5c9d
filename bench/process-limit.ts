/**
 * The limits: what Node's own HTTP server does with prepared answers, and what SQLite does with prepared rows. Both in a
 * process without anything else in it.
 */
import { rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { article, nameOf } from './articles.ts';
import { meter } from './meter.ts';
import { answer } from './remote.ts';

let body = Buffer.alloc(0);
/** Milliseconds of processor time that each answer takes beside being written. */
let work = 0;
const server = createServer((_request, response) => {
  if (work > 0) for (const end = performance.now() + work; performance.now() < end; );
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': body.length });
  response.end(body);
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

/** The least that keeps an object and the log of its changes: two rows for each write, one transaction for each batch. */
function storeRate({ file, count, batch }: { file: string; count: number; batch: number }): number {
  const db = new DatabaseSync(file);
  db.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE objects (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, bytes BLOB NOT NULL) STRICT;
    CREATE TABLE changes (revision INTEGER PRIMARY KEY, name TEXT NOT NULL, bytes BLOB NOT NULL) STRICT;
  `);
  const insert = db.prepare('INSERT INTO objects VALUES (?, ?, ?)');
  const log = db.prepare('INSERT INTO changes VALUES (?, ?, ?)');
  const rows = Array.from({ length: count }, (_, i) => Buffer.from(JSON.stringify(article(i))));
  const begin = performance.now();
  for (let at = 0; at < count; at += batch) {
    db.exec('BEGIN IMMEDIATE');
    for (let i = at; i < Math.min(at + batch, count); i++) {
      insert.run(i, nameOf(i), rows[i]!);
      log.run(i, nameOf(i), rows[i]!);
    }
    db.exec('COMMIT');
  }
  const seconds = (performance.now() - begin) / 1_000;
  db.close();
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true });
  return count / seconds;
}

answer({
  ...meter(),
  url: () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  /** From now on this is the answer to everything, and takes so many milliseconds more. */
  prepare({ bytes, delay = 0 }: { bytes: Uint8Array; delay?: number }) {
    body = Buffer.from(bytes);
    work = delay;
  },
  storeRate,
});
