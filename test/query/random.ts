/** Random models, objects and queries from a seed: the engine's form of each beside the oracle's SQL. */
import type { IndexDefinition, IndexEntry } from '../../src/model/index-entry.ts';
import type { KeyCodec } from '../../src/model/key.ts';
import { codecOf } from '../../src/model/key.ts';
import type { Condition } from '../../src/query/condition.ts';
import { Queries } from '../../src/query/condition.ts';
import type { SortTerm } from '../../src/query/query.ts';
import { parseFieldSelector, parseLabelSelector } from '../../src/query/selector.ts';

/** Mulberry32: numbers from 0 to 1 that depend on the seed alone. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Whole, from 0 to n - 1. */
  below(n: number): number {
    return Math.floor(this.next() * n);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)]!;
  }
}

/** One value of a field: as an index function gives it, as a selector says it, as the oracle keeps it in JSON. */
interface Value {
  readonly value: any;
  readonly text: string;
  readonly json: string | number | bigint;
}

interface Kind {
  readonly type: any;
  values(random: Random): Value;
}

const letters = [
  '',
  'a',
  'b',
  'ab',
  'ba',
  'é',
  '\ud7ff',
  '\ue000',
  '\uffee',
  '😀',
  'a😀',
  ',',
  '"',
  ')',
  '\\',
  ' ',
  '%',
  '_',
];

const kinds: Record<string, Kind> = {
  string: {
    type: String,
    values: (random) => {
      const value = Array.from({ length: random.below(4) }, () => random.pick(letters)).join('');
      return { value, text: value, json: value };
    },
  },
  number: {
    type: Number,
    values: (random) => {
      const value = random.chance(0.7) ? random.below(12) - 4 : random.pick([0.5, -2.25, 1e21, -0, 2 ** 53]);
      return { value, text: String(value), json: value + 0 };
    },
  },
  boolean: {
    type: Boolean,
    values: (random) => {
      const value = random.chance(0.5);
      return { value, text: String(value), json: Number(value) };
    },
  },
  date: {
    type: Date,
    values: (random) => {
      const time = random.pick([-1, 0, 1, 999, 86_400_000, 1_700_000_000_000]) + random.below(3);
      const value = new Date(time);
      return { value: random.chance(0.5) ? value : value.toISOString(), text: value.toISOString(), json: time };
    },
  },
  bigint: {
    type: BigInt,
    values: (random) => {
      const value =
        random.pick([0n, 1n, -7n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 62n), 2n ** 62n + 3n]) + BigInt(random.below(2));
      return { value, text: String(value), json: value };
    },
  },
  own: {
    // A version such as v3 or v03, which are equal.
    type: {
      compare: (a: string, b: string) => Number(a.slice(1)) - Number(b.slice(1)),
      parse: (text: string) => (/^v\d+$/.test(text) ? text : fail(text)),
      format: (key: string) => `v${Number(key.slice(1))}`,
    },
    values: (random) => {
      const number = random.below(15);
      const value = `v${random.chance(0.3) ? '0' : ''}${number}`;
      return { value, text: value, json: number };
    },
  },
};

function fail(text: string): never {
  throw new TypeError(`expected a version, got ${text}`);
}

interface RandomField {
  readonly name: string;
  readonly kind: Kind;
  readonly codec: KeyCodec;
  readonly multi: boolean;
}

/** SQL over the row `o` and its parameters. */
export interface Sql {
  readonly text: string;
  readonly params: readonly (string | number | bigint)[];
}

export interface RandomObject {
  readonly entry: IndexEntry;
  /** The oracle's JSON. */
  readonly json: string;
}

export interface RandomQuery {
  readonly where: Condition;
  readonly sort: readonly SortTerm[];
  readonly names?: ReadonlySet<string>;
  readonly sqlWhere: Sql;
  readonly sqlOrder: string;
}

const labelKeys = ['env', 'team', 'constructor', 'x.example.com/a'];
const labelValues = ['', 'a', 'b', 'c-1', 'D.e_f'];

export class RandomModel {
  readonly definitions: readonly IndexDefinition[];
  readonly #random: Random;
  readonly #fields: readonly RandomField[];
  /** Of each field the values to choose from: few make long runs. */
  readonly #pools: readonly (readonly Value[])[];
  readonly #names: number;
  /** Objects made before the last that can have this label, and before the field gets the next value of its pool. */
  readonly #labelEnds: ReadonlyMap<string, number>;
  readonly #stretches: readonly number[];
  #objects = 0;

  constructor(random: Random, names: number) {
    this.#random = random;
    this.#names = names;
    this.#fields = Array.from({ length: 1 + random.below(5) }, (_, i) => {
      const kind = kinds[random.pick(Object.keys(kinds))]!;
      return { name: `spec.f${i}`, kind, codec: codecOf(kind.type), multi: random.chance(0.4) };
    });
    this.#pools = this.#fields.map(({ kind }) =>
      Array.from({ length: random.pick([1, 2, 5, 20, 200]) }, () => kind.values(random)),
    );
    // Objects made together are alike: so that a set ends long before the last object, or has a single stretch of them.
    const end = () => (random.chance(0.6) ? Number.POSITIVE_INFINITY : random.below(names));
    this.#labelEnds = new Map(labelKeys.map((key) => [key, end()]));
    this.#stretches = this.#fields.map(() => (random.chance(0.8) ? 0 : 1 + random.below(names)));
    this.definitions = this.#fields.map(({ name, codec, multi }) => ({
      name,
      codec,
      multi,
      unique: random.chance(0.3),
      nullable: true,
      order: random.chance(0.5) ? 'ASC' : 'DESC',
      indexFunc: () => undefined,
    }));
  }

  name(): string {
    const number = this.#random.below(this.#names);
    return number % 3 === 0 ? `o-${number}` : number.toString(36);
  }

  object(name: string): RandomObject {
    const random = this.#random;
    const labels: Record<string, string> = {};
    const before = this.#objects++;
    for (const [key, end] of this.#labelEnds) {
      if (before < end && random.chance(0.4)) labels[key] = random.pick(labelValues);
    }
    const created = 1_600_000_000_000 + random.below(20) * 1000;
    const deleted = random.chance(0.15) ? created + random.below(5) : null;
    const members: string[] = [`"labels":${JSON.stringify(labels)}`, `"created":${created}`, `"deleted":${deleted}`];
    const keys = this.#fields.map(({ codec, multi }, i) => {
      const count = random.chance(0.25) ? 0 : multi ? 1 + random.below(4) : 1;
      const pool = this.#pools[i]!;
      const stretch = this.#stretches[i]!;
      const common = stretch === 0 ? undefined : pool[Math.floor(before / stretch) % pool.length]!;
      const values = Array.from({ length: count }, () => common ?? random.pick(pool));
      const distinct: unknown[] = [];
      for (const { value } of values) {
        const key = codec.key(value);
        if (!distinct.some((other) => codec.compare(other, key) === 0)) distinct.push(key);
      }
      const json = values.map((value) =>
        typeof value.json === 'bigint' ? String(value.json) : JSON.stringify(value.json),
      );
      members.push(`"f${i}":${multi ? `[${json.join(',')}]` : (json[0] ?? 'null')}`);
      return distinct;
    });
    return { entry: { name, created, deleted, labels, keys }, json: `{${members.join(',')}}` };
  }

  query(): RandomQuery {
    const random = this.#random;
    const parts: { where: Condition; sql: Sql }[] = [];
    if (random.chance(0.85)) parts.push(this.#condition(random.below(4)));
    if (random.chance(0.3)) parts.push(this.#selector());
    if (random.chance(0.2)) parts.push(...this.#sets());
    const names = random.chance(0.08)
      ? new Set(Array.from({ length: random.below(12) }, () => this.name()))
      : undefined;
    const sqls = parts.map((part) => part.sql);
    if (names) sqls.push({ text: `name IN (${[...names].map(() => '?').join(',')})`, params: [...names] });
    const { sort, order } = this.#sort();
    const where = Queries.and(...parts.map((part) => part.where));
    return { where, sort, names, sqlWhere: joined('AND', sqls, '1'), sqlOrder: order };
  }

  #sort(): { sort: SortTerm[]; order: string } {
    const random = this.#random;
    const sort: SortTerm[] = [];
    const order: string[] = [];
    for (let i = random.pick([0, 1, 1, 1, 2, 2, 3]); i > 0; i--) {
      const { name, multi, column, order: own } = this.#field();
      if (sort.some((term) => term.field === name)) continue;
      const direction = random.pick(['asc', 'desc', undefined] as const);
      const descending = direction === 'desc' || (direction === undefined && own === 'DESC');
      sort.push({ field: name, direction });
      const value = multi ? `(SELECT ${descending ? 'max' : 'min'}(value) FROM json_each(doc, '${column}'))` : column;
      order.push(`${value} ${descending ? 'DESC' : 'ASC'}`);
    }
    if (order.length === 0) order.push(`json_extract(doc, '$.created') DESC`);
    return { sort, order: [...order, 'name ASC'].join(', ') };
  }

  /** Any field, the built-in ones too; `column` is a JSON path for a multi-value field, else an expression. */
  #field(): { name: string; codec: KeyCodec; multi: boolean; column: string; order: string; value: () => Value } {
    const random = this.#random;
    const date = codecOf(Date);
    switch (random.below(12)) {
      case 0: {
        const value = () => {
          const name = this.name();
          return { value: name, text: name, json: name };
        };
        return { name: 'metadata.name', codec: codecOf(String), multi: false, column: 'name', order: 'ASC', value };
      }
      case 1:
      case 2: {
        const path = random.chance(0.5) ? 'created' : 'deleted';
        const value = () => {
          const time = 1_600_000_000_000 + random.below(20) * 1000 + random.below(2);
          return { value: new Date(time), text: new Date(time).toISOString(), json: time };
        };
        const name = path === 'created' ? 'metadata.creationTimestamp' : 'metadata.deletionTimestamp';
        return { name, codec: date, multi: false, column: `json_extract(doc, '$.${path}')`, order: 'ASC', value };
      }
      default: {
        const i = random.below(this.#fields.length);
        const { name, codec, multi, kind } = this.#fields[i]!;
        const value = () => (random.chance(0.85) ? random.pick(this.#pools[i]!) : kind.values(random));
        const column = multi ? `$.f${i}` : `json_extract(doc, '$.f${i}')`;
        return { name, codec, multi, column, order: this.definitions[i]!.order, value };
      }
    }
  }

  #condition(depth: number): { where: Condition; sql: Sql } {
    const random = this.#random;
    if (depth > 0 && random.chance(0.6)) {
      if (random.chance(0.2)) {
        const { where, sql } = this.#condition(depth - 1);
        return { where: random.chance(0.5) ? where.not() : Queries.not(where), sql: negated(sql) };
      }
      const and = random.chance(0.6);
      const parts = Array.from({ length: random.below(4) }, () => this.#condition(depth - 1));
      const conditions = parts.map((part) => part.where);
      const sqls = parts.map((part) => part.sql);
      const where = and ? Queries.and(...conditions) : Queries.or(...conditions);
      return { where, sql: joined(and ? 'AND' : 'OR', sqls, and ? '1' : '0') };
    }
    if (random.chance(0.2)) return this.#labelCondition();
    return this.#fieldCondition();
  }

  /** Conditions of which the index may have sets already, some of them negated: what a conjunction does with bitmaps. */
  #sets(): { where: Condition; sql: Sql }[] {
    const random = this.#random;
    return Array.from({ length: 2 + random.below(4) }, () => {
      const one = random.chance(0.6) ? this.#labelCondition() : this.#fieldCondition();
      return random.chance(0.3) ? { where: one.where.not(), sql: negated(one.sql) } : one;
    });
  }

  #labelCondition(): { where: Condition; sql: Sql } {
    const random = this.#random;
    const key = random.pick([...labelKeys, 'absent', 'toString']);
    switch (random.below(3)) {
      case 0: {
        const value = random.pick(labelValues);
        return { where: Queries.labelEqual(key, value), sql: labelSql(key, [value]) };
      }
      case 1: {
        const values = Array.from({ length: random.below(4) }, () => random.pick(labelValues));
        return { where: Queries.labelIn(key, values), sql: labelSql(key, values) };
      }
      default:
        return { where: Queries.labelExists(key), sql: labelSql(key) };
    }
  }

  #fieldCondition(): { where: Condition; sql: Sql } {
    const random = this.#random;
    const field = this.#field();
    const { name, codec, value } = field;
    const a = value();
    const b = value();
    switch (random.below(codec.type === 'string' ? 12 : 9)) {
      case 0:
        return { where: Queries.equal(name, a.value), sql: some(field, 'v = ?', [a.json]) };
      case 1:
        return { where: Queries.notEqual(name, a.value), sql: negated(some(field, 'v = ?', [a.json])) };
      case 2:
      case 3: {
        const values = Array.from({ length: random.pick([0, 1, 2, 5, 40]) }, value);
        const list = values.map(() => '?').join(',');
        const sql = some(
          field,
          `v IN (${list})`,
          values.map((one) => one.json),
        );
        const given = values.map((one) => one.value);
        return random.chance(0.7)
          ? { where: Queries.in(name, given), sql }
          : { where: Queries.notIn(name, given), sql: negated(sql) };
      }
      case 4: {
        const inclusive = { from: random.chance(0.5), to: random.chance(0.5) };
        const text = `v >${inclusive.from ? '=' : ''} ? AND v <${inclusive.to ? '=' : ''} ?`;
        return { where: Queries.between(name, a.value, b.value, inclusive), sql: some(field, text, [a.json, b.json]) };
      }
      case 5: {
        const inclusive = random.chance(0.5);
        return {
          where: Queries.lessThan(name, a.value, inclusive),
          sql: some(field, `v <${inclusive ? '=' : ''} ?`, [a.json]),
        };
      }
      case 6: {
        const inclusive = random.chance(0.5);
        const sql = some(field, `v >${inclusive ? '=' : ''} ?`, [a.json]);
        return { where: Queries.greaterThan(name, a.value, inclusive), sql };
      }
      case 7:
        return { where: Queries.isNull(name), sql: negated(some(field, '1', [])) };
      case 8:
        return { where: Queries.isNotNull(name), sql: some(field, '1', []) };
      default: {
        const { op, text, sql } = this.#text(a);
        return { where: Queries[op](name, text), sql: some(field, ...sql) };
      }
    }
  }

  /** A text condition with a part of a value, in whole characters. */
  #text(value: Value): { op: 'startsWith' | 'endsWith' | 'contains'; text: string; sql: [string, string[]] } {
    const random = this.#random;
    const characters = [...(random.chance(0.2) ? random.pick(letters) : value.text)];
    const from = random.below(characters.length + 1);
    const text = (random.chance(0.5) ? characters.slice(from) : characters.slice(0, from)).join('');
    switch (random.below(3)) {
      case 0:
        return { op: 'startsWith', text, sql: ['substr(v, 1, length(?)) = ?', [text, text]] };
      case 1:
        return { op: 'endsWith', text, sql: ["(? = '' OR substr(v, -length(?)) = ?)", [text, text, text]] };
      default:
        return { op: 'contains', text, sql: ["(? = '' OR instr(v, ?) > 0)", [text, text]] };
    }
  }

  /** The text of a selector and what it means. */
  #selector(): { where: Condition; sql: Sql } {
    const random = this.#random;
    const terms = Array.from({ length: random.below(4) }, () =>
      random.chance(0.3) ? this.#labelTerm() : this.#fieldTerm(),
    );
    const space = () => ' '.repeat(random.chance(0.2) ? 1 : 0);
    const text = (kind: 'label' | 'field') =>
      terms
        .filter((term) => term.kind === kind)
        .map((term) => `${space()}${term.text}${space()}`)
        .join(',');
    const where = parseLabelSelector(text('label')).and(parseFieldSelector(text('field')));
    return {
      where,
      sql: joined(
        'AND',
        terms.map((term) => term.sql),
        '1',
      ),
    };
  }

  #labelTerm(): { kind: 'label'; text: string; sql: Sql } {
    const random = this.#random;
    const key = random.pick(labelKeys);
    const values = Array.from({ length: 1 + random.below(3) }, () => random.pick(labelValues));
    const [value] = values as [string];
    const list = `(${values.join(', ')})`;
    const kind = 'label';
    // A list of one empty value must be quoted: `()` is an error.
    const safe = list === '()' ? '("")' : list;
    const one = labelSql(key, [value]);
    const any = labelSql(key, values);
    return random.pick([
      { kind, text: `${key}=${value}`, sql: one },
      { kind, text: `${key} == "${value}"`, sql: one },
      { kind, text: `${key}!=${value}`, sql: negated(one) },
      { kind, text: `${key}=${safe}`, sql: any },
      { kind, text: `${key}!=${safe}`, sql: negated(any) },
      { kind, text: `${key} in ${safe}`, sql: any },
      { kind, text: `${key} notin${safe}`, sql: negated(any) },
      { kind, text: key, sql: labelSql(key) },
      { kind, text: `!${key}`, sql: negated(labelSql(key)) },
    ]);
  }

  #fieldTerm(): { kind: 'field'; text: string; sql: Sql } {
    const random = this.#random;
    const field = this.#field();
    const name = field.name === 'metadata.name' && random.chance(0.5) ? 'name' : field.name;
    const values = Array.from({ length: 1 + random.below(4) }, field.value);
    const [a] = values as [Value];
    const quote = (value: string) =>
      /^[\w.:+-]+$/.test(value) && random.chance(0.5) ? value : `"${value.replace(/["\\]/g, '\\$&')}"`;
    const list = `(${values.map((one) => quote(one.text)).join(random.pick([',', ' , ']))})`;
    const json = values.map((one) => one.json);
    const any = some(field, `v IN (${json.map(() => '?').join(',')})`, json);
    const one = some(field, 'v = ?', [a.json]);
    const present = some(field, '1', []);
    const kind = 'field';
    if (field.codec.type === 'string' && random.chance(0.4)) {
      const { op, text, sql } = this.#text(a);
      return {
        kind,
        text: `${name}${{ startsWith: '^=', endsWith: '$=', contains: '*=' }[op]}${quote(text)}`,
        sql: some(field, ...sql),
      };
    }
    const comparison = random.pick(['>', '>=', '<', '<=']);
    return random.pick([
      { kind, text: `${name}=${quote(a.text)}`, sql: one },
      { kind, text: `${name}==${quote(a.text)}`, sql: one },
      { kind, text: `${name} != ${quote(a.text)}`, sql: negated(one) },
      { kind, text: `${name}=${list}`, sql: any },
      { kind, text: `${name}!=${list}`, sql: negated(any) },
      { kind, text: `${name} in ${list}`, sql: any },
      { kind, text: `${name} notin ${list}`, sql: negated(any) },
      { kind, text: name, sql: present },
      { kind, text: `!${name}`, sql: negated(present) },
      { kind, text: `${name} ${comparison} ${quote(a.text)}`, sql: some(field, `v ${comparison} ?`, [a.json]) },
    ] as const);
  }
}

/** Some value `v` of the field satisfies this. */
function some(field: { multi: boolean; column: string }, condition: string, params: Sql['params']): Sql {
  const from = field.multi ? `SELECT value AS v FROM json_each(doc, '${field.column}')` : `SELECT ${field.column} AS v`;
  return { text: `EXISTS (SELECT 1 FROM (${from}) WHERE v IS NOT NULL AND (${condition}))`, params };
}

function labelSql(key: string, values?: readonly string[]): Sql {
  const value = `json_extract(doc, '$.labels."${key}"')`;
  if (!values) return { text: `${value} IS NOT NULL`, params: [] };
  return { text: `COALESCE(${value} IN (${values.map(() => '?').join(',')}), 0)`, params: values };
}

function negated({ text, params }: Sql): Sql {
  return { text: `NOT (${text})`, params };
}

function joined(operator: 'AND' | 'OR', parts: readonly Sql[], empty: string): Sql {
  if (parts.length === 0) return { text: empty, params: [] };
  return {
    text: parts.map((part) => `(${part.text})`).join(` ${operator} `),
    params: parts.flatMap((part) => part.params),
  };
}
