/**
 * Definitions as the source of a plugin that declares the same models. What a declared model cannot say as a definition
 * does is left out or changed; a comment at the place, and a note, say so.
 */

import { rulesKeyword } from '../../cel/rule-compiler.ts';
import { compileRules } from '../../cel/rules.ts';
import { unescapeToken } from '../../errors.ts';
import { atOnce } from '../../runtime/parts.ts';
import { formats } from '../../schema/formats.ts';
import { isEqual } from '../../schema/json-value.ts';
import type { SchemaObject } from '../../schema/keywords.ts';
import { isObject, listKeywords, mapKeywords, schemaKeywords } from '../../schema/keywords.ts';
import { nodeLoader } from '../../schema/node-loader.ts';
import { compilePattern, PatternError } from '../../schema/pattern.ts';
import { kubernetesFormats } from './formats.ts';
import type { Wanted } from './indexes.ts';
import { plainOrPicking, wantedIndexes } from './indexes.ts';
import type { DefinitionObject, DefinitionVersion } from './kind.ts';
import { columnsOf, deprecationOf, readVersion, storageVersionOf } from './model.ts';
import { DefinitionMistakes, FieldPath } from './path.ts';
import { ecmaPattern } from './pattern.ts';
import type { Structural } from './structural-type.ts';
import { Code, print } from './typescript.ts';

export interface PluginSource {
  /** TypeScript. */
  readonly text: string;
  /** By definition, what is not carried over and where. */
  readonly notes: readonly (readonly string[])[];
}

type Members = Record<string, unknown>;

/** @param definitions accepted ones, each of a resource of its own */
export function pluginSource(definitions: readonly DefinitionObject[], reservedDomain: string): PluginSource {
  const taken = new Set<string>(['Boolean', 'Date', 'Number', 'String']);
  const models = definitions.map((definition) =>
    modelSource(definition, identifierFor(definition, taken), reservedDomain),
  );
  const used = (name: string): boolean => models.some(({ text }) => text.includes(`${name}(`));
  const helpers = Object.entries(readers).filter(([name]) => used(name));
  const parts = [
    "import { defineModel, definePlugin } from 'kindred';",
    ...(helpers.length > 0
      ? [`// A value that is no key of its index is not in it.\n${helpers.map(([, code]) => code).join('\n')}`]
      : []),
    ...models.map(({ text }) => text),
    `export default definePlugin({
  start({ schemeManager }) {
${models.map(({ name }) => `    schemeManager.register(${name});`).join('\n')}
  },
});`,
  ];
  return { text: `${parts.join('\n\n')}\n`, notes: models.map(({ notes }) => notes) };
}

const readers = {
  textIn: `const textIn = (value: unknown) => (typeof value === 'string' && value.length <= 1_024 ? value : undefined);`,
  numberIn: `const numberIn = (value: unknown) => (typeof value === 'number' ? value : undefined);`,
  flagIn: `const flagIn = (value: unknown) => (typeof value === 'boolean' ? value : undefined);`,
  timeIn: `const instant = /^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?(?:Z|[+-]\\d\\d:\\d\\d)$/;
const timeIn = (value: unknown) =>
  typeof value === 'string' && instant.test(value) && !Number.isNaN(Date.parse(value)) ? value : undefined;`,
} as const;

const keys = {
  string: ['String', 'textIn'],
  number: ['Number', 'numberIn'],
  integer: ['Number', 'numberIn'],
  boolean: ['Boolean', 'flagIn'],
  date: ['Date', 'timeIn'],
} as const satisfies Record<Wanted['type'], readonly [string, keyof typeof readers]>;

function identifierFor({ spec: { names } }: DefinitionObject, taken: Set<string>): string {
  const kind = names.kind.replace(/[^A-Za-z0-9]/g, '');
  const base = `${kind[0]!.toUpperCase()}${kind.slice(1)}`;
  let name = base;
  for (let i = 2; taken.has(name); i++) name = `${base}${i}`;
  taken.add(name);
  return name;
}

function modelSource(
  definition: DefinitionObject,
  name: string,
  reservedDomain: string,
): { name: string; text: string; notes: string[] } {
  const { group, names, scope, versions, conversion } = definition.spec;
  const version = storageVersionOf(definition);
  const carrier = new Carrier();
  const { schema, structural } = schemaSource(carrier, version, version, 'schema');
  const { status, scale } = version.subresources ?? {};
  const others: Members = {};
  if (version.deprecated || !version.served) others[version.name] = stateOf(definition, version);
  for (const one of versions) {
    if (one === version || !one.served) continue;
    const place = `versions.${one.name}`;
    const other: Members = {
      ...stateOf(definition, one),
      ...(one.additionalPrinterColumns?.length && { columns: columnsOf(one) }),
      ...(one.subresources?.scale && { scale: one.subresources.scale }),
      schema: schemaSource(carrier, one, version, `${place}.schema`).schema,
    };
    if (!isEqual(other.schema, schema))
      carrier.say(other, place, 'an object is shown with all its members, also those that this version does not know');
    others[one.name] = other;
  }
  const declaration: Members = {
    gvk: {
      group,
      version: version.name,
      kind: names.kind,
      singular: names.singular ?? names.kind.toLowerCase(),
      plural: names.plural,
    },
    ...(scope === 'Namespaced' && { scope }),
    naming: 'kubernetes',
    ...(names.shortNames?.length && { shortNames: names.shortNames }),
    ...(names.categories?.length && { categories: names.categories }),
    ...((status || scale) && { subresources: { ...(status && { status: true }), ...(scale && { scale }) } }),
    ...(version.additionalPrinterColumns?.length && { columns: columnsOf(version) }),
    schema,
    ...(Object.keys(others).length > 0 && { versions: others }),
  };
  if (conversion?.strategy === 'Webhook') carrier.note(declaration, 'conversion', 'the conversion webhook');
  if (names.listKind !== undefined && names.listKind !== `${names.kind}List`) {
    carrier.note(declaration, 'names.listKind', `the kind of lists, ${names.listKind}`);
  }
  const indexes = indexList(wantedIndexes(definition, version, structural, reservedDomain), declaration, carrier);
  if (indexes.length > 0) declaration.indexes = new Code(`(index) => [\n    ${indexes.join(',\n    ')},\n  ]`);
  const text = `export const ${name} = defineModel(${print(declaration, carrier.comments)});`;
  return { name, text, notes: carrier.notes };
}

/** @param hub the version in which objects are stored, which says whether there is a sub-resource `status` */
function schemaSource(carrier: Carrier, version: DefinitionVersion, hub: DefinitionVersion, place: string) {
  const mistakes = new DefinitionMistakes();
  const { schemas, content, metadata, structural } = atOnce(readVersion(version, FieldPath.of('schema'), mistakes));
  mistakes.refuse();
  const schema = carrier.schema(content, new Map([...schemas].map(([node, one]) => [one, node])), place);
  const properties = (schema.properties ?? {}) as Members;
  if (hub.subresources?.status && !Object.hasOwn(properties, 'status')) {
    schema.properties = { ...properties, status: { type: 'object', additionalProperties: false } };
  }
  carrier.checkRules(schema, place);
  if (metadata) carrier.note(schema, `${place}.metadata`, `rules for metadata: ${JSON.stringify(metadata)}`);
  return { schema, structural };
}

/** What clients of a version are told. */
function stateOf(definition: DefinitionObject, version: DefinitionVersion): Members {
  const deprecated = deprecationOf(definition, version);
  return { ...(!version.served && { served: false }), ...(deprecated !== undefined && { deprecated }) };
}

function indexList(wanted: readonly Wanted[], declaration: object, carrier: Carrier): string[] {
  return wanted.flatMap(({ name, path, type, unique, multi, order }) => {
    const [keyType, reader] = keys[type];
    const value = valueAt(path);
    if (value === undefined) {
      carrier.note(declaration, 'indexes', `the index ${name} of ${path}`);
      return [];
    }
    const of = multi ? `[${value}].flat().flatMap((one) => ${reader}(one) ?? [])` : `${reader}(${value})`;
    const options = [...(unique ? ['unique: true'] : []), ...(order === 'DESC' ? ["order: 'DESC'"] : [])];
    const more = options.length > 0 ? `, { ${options.join(', ')} }` : '';
    const call = `index.${multi ? 'multi' : 'single'}(`;
    const line = `${call}${print(name)}, ${keyType}, (object) => ${of}${more})`;
    if (line.length < 115) return [line];
    const lines = [print(name), keyType, `(object) => ${of}`, ...(more === '' ? [] : [more.slice(2)])];
    return [`${call}\n${lines.map((one) => `      ${one},\n`).join('')}    )`];
  });
}

/** `.spec.names` of `object`, in TypeScript. */
function valueAt(path: string): string | undefined {
  const found = plainOrPicking(path);
  if (!found) return undefined;
  const below = (from: string, members: string): string =>
    members
      .split('.')
      .slice(1)
      .reduce((value, member, i) => {
        const isFirst = i === 0 && from === 'object';
        const access = /^[A-Za-z_]\w*$/.test(member) ? member : `[${print(member)}]`;
        if (access !== member) return `${value}${isFirst ? '' : '?.'}${access}`;
        return `${value}${isFirst ? '.' : '?.'}${member}`;
      }, from);
  if (found.pick === undefined) return below('object', found.path);
  const { by, value, rest } = found.pick;
  const test = `${below('one', by)} === ${print(value)}`;
  const shape = by
    .split('.')
    .slice(1)
    .reduceRight((inner, member) => `{ ${print(member)}?: ${inner} }`, 'unknown');
  return below(`${below('object', found.path)}?.find((one: ${shape}) => ${test})`, rest);
}

/** Copies a schema as far as declared models have the same. */
class Carrier {
  readonly notes: string[] = [];
  /** What stands above the members of an object. */
  readonly comments = new Map<object, string[]>();

  note(target: object, place: string, text: string): void {
    this.say(target, place, `not carried over: ${text}`);
  }

  say(target: object, place: string, text: string): void {
    const line = text.replace(/\s+/g, ' ');
    this.notes.push(`${place}: ${line}`);
    this.comments.set(target, [
      ...(this.comments.get(target) ?? []),
      `${line[0]!.toUpperCase()}${line.slice(1).trimEnd()}.`,
    ]);
  }

  schema(given: SchemaObject, nodes: ReadonlyMap<SchemaObject, Structural>, place: string): Members {
    const out: Members = {};
    const below = (one: unknown, at: string): unknown => (isObject(one) ? this.schema(one, nodes, at) : one);
    const { title, type, description, ...others } = given;
    for (const [keyword, value] of Object.entries({ title, type, description, ...others })) {
      if (value === undefined) continue;
      const at = `${place}.${keyword}`;
      if (schemaKeywords.includes(keyword)) out[keyword] = below(value, at);
      else if (listKeywords.includes(keyword)) {
        out[keyword] = (value as unknown[]).map((one, i) => below(one, `${at}[${i}]`));
      } else if (mapKeywords.includes(keyword)) {
        const members = Object.entries(value as object).map(([name, one]) => [name, below(one, `${place}.${name}`)]);
        out[keyword] = Object.fromEntries(members);
      } else if (keyword === 'required') out[keyword] = [...new Set(value as string[])];
      else if (keyword === 'pattern') this.#pattern(out, value as string, place);
      else if (keyword === 'format') this.#format(out, value as string, place);
      else if (!dropped.has(keyword)) out[keyword] = value;
    }
    const node = nodes.get(given);
    if (node) this.#openness(out, node, place);
    return out;
  }

  #openness(out: Members, { preserves, isEmbedded, type, properties, additional }: Structural, place: string): void {
    if (preserves && additional === undefined) out.additionalProperties = true;
    else if (type === 'object' && properties.size === 0 && additional === undefined && !isEmbedded) {
      out.additionalProperties = false;
    }
    if (!isEmbedded) return;
    const text = { type: 'string', minLength: 1 };
    const own = { apiVersion: text, kind: text, metadata: { type: 'object', additionalProperties: true } };
    out.properties = { ...own, ...(out.properties as object | undefined) };
    out.required = [...new Set(['apiVersion', 'kind', ...((out.required as string[] | undefined) ?? [])])];
    this.note(out, place, 'the rules of Kubernetes for the metadata of an embedded object');
  }

  /** Patterns of RE2 as ECMA 262 says the same. */
  #pattern(out: Members, source: string, place: string): void {
    const same = ecmaPattern(source);
    try {
      if (same !== undefined) {
        compilePattern(same, nodeLoader.linearEngine);
        out.pattern = same;
        return;
      }
    } catch (error) {
      if (!(error instanceof PatternError)) throw error;
    }
    this.note(out, place, `the pattern ${source}, which JavaScript does not read alike`);
  }

  #format(out: Members, name: string, place: string): void {
    if (kubernetesFormats.get(name) === formats.get(name)) out.format = name;
    else if (alike.has(name)) {
      out.format = name;
      this.say(out, place, `the format ${name} is that of JSON Schema, which differs in rare cases`);
    } else this.note(out, place, `the format ${name}, which declared models do not check alike`);
  }

  /** Leaves out the rules that a declared model would refuse. @param schema as it is carried over, which is changed. @param at its place */
  checkRules(schema: Members, at: string): void {
    const refused = new Set<unknown>();
    const holders = new Set<Members>();
    for (const { path, message } of compileRules(schema, { isObject: true, isDeclared: true }).problems) {
      const tokens = path.split('/').slice(1).map(unescapeToken);
      const end = tokens.indexOf(rulesKeyword);
      const holder = tokens.slice(0, end).reduce<Members>((at, token) => at[token] as Members, schema);
      const rule = (holder[rulesKeyword] as { rule: string; message?: string }[])[Number(tokens[end + 1])]!;
      if (refused.has(rule)) continue;
      refused.add(rule);
      holders.add(holder);
      const place = [at, ...tokens.slice(0, end).filter((token) => token !== 'properties')].join('.');
      const told = rule.message === undefined ? '' : ` (${rule.message})`;
      this.note(holder, place, `the CEL rule ${rule.rule}${told}, because ${message}`);
    }
    for (const holder of holders) {
      const kept = (holder[rulesKeyword] as unknown[]).filter((rule) => !refused.has(rule));
      if (kept.length > 0) holder[rulesKeyword] = kept;
      else delete holder[rulesKeyword];
    }
  }
}

/** Formats that mean nearly the same to both. */
const alike = new Set(['date', 'date-time', 'ipv4', 'ipv6']);

/** Said in other words: `additionalProperties`, `properties`. */
const dropped = new Set(['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-embedded-resource']);
