/** What a model says about how people see it (docs/reference/declaration.md). It changes nothing that the service does. */

import type { Text } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import { invalidModel, Mistakes } from '../schema/invalid-model.ts';
import { builtInIndexes } from './index-entry.ts';
import { isRecord } from './object.ts';

/** A text, or one for each language: `{ en: 'Book', 'zh-CN': '图书' }`. */
export type DisplayText = string | Readonly<Record<string, string>>;

/** Paths are those of indexes or of members, such as `spec.title`. */
export interface Presentation {
  /** Instead of the kind. */
  title?: DisplayText;
  description?: DisplayText;
  /** Name of an icon. */
  icon?: string;
  /** Of lists, besides the name and the time of creation. */
  columns?: readonly string[];
  /** The member that tells most of an object. */
  summary?: string;
}

const mostColumns = 50;
const longestText = 1_000;
const languageSyntax = /^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/;
const members = ['title', 'description', 'icon', 'columns', 'summary'];

const texts = {
  shape: localized('{model}: "presentation" must be an object with members of {members}; got {value}'),
  unknown: localized('{model}: "presentation" knows no member "{name}"; it knows {members}'),
  text: localized(
    '{model}: "presentation.{name}" must be a text, or an object of texts by language such as { en: "Book" }; got {value}',
  ),
  columns: localized('{model}: "presentation.columns" must be a list of at most {limit} paths; got {value}'),
  plain: localized('{model}: "presentation.{name}" must be a text; got {value}'),
  path: localized(
    '{model}: "presentation.{name}" names "{path}", which is neither an index nor a member of the schema',
  ),
} satisfies Record<string, Text>;

export interface Presented {
  readonly model: string;
  /** Of the whole object. */
  readonly jsonSchema: object;
  readonly indexes: readonly { readonly name: string }[];
}

/** Throws `InvalidModel` with every mistake. */
export function checkPresentation(presentation: unknown, presented: Presented): Presentation | undefined {
  if (presentation === undefined) return undefined;
  const { model } = presented;
  if (!isRecord(presentation)) invalidModel(texts.shape, { model, members: members.join(', '), value: presentation });
  const mistakes = new Mistakes();
  const names = new Set<string>([...builtInIndexes, ...presented.indexes.map(({ name }) => name)]);
  const checkPath = (name: string, path: unknown): void => {
    if (typeof path !== 'string') invalidModel(texts.plain, { model, name, value: path });
    if (!names.has(path) && !hasPath(presented.jsonSchema, path)) invalidModel(texts.path, { model, name, path });
  };
  for (const [name, value] of Object.entries(presentation)) {
    if (value !== undefined) mistakes.in(() => checkMember(model, name, value, checkPath));
  }
  mistakes.throw();
  return Object.freeze(structuredClone(presentation)) as Presentation;
}

function checkMember(
  model: string,
  name: string,
  value: unknown,
  checkPath: (name: string, path: unknown) => void,
): void {
  switch (name) {
    case 'title':
    case 'description':
      if (!isDisplayText(value)) invalidModel(texts.text, { model, name, value });
      return;
    case 'icon':
      if (!isShort(value)) invalidModel(texts.plain, { model, name, value });
      return;
    case 'summary':
      return checkPath(name, value);
    case 'columns':
      if (!Array.isArray(value) || value.length > mostColumns) {
        invalidModel(texts.columns, { model, limit: mostColumns, value });
      }
      value.forEach((path: unknown, i) => {
        checkPath(`columns[${i}]`, path);
      });
      return;
    default:
      invalidModel(texts.unknown, { model, name, members: members.join(', ') });
  }
}

function isShort(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value.length <= longestText;
}

export function isDisplayText(value: unknown): boolean {
  return isShort(value) || isTexts(value);
}

/** By language (BCP 47). */
function isTexts(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const entries = Object.entries(value);
  return entries.length > 0 && entries.every(([language, text]) => languageSyntax.test(language) && isShort(text));
}

/** Whether an object of the schema can have something there. */
function hasPath(schema: object, path: string): boolean {
  const root = schema as SchemaNode;
  const reached = (nodes: readonly unknown[], name: string): unknown[] =>
    nodes.flatMap((node) => below(root, node, name));
  const [first = '', ...rest] = path.split('.');
  return rest.reduce(reached, reached([root], first)).length > 0;
}

interface SchemaNode {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly additionalProperties?: unknown;
  readonly [keyword: string]: unknown;
}

/** Schemas of a member: `true` where anything may stand. */
function below(root: SchemaNode, node: unknown, name: string, seen: readonly unknown[] = []): unknown[] {
  if (node === true) return [true];
  if (!isRecord(node) || seen.includes(node)) return [];
  const { $ref, properties, additionalProperties } = node as SchemaNode;
  const deeper = [...seen, node];
  const found = ['allOf', 'anyOf', 'oneOf'].flatMap((keyword) =>
    ((node[keyword] as unknown[] | undefined) ?? []).flatMap((one) => below(root, one, name, deeper)),
  );
  if ($ref !== undefined) found.push(...below(root, at(root, $ref), name, deeper));
  // Which pattern a key matches is not looked at.
  found.push(...Object.values((node.patternProperties as object | undefined) ?? {}));
  if (properties && Object.hasOwn(properties, name)) found.push(properties[name]);
  else if (additionalProperties !== undefined && additionalProperties !== false) found.push(additionalProperties);
  return found;
}

/** What a reference inside the document leads to. */
function at(root: SchemaNode, ref: string): unknown {
  if (ref === '#') return root;
  if (!ref.startsWith('#/')) return undefined;
  const keys = ref
    .slice(2)
    .split('/')
    .map((key) => decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~'));
  return keys.reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], root);
}
