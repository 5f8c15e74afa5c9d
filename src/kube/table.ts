/** Objects as rows of a table, with the columns that their model declares, or else those of its indexes. */

import type { Column } from '../model/attributes.ts';
import { codecOf } from '../model/key.ts';
import { isRecord } from '../model/object.ts';
import type { Scheme } from '../model/scheme.ts';
import type { Stored } from '../resource/registered-model.ts';
import { ageText } from './age.ts';
import { JsonPath } from './jsonpath.ts';
import { partialText, shownBytes } from './metadata.ts';
import type { KubeModel } from './models.ts';
import { quoted } from './parameters.ts';
import { badRequest } from './status.ts';

/** What a row has of its object. */
export type IncludeObject = 'Metadata' | 'Object' | 'None';

export interface ColumnDefinition {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}

interface TableColumn {
  readonly definition: ColumnDefinition;
  readonly cell: (object: unknown, now: number) => unknown;
}

export interface RowForm {
  readonly includeObject: IncludeObject;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly version: 'v1' | 'v1beta1';
}

/** @throws KindredError BadRequest */
export function includeObject(query: URLSearchParams): IncludeObject {
  const given = query.get('includeObject') || 'Metadata';
  if (given === 'Metadata' || given === 'Object' || given === 'None') return given;
  throw badRequest(`invalid value for the parameter "includeObject": ${quoted(given)}`);
}

const known = new WeakMap<Scheme, readonly TableColumn[]>();

export function tableColumns(model: KubeModel): readonly ColumnDefinition[] {
  return columnsOf(model).map(({ definition }) => definition);
}

export function tableRow(model: KubeModel, stored: Stored, { includeObject, now, version }: RowForm): Buffer {
  const object = model.resource.parse(stored);
  const cells = JSON.stringify(columnsOf(model).map(({ cell }) => cell(object, now) ?? null));
  const head = Buffer.from(`{"cells":${cells}`);
  const end = Buffer.from('}');
  if (includeObject === 'None') return Buffer.concat([head, end]);
  const shown =
    includeObject === 'Object' ? shownBytes(model, stored) : Buffer.from(partialText(model, stored, { version }));
  return Buffer.concat([head, Buffer.from(',"object":'), shown, end]);
}

function columnsOf({ scheme, cells }: KubeModel): readonly TableColumn[] {
  const made = known.get(scheme);
  if (made) return made;
  const between =
    scheme.columns?.map((column) => declaredColumn(column, cells?.[column.name])) ??
    (scheme.definition ? [] : indexColumns(scheme));
  const isWhole = scheme.definition !== undefined && scheme.columns !== undefined;
  const columns = [nameColumn, ...between, ...(isWhole ? [] : [ageColumn])];
  known.set(scheme, columns);
  return columns;
}

/** A value of another type than the column's is not shown. */
const cellReaders: Readonly<Record<Column['type'], (value: unknown, now: number) => unknown>> = {
  string: (value) => (typeof value === 'string' ? value : null),
  integer: (value) => (Number.isInteger(value) ? value : null),
  number: (value) => (typeof value === 'number' ? value : null),
  boolean: (value) => (typeof value === 'boolean' ? value : null),
  date: (value, now) => {
    const time = typeof value === 'string' ? Date.parse(value) : Number.NaN;
    return Number.isNaN(time) ? null : ageText(now - time);
  },
};

const nameColumn: TableColumn = {
  definition: { name: 'Name', type: 'string', format: 'name', description: 'Name of the object', priority: 0 },
  cell: (object) => (object as { metadata: { name: string } }).metadata.name,
};

const ageColumn = declaredColumn({
  name: 'Age',
  type: 'date',
  path: '.metadata.creationTimestamp',
  description: 'Time since the object was made',
});

function declaredColumn(column: Column, own?: (object: never) => unknown): TableColumn {
  const { name, type, path, priority = 0, description = '', format = '' } = column;
  const jsonPath = JsonPath.parse(path);
  const find = own ?? ((object: unknown) => jsonPath?.value(object));
  const read = cellReaders[type];
  return {
    definition: { name, type, format, description, priority },
    cell: (object, now) => read(find(object as never), now),
  };
}

/** Columns of a model that declares none, which are in narrow tables too. */
const narrow = 5;

function indexColumns(scheme: Scheme): TableColumn[] {
  const shown = scheme.indexes.filter(({ name, multi }) => !multi && /^(?:spec|status)\.[\w.]+$/.test(name));
  return shown.map(({ name, codec }, i) =>
    declaredColumn({
      name: titleOf(name),
      type: typeAt(scheme.jsonSchema, name) ?? keyTypes.find(([, one]) => one === codec)?.[0] ?? 'string',
      path: `.${name}`,
      priority: i < narrow ? 0 : 1,
    }),
  );
}

const keyTypes = [
  ['string', codecOf(String)],
  ['number', codecOf(Number)],
  ['boolean', codecOf(Boolean)],
  ['date', codecOf(Date)],
] as const;

function titleOf(name: string): string {
  const last = name.split('.').at(-1)!;
  return last[0]!.toUpperCase() + last.slice(1);
}

/** The type that the schema names at a path. */
function typeAt(schema: unknown, path: string): Column['type'] | undefined {
  let at = schema;
  for (const name of path.split('.')) {
    const properties = isRecord(at) && isRecord(at.properties) ? at.properties : undefined;
    at = properties && Object.hasOwn(properties, name) ? properties[name] : undefined;
  }
  const type = isRecord(at) ? at.type : undefined;
  if (isRecord(at) && at.format === 'date-time') return 'date';
  return type === 'string' || type === 'integer' || type === 'number' || type === 'boolean' ? type : undefined;
}
