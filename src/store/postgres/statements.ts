/** The SQL of the PostgreSQL store that is more than a line, and how lists become its parameters. */

import type { KnownClaim, KnownRow, PlannedChange } from '../decide.ts';
import { changeTypes } from '../limits.ts';
import type { Statement } from '../server/dialect.ts';
import type { LoadPart, Rewrite } from '../store.ts';
import type { Call } from './pipeline.ts';

/** Where replicas are told of commits. */
export const channel = 'kindred_commit';

/** Several byte strings as one parameter, with where each begins (from 1) and how long it is. */
class Bytes {
  readonly #parts: Uint8Array[] = [];
  readonly starts: number[] = [];
  readonly lengths: number[] = [];
  #length = 0;

  add(part: Uint8Array): void {
    this.#parts.push(part);
    this.starts.push(this.#length + 1);
    this.lengths.push(part.byteLength);
    this.#length += part.byteLength;
  }

  get all(): Buffer {
    return Buffer.concat(this.#parts, this.#length);
  }
}

export const numbers = (list: readonly number[]): string => `{${list.join(',')}}`;
export const texts = (list: readonly string[]): string =>
  `{${list.map((text) => `"${text.replace(/[\\"]/g, '\\$&')}"`).join(',')}}`;

export const selectClaims = `
  SELECT c.model, c.hash, c.index_name, c.key AS claim_key, c.id
  FROM unnest($2::int[], $3::int[], $4::int[]) AS w (model, start, length)
  JOIN kindred_claims c ON c.model = w.model AND c.hash = substring($1::bytea from w.start for w.length)`;

export const insertClaims = `
  INSERT INTO kindred_claims
  SELECT w.model, substring($1::bytea from w.start for w.length), w.index_name, substring($1::bytea from w.key_start for w.key_length), w.id
  FROM unnest($2::int[], $3::int[], $4::int[], $5::text[], $6::int[], $7::int[], $8::bigint[])
    AS w (model, start, length, index_name, key_start, key_length, id)`;

const loadClaims = `${insertClaims}
  ON CONFLICT (model, hash) DO UPDATE SET index_name = excluded.index_name, key = excluded.key, id = excluded.id`;

const loadRows = `
  INSERT INTO kindred_objects
  SELECT w.id, $2, w.name, w.revision, substring($1::bytea from w.start for w.length)
  FROM unnest($3::bigint[], $4::text[], $5::bigint[], $6::int[], $7::int[]) AS w (id, name, revision, start, length)
  ON CONFLICT (id) DO UPDATE SET name = excluded.name, revision = excluded.revision, bytes = excluded.bytes`;

const loadLeases = `
  INSERT INTO kindred_leases SELECT w.name, '', w.token, 0 FROM unnest($1::text[], $2::bigint[]) AS w (name, token)
  ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, token = excluded.token, expires = excluded.expires`;

export function claimParameters(claims: readonly KnownClaim[]): (string | Buffer)[] {
  const bytes = new Bytes();
  for (const { hash, key } of claims) {
    bytes.add(hash);
    bytes.add(Buffer.from(key, 'utf8'));
  }
  const even = (list: readonly number[]): number[] => list.filter((_, i) => i % 2 === 0);
  const odd = (list: readonly number[]): number[] => list.filter((_, i) => i % 2 === 1);
  return [
    bytes.all,
    numbers(claims.map((claim) => claim.model)),
    numbers(even(bytes.starts)),
    numbers(even(bytes.lengths)),
    texts(claims.map((claim) => claim.index)),
    numbers(odd(bytes.starts)),
    numbers(odd(bytes.lengths)),
    numbers(claims.map((claim) => claim.id)),
  ];
}

export const deleteClaims = `
  DELETE FROM kindred_claims c
  USING unnest($2::int[], $3::int[], $4::int[]) AS w (model, start, length)
  WHERE c.model = w.model AND c.hash = substring($1::bytea from w.start for w.length)`;

export function hashParameters(hashes: readonly { model: number; hash: Uint8Array }[]): (string | Buffer)[] {
  const bytes = new Bytes();
  for (const { hash } of hashes) bytes.add(hash);
  return [bytes.all, numbers(hashes.map((one) => one.model)), numbers(bytes.starts), numbers(bytes.lengths)];
}

/** The changes of a step as a table. */
const stepInput = `
  SELECT revision, type, model, id, name, substring($1::bytea from start for length) AS bytes
  FROM unnest($4::bigint[], $5::int[], $6::int[], $7::bigint[], $8::text[], $9::int[], $10::int[])
    AS input (revision, type, model, id, name, start, length)`;

/** The rows and their lines of the change log, for a step that only creates. */
const createStep = `
  WITH created AS (
    INSERT INTO kindred_objects SELECT id, model, name, revision, bytes FROM (${stepInput}) AS w
    RETURNING revision, model, id, name, bytes
  )
  INSERT INTO kindred_changes SELECT revision, $2, 0, model, id, name, bytes, NULL, $3 FROM created`;

/** As `createStep`, for all kinds of changes. All parts see the rows as they were before, so the content before is there. */
const mixedStep = `
  WITH w AS (${stepInput}), created AS (
    INSERT INTO kindred_objects SELECT id, model, name, revision, bytes FROM w WHERE type = 0
  ), updated AS (
    UPDATE kindred_objects o SET revision = w.revision, bytes = w.bytes FROM w WHERE w.type = 1 AND o.id = w.id
  ), removed AS (
    DELETE FROM kindred_objects o USING w WHERE w.type = 2 AND o.id = w.id
  )
  INSERT INTO kindred_changes
  SELECT w.revision, $2, w.type, w.model, w.id, w.name, w.bytes, o.bytes, $3
  FROM w LEFT JOIN kindred_objects o ON o.id = w.id`;

export function stepCall(step: readonly PlannedChange[], time: number, batch: number): Call {
  const bytes = new Bytes();
  for (const { write } of step) bytes.add(write.bytes);
  return {
    name: step.every(({ write }) => write.type === 'create') ? 'create' : 'change',
    values: [
      bytes.all,
      `${time}`,
      `${batch}`,
      numbers(step.map((change) => change.revision)),
      numbers(step.map((change) => changeTypes.indexOf(change.write.type))),
      numbers(step.map((change) => change.write.model)),
      numbers(step.map((change) => change.id)),
      texts(step.map((change) => change.write.name)),
      numbers(bytes.starts),
      numbers(bytes.lengths),
    ],
  };
}

export function unchangedCall(rows: readonly KnownRow[]): Call {
  return {
    name: 'unchanged',
    values: [
      numbers(rows.map((row) => row.id)),
      numbers(rows.map((row) => row.revision)),
      numbers(rows.map((row) => row.model)),
      texts(rows.map((row) => row.name)),
      `${rows.length}`,
    ],
  };
}

/** What a connection that commits batches has prepared, by name; those of the transaction are legible on the wire. */
export const batchStatements = {
  BEGIN: 'BEGIN ISOLATION LEVEL READ COMMITTED',
  lock: "SELECT value, questions FROM kindred_meta WHERE key = 'revision' FOR UPDATE",
  // Locks as `lock` and moves as `move`. The division fails the batch: it is made with the row as it is once it is locked.
  guess: `
    UPDATE kindred_meta SET value = ($3::bigint / (value = $1::bigint AND questions = $2::bigint)::int)::bigint
    WHERE key = 'revision'`,
  unchanged: `
    SELECT 1 / (count(*) = $5)::int FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::text[]) AS w (id, revision, model, name)
    JOIN kindred_objects o ON o.id = w.id AND o.revision = w.revision AND o.model = w.model AND o.name = w.name`,
  rows: `
    SELECT o.model, o.name, o.id, o.revision FROM unnest($1::int[], $2::text[]) AS w (model, name)
    JOIN kindred_objects o ON o.model = w.model AND o.name = w.name`,
  claims: selectClaims,
  leases: 'SELECT name, token, expires FROM kindred_leases WHERE name = ANY ($1::text[]) FOR UPDATE',
  takeovers: 'SELECT id, model, revision FROM kindred_objects WHERE id = ANY ($1::bigint[])',
  generations: 'SELECT number AS model, generation FROM kindred_models WHERE number = ANY ($1::int[])',
  changed: `
    SELECT w.model, coalesce((SELECT max(revision) FROM kindred_changes c WHERE c.model = w.model), 0) AS revision
    FROM unnest($1::int[]) AS w (model)`,
  create: createStep,
  change: mixedStep,
  'drop-claims': deleteClaims,
  'take-claims': insertClaims,
  activate: `
    UPDATE kindred_models SET generation = $2::int, contract = $3::text, storage_version = $4::text WHERE number = $1::int`,
  move: "UPDATE kindred_meta SET value = $1 WHERE key = 'revision'",
  tell: `SELECT pg_notify('${channel}', $1)`,
  COMMIT: 'COMMIT',
};

export function rewriteStatements(rows: readonly Rewrite[]): Statement[] {
  if (rows.length === 0) return [];
  const bytes = new Bytes();
  for (const row of rows) bytes.add(row.bytes);
  const values = [bytes.all, numbers(rows.map(({ id }) => id)), numbers(bytes.starts), numbers(bytes.lengths)];
  const text = `
    UPDATE kindred_objects o SET bytes = substring($1::bytea from w.start for w.length)
    FROM unnest($2::bigint[], $3::int[], $4::int[]) AS w (id, start, length) WHERE o.id = w.id`;
  return [{ text, values }];
}

export function loadStatements(part: LoadPart): Statement[] {
  if ('models' in part) {
    const text = `INSERT INTO kindred_models VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (number) DO UPDATE SET group_name = excluded.group_name, kind = excluded.kind,
        generation = excluded.generation, contract = excluded.contract, storage_version = excluded.storage_version`;
    return part.models.map(({ number, group, kind, generation, contract = null, storageVersion = null }) => ({
      text,
      values: [number, group, kind, generation, contract, storageVersion],
    }));
  }
  if ('rows' in part) {
    const bytes = new Bytes();
    for (const row of part.rows) bytes.add(row.bytes);
    const values = [
      bytes.all,
      part.model,
      numbers(part.rows.map((row) => row.id)),
      texts(part.rows.map((row) => row.name)),
      numbers(part.rows.map((row) => row.revision)),
      numbers(bytes.starts),
      numbers(bytes.lengths),
    ];
    return [{ text: loadRows, values }];
  }
  if ('claims' in part) {
    const claims = part.claims.map((claim) => ({ ...claim, model: part.model }));
    return [{ text: loadClaims, values: claimParameters(claims) }];
  }
  if ('changes' in part) {
    const text = 'INSERT INTO kindred_changes VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0) ON CONFLICT (revision) DO NOTHING';
    return part.changes.map(({ revision, time, type, model, id, name, bytes, before = null }) => ({
      text,
      values: [revision, time, changeTypes.indexOf(type), model, id, name, bytes, before],
    }));
  }
  if ('tokens' in part) {
    const { leases } = part.tokens;
    const values = [texts(leases.map((lease) => lease.name)), numbers(leases.map((lease) => lease.token))];
    return [{ text: loadLeases, values }];
  }
  return [];
}
