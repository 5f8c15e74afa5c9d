import { Command } from 'commander';
import type { KindredClient } from '../client/client.ts';
import { KindredError } from '../client/client.ts';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import type { Io } from './io.ts';
import { write } from './io.ts';
import { nearest } from './nearest.ts';
import type { ResourceType } from './types.ts';
import { Types } from './types.ts';

interface Flags extends ConnectionFlags {
  recursive?: boolean;
}

/** The members of a JSON Schema that are shown. */
interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema | boolean;
  additionalProperties?: Schema | boolean;
  patternProperties?: Record<string, Schema>;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  'x-kubernetes-validations'?: { rule: string; message?: string }[];
  [keyword: string]: unknown;
}

interface ApiDescription {
  paths: Record<
    string,
    Record<string, { responses?: Record<string, { content?: Record<string, { schema?: Schema }> }> }>
  >;
  components: { schemas: Record<string, Schema> };
}

export function explainCommand(io: Io): Command {
  const command = new Command('explain')
    .description('describe a type, or a member of it, as its schema says')
    .argument('<type>', 'TYPE, or TYPE.MEMBER.MEMBER…; TYPE: plural, plural.group or plural.version.group')
    .option('--recursive', 'all members at every depth, by name and type')
    .addHelpText('after', '\nFor example: kindred explain cities.spec.location')
    .action(async (text: string, flags: Flags) => {
      const client = connect(flags, io);
      const { type, path } = await new Types(client).resolvePath(text);
      const explained = await explanation(client, type);
      await write(io.stdout, explained.text(path, flags.recursive ?? false));
    });
  return withConnection(command, io);
}

async function explanation(client: KindredClient, { model, label }: ResourceType): Promise<Explanation> {
  const { group, version, kind, plural } = model.gvk;
  const description = await client.request<ApiDescription>('GET', '/v3/api-docs/apis_extension.api_v1alpha1');
  const path = `${group === '' ? '/api' : `/apis/${group}`}/${version}/${plural}`;
  const answered = (at: string): Schema[] =>
    Object.values(description.paths[at] ?? {})
      .flatMap(({ responses = {} }) => [responses['200'], responses['201']])
      .map((response) => response?.content?.['application/json']?.schema)
      .filter((schema) => schema !== undefined);
  const schemas = description.components.schemas;
  const list = answered(path).find(({ $ref }) => $ref?.endsWith('.list'))?.$ref;
  const items = list === undefined ? undefined : schemas[nameOf(list)]?.properties?.items?.items;
  const own = answered(`${path}/{name}`)[0] ?? items ?? answered(path)[0];
  if (typeof own !== 'object' || own === null) {
    throw new KindredError('NotFound', {
      en: `The API description of the service has no ${label} that you may use`,
      zh: `服务的 API 描述中没有您可以使用的 ${label}`,
    });
  }
  return new Explanation({ group, version, kind, label }, own, schemas);
}

function nameOf(reference: string): string {
  return decodeURIComponent(reference.slice(reference.lastIndexOf('/') + 1));
}

/** Rules of a value, in the order in which they are shown. */
const rules = [
  'default',
  'const',
  'format',
  'pattern',
  'minimum',
  'exclusiveMinimum',
  'maximum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
];

class Explanation {
  readonly #model: { group: string; version: string; kind: string; label: string };
  readonly #root: Schema;
  readonly #schemas: Readonly<Record<string, Schema>>;

  constructor(
    model: { group: string; version: string; kind: string; label: string },
    root: Schema,
    schemas: Readonly<Record<string, Schema>>,
  ) {
    this.#model = model;
    this.#root = root;
    this.#schemas = schemas;
  }

  text(path: readonly string[], recursive: boolean): string {
    const { group, version, kind } = this.#model;
    const schema = this.#at(path);
    const heads = [
      ...(group === '' ? [] : [`GROUP:      ${group}\n`]),
      `KIND:       ${kind}\nVERSION:    ${version}\n`,
      ...(path.length > 0 ? [`\nFIELD: ${path.at(-1)} ${this.#typeOf(schema)}\n`] : []),
    ];
    const about = this.#about(schema, '    ');
    const description = `\nDESCRIPTION:\n${about || '    <empty>\n'}`;
    const members = this.#members(schema, recursive ? new Set() : undefined, '  ');
    return heads.join('') + description + (members && `\nFIELDS:\n${members}`);
  }

  /** @throws NotFound for a name that no member has */
  #at(path: readonly string[]): Schema {
    let schema = this.#resolved(this.#root);
    for (const [i, name] of path.entries()) {
      const inner = this.#inside(schema);
      const next = inner.properties?.[name] ?? mapped(inner);
      if (next === undefined) {
        const names = Object.keys(inner.properties ?? {});
        const close = nearest(name, names);
        const place = [this.#model.label, ...path.slice(0, i)].join('.');
        const known = names.length > 0 ? `; it has ${names.join(', ')}` : '';
        throw new KindredError('NotFound', {
          en: `${place} has no member "${name}"${close === undefined ? '' : `, did you mean ${close}?`}${known}`,
          zh: `${place} 没有成员 "${name}"${close === undefined ? '' : `；是否是 ${close}？`}`,
        });
      }
      schema = this.#resolved(next);
    }
    return schema;
  }

  /** With what it refers to, and all of `allOf`, as one. */
  #resolved(schema: Schema, seen: ReadonlySet<string> = new Set()): Schema {
    const { $ref, allOf = [], ...own } = schema;
    const parts = $ref === undefined || seen.has($ref) ? [] : [this.#schemas[nameOf($ref)] ?? {}];
    const known = $ref === undefined ? seen : new Set([...seen, $ref]);
    let merged: Schema = {};
    for (const part of [...parts, ...allOf].map((one) => this.#resolved(one, known))) merged = joined(merged, part);
    return joined(merged, own);
  }

  /** The objects that a list, or a list of lists, holds. */
  #inside(schema: Schema): Schema {
    return typeof schema.items === 'object' && !schema.properties ? this.#inside(this.#resolved(schema.items)) : schema;
  }

  #typeOf(schema: Schema): string {
    return `<${this.#typeName(schema)}>`;
  }

  #typeName(given: Schema): string {
    const schema = this.#resolved(given);
    const choices = schema.anyOf ?? schema.oneOf;
    if (schema.type === undefined && choices) {
      return [...new Set(choices.map((one) => this.#typeName(one)))].join('|');
    }
    const types = [schema.type ?? [...new Set((schema.enum ?? [schema.const]).map(typeName))]].flat();
    return types.map((type) => this.#oneType(type, schema)).join('|');
  }

  #oneType(type: string, schema: Schema): string {
    if (type === 'array') return `[]${typeof schema.items === 'object' ? this.#typeName(schema.items) : 'any'}`;
    if (type !== 'object') return type;
    const value = schema.properties ? undefined : mapped(schema);
    return value ? `map[string]${this.#typeName(value)}` : 'Object';
  }

  /** The description and the rules of a value. */
  #about(schema: Schema, indent: string): string {
    const lines = schema.description ? schema.description.trim().split(/\s*\n\s*/) : [];
    if (schema.enum) lines.push(`enum: ${schema.enum.map(String).join(', ')}`);
    const known = rules.filter((rule) => schema[rule] !== undefined);
    for (const { rule, message } of schema['x-kubernetes-validations'] ?? []) {
      lines.push(`rule: ${rule.trim().replace(/\s+/g, ' ')}${message === undefined ? '' : ` (${message.trim()})`}`);
    }
    if (known.length > 0) lines.push(known.map((rule) => `${rule}: ${textOf(schema[rule])}`).join(', '));
    return lines.map((line) => `${indent}${line}\n`).join('');
  }

  /** @param recursive the schemas around these members: one that holds itself is not gone into again; undefined for one level */
  #members(given: Schema, recursive: ReadonlySet<string> | undefined, indent: string): string {
    const schema = this.#inside(given);
    const { properties = {}, required = [] } = schema;
    return Object.entries(properties)
      .map(([name, value]) => {
        const member = this.#resolved(value);
        const line = `${indent}${name}\t${this.#typeOf(member)}${required.includes(name) ? ' -required-' : ''}\n`;
        if (!recursive) return `${line}${this.#about(member, `${indent}  `)}\n`;
        const references = referencesIn(value);
        if (references.some((one) => recursive.has(one))) return line;
        const inner = member.properties ? member : this.#resolved(mapped(member) ?? member);
        return line + this.#members(inner, new Set([...recursive, ...references]), `${indent}  `);
      })
      .join('')
      .replace(/\n\n$/, '\n');
  }
}

function joined(a: Schema, b: Schema): Schema {
  return {
    ...a,
    ...b,
    ...((a.properties ?? b.properties) && { properties: { ...a.properties, ...b.properties } }),
    ...((a.required ?? b.required) && { required: [...(a.required ?? []), ...(b.required ?? [])] }),
  };
}

/** Of a map: the schema of its values. */
function mapped({ additionalProperties, patternProperties = {} }: Schema): Schema | undefined {
  return typeof additionalProperties === 'object' ? additionalProperties : Object.values(patternProperties)[0];
}

function referencesIn({ $ref, items }: Schema): string[] {
  return [...($ref === undefined ? [] : [$ref]), ...(typeof items === 'object' ? referencesIn(items) : [])];
}

function typeName(value: unknown): string {
  if (value === undefined) return 'any';
  return value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
