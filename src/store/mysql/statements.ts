/** The SQL of the MySQL and MariaDB store that is more than a line. All values stand in it, bytes as hexadecimal literals. */

import type { KnownClaim, PlannedChange } from '../decide.ts';
import { changeTypes } from '../limits.ts';
import type { ClaimKey } from '../server/dialect.ts';
import type { Activation, LoadPart, Rewrite } from '../store.ts';

export const bytesOf = (text: string): Buffer => Buffer.from(text, 'utf8');
export const literal = (bytes: Uint8Array): string =>
  `X'${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}'`;
export const nameLiteral = (text: string): string => literal(bytesOf(text));

/** `INSERT` statements of at most about a megabyte each. */
function inserts(head: string, rows: readonly string[]): string[] {
  const statements: string[] = [];
  let values: string[] = [];
  let length = 0;
  for (const row of rows) {
    if (values.length > 0 && length + row.length > 2 ** 20) {
      statements.push(`${head} VALUES ${values.join(',')}`);
      values = [];
      length = 0;
    }
    values.push(row);
    length += row.length;
  }
  if (values.length > 0) statements.push(`${head} VALUES ${values.join(',')}`);
  return statements;
}

/** A condition on pairs of model and bytes that the server answers by points of the index. */
export function byModel(column: string, pairs: readonly { model: number; value: Uint8Array }[]): string {
  const models = Map.groupBy(pairs, (pair) => pair.model);
  return [...models]
    .map(
      ([model, list]) => `(model = ${model} AND ${column} IN (${list.map((pair) => literal(pair.value)).join(',')}))`,
    )
    .join(' OR ');
}

function claimRow({ model, hash, index, key, id }: KnownClaim): string {
  return `(${model},${literal(hash)},${nameLiteral(index)},${nameLiteral(key)},${id})`;
}

export function insertClaims(claims: readonly KnownClaim[]): string[] {
  return inserts('INSERT INTO kindred_claims', claims.map(claimRow));
}

export function selectClaims(claims: readonly ClaimKey[]): string {
  return `SELECT model, hash, index_name, key_text AS claim_key, id FROM kindred_claims WHERE ${byHash(claims)}`;
}

export function deleteClaims(claims: readonly ClaimKey[]): string {
  return `DELETE FROM kindred_claims WHERE ${byHash(claims)}`;
}

function byHash(claims: readonly ClaimKey[]): string {
  return byModel(
    'hash',
    claims.map(({ model, hash }) => ({ model, value: hash })),
  );
}

export function activate({ model, to, contract, storageVersion }: Activation): string {
  return `UPDATE kindred_models SET generation = ${to}, contract = ${nameLiteral(contract)}, storage_version = ${nameLiteral(storageVersion)} WHERE number = ${model}`;
}

export function stepStatements(step: readonly PlannedChange[], time: number, batch: number): string[] {
  const rows = step.map(({ revision, id, write }) => {
    const type = changeTypes.indexOf(write.type);
    return `(${revision},${time},${type},${write.model},${id},${nameLiteral(write.name)},${literal(write.bytes)},NULL,${batch})`;
  });
  const statements = inserts('INSERT INTO kindred_changes', rows);
  const here = `c.revision BETWEEN ${step[0]!.revision} AND ${step.at(-1)!.revision}`;
  const types = new Set(step.map((change) => change.write.type));
  if (types.has('update') || types.has('delete')) {
    statements.push(
      `UPDATE kindred_changes c JOIN kindred_objects o ON o.id = c.id SET c.old_bytes = o.bytes WHERE ${here} AND c.type <> 0`,
    );
  }
  if (types.has('delete')) {
    const removed = step.filter((change) => change.write.type === 'delete').map((change) => change.id);
    statements.push(`DELETE FROM kindred_objects WHERE id IN (${removed.join(',')})`);
  }
  const rowsOf = (type: (typeof changeTypes)[number]): string =>
    `INSERT INTO kindred_objects SELECT c.id, c.model, c.name, c.revision, c.bytes FROM kindred_changes c WHERE ${here} AND c.type = ${changeTypes.indexOf(type)}`;
  // The rows are there; an UPDATE that joins two tables takes half as long again.
  if (types.has('update')) {
    statements.push(`${rowsOf('update')} ON DUPLICATE KEY UPDATE revision = VALUES(revision), bytes = VALUES(bytes)`);
  }
  if (types.has('create')) statements.push(rowsOf('create'));
  return statements;
}

/** Each of at most about a megabyte. */
export function rewriteStatements(rows: readonly Rewrite[]): string[] {
  const statements: string[] = [];
  let [cases, ids, length]: [string[], number[], number] = [[], [], 0];
  const end = () => {
    if (ids.length > 0)
      statements.push(
        `UPDATE kindred_objects SET bytes = CASE id ${cases.join(' ')} END WHERE id IN (${ids.join(',')})`,
      );
    [cases, ids, length] = [[], [], 0];
  };
  for (const { id, bytes } of rows) {
    const one = `WHEN ${id} THEN ${literal(bytes)}`;
    if (length + one.length > 2 ** 20) end();
    cases.push(one);
    ids.push(id);
    length += one.length;
  }
  end();
  return statements;
}

export function loadStatements(part: LoadPart): string[] {
  if ('models' in part) {
    const rows = part.models.map(({ number, group, kind, generation, contract, storageVersion }) => {
      const [json, version] = [contract, storageVersion].map((one) => (one === undefined ? 'NULL' : nameLiteral(one)));
      return `(${number},${nameLiteral(group)},${nameLiteral(kind)},${generation},${json},${version})`;
    });
    return inserts('REPLACE INTO kindred_models', rows);
  }
  if ('rows' in part) {
    const rows = part.rows.map(
      ({ id, name, revision, bytes }) => `(${id},${part.model},${nameLiteral(name)},${revision},${literal(bytes)})`,
    );
    return inserts('REPLACE INTO kindred_objects', rows);
  }
  if ('claims' in part) {
    const rows = part.claims.map((claim) => claimRow({ ...claim, model: part.model }));
    return inserts('REPLACE INTO kindred_claims', rows);
  }
  if ('changes' in part) {
    const rows = part.changes.map(
      ({ revision, time, type, model, id, name, bytes, before }) =>
        `(${revision},${time},${changeTypes.indexOf(type)},${model},${id},${nameLiteral(name)},${literal(bytes)},${before ? literal(before) : 'NULL'},0)`,
    );
    return inserts('REPLACE INTO kindred_changes', rows);
  }
  if ('tokens' in part) {
    const rows = part.tokens.leases.map(({ name, token }) => `(${nameLiteral(name)},'',${token},0)`);
    return inserts('REPLACE INTO kindred_leases', rows);
  }
  return [];
}
