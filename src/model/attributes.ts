/** The attributes of a model beyond its names: where its objects live, by which rules they are named, how clients find and print them. */

import type { Text } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import { invalidModel, Mistakes } from '../schema/invalid-model.ts';
import { isRecord } from './object.ts';

/** Whether each object belongs to a namespace. */
export type Scope = 'Cluster' | 'Namespaced';

/** Which rules `metadata` follows: those of Kubernetes allow dots in names, and unknown fields are left out instead of refused. */
export type Naming = 'strict' | 'kubernetes';

const columnTypes = ['string', 'integer', 'number', 'boolean', 'date'] as const;

/** A column that clients print of each object, besides its name and age. */
export interface Column {
  name: string;
  type: (typeof columnTypes)[number];
  /** JSONPath, such as `.spec.replicas` or `.status.conditions[?(@.type=="Ready")].status`. */
  path: string;
  /** 0 (default): in every table; greater: in wide ones. */
  priority?: number;
  description?: string;
  format?: string;
}

/** Where an object has its number of replicas. */
export interface Scale {
  /** Such as `.spec.replicas`. */
  specReplicasPath: string;
  /** Such as `.status.replicas`. */
  statusReplicasPath: string;
  /** Of a text that selects the replicas by their labels, such as `.status.selector`. */
  labelSelectorPath?: string;
}

/** Parts of an object that have routes of their own. */
export interface Subresources {
  /** The routes `/{name}/status`; the main routes then leave `status` alone. */
  status?: boolean;
  /** Clients that know scaling read and write the number of replicas there. */
  scale?: Scale;
}

/**
 * A rule in the Common Expression Language (docs/guide/models.md), as Kubernetes has it in `x-kubernetes-validations`.
 *
 * @example
 * ```ts
 * const rule: ValidationRule = { rule: 'self.spec.room == oldSelf.spec.room', message: 'the room cannot change' };
 * void rule;
 * ```
 */
export interface ValidationRule {
  /** True for what is allowed. `self` is the value where the rule stands; with `oldSelf`, the stored one, it is a rule about changes. */
  rule: string;
  /** What a violation says. Default: the rule. */
  message?: string;
  /** An expression of the same language for the message; `message` is said where it has no value. */
  messageExpression?: string;
  /** Default `FieldValueInvalid`. */
  reason?: 'FieldValueInvalid' | 'FieldValueForbidden' | 'FieldValueRequired' | 'FieldValueDuplicate';
  /** The member that a violation names instead of the value where the rule stands, such as `.spec.room`. */
  fieldPath?: string;
  /** The rule is checked for new values too, and `oldSelf` is an optional value. Default false. */
  optionalOldSelf?: boolean;
}

export interface ModelAttributes {
  /** Default `Cluster`. */
  scope?: Scope;
  /** Default `strict`. */
  naming?: Naming;
  /** Names that stand for the model on the command line, such as `wd`. */
  shortNames?: readonly string[];
  /** Groups of models that are asked for together, such as `all`. */
  categories?: readonly string[];
  columns?: readonly Column[];
  subresources?: Subresources;
  /** Of whole objects; of their parts, rules stand in the schema as `x-kubernetes-validations`. */
  rules?: readonly ValidationRule[];
}

const texts = {
  scope: localized('"scope" must be "Cluster" or "Namespaced"; got {value}'),
  naming: localized('"naming" must be "strict" or "kubernetes"; got {value}'),
  names: localized(
    '"{name}" must be a list of at most {limit} names of lower-case letters, digits and "-", each once, that start with a letter and have at most 63 characters; got {value}',
  ),
  columns: localized('"columns" must be a list of at most {limit} columns; got {value}'),
  column: localized(
    '"columns" must have for each column a name of its own, a type ({types}), a path, and perhaps a priority (an integer from 0), a description and a format; got {value}',
  ),
  path: localized(
    'The path of the column "{name}" must be a JSONPath such as .spec.replicas or .status.conditions[?(@.type=="Ready")].status; got "{value}"',
  ),
  rules: localized('"rules" must be a list of at most {limit} rules; got {value}'),
  subresources: localized('"subresources" knows the members status (true or false) and scale; got {value}'),
  scale: localized(
    '"subresources.scale" needs specReplicasPath below .spec and statusReplicasPath below .status, such as .spec.replicas and .status.replicas, and may have labelSelectorPath below either; got {value}',
  ),
} satisfies Record<string, Text>;

const mostNames = 20;
const mostColumns = 100;
const mostRules = 100;
const nameSyntax = /^[a-z][a-z0-9-]{0,62}$/;

const member = String.raw`\.(?:[\w$-]|\\.)+`;
const literal = String.raw`(?:"[^"\\]*"|'[^'\\]*'|-?\d+(?:\.\d+)?|true|false)`;
const pathSyntax = new RegExp(
  String.raw`^(?:${member}|\['[^'\\]+'\]|\[(?:-?\d+|\*)\]|\[\?\(@(?:${member})+\s*==\s*${literal}\)\])+$`,
);
const plainPath = /^\.(?:spec|status)(?:\.[\w$-]+)+$/;

/** Checked copies of what is declared; what has its default is left out. Throws `InvalidModel` with every mistake. */
export function checkAttributes(declared: ModelAttributes): ModelAttributes {
  const mistakes = new Mistakes();
  const { scope, naming, shortNames, categories, columns } = declared;
  if (scope !== undefined && scope !== 'Cluster' && scope !== 'Namespaced')
    mistakes.in(() => invalidModel(texts.scope, { value: scope }));
  if (naming !== undefined && naming !== 'strict' && naming !== 'kubernetes')
    mistakes.in(() => invalidModel(texts.naming, { value: naming }));
  const names = mistakes.in(() => checkNames('shortNames', shortNames));
  const groups = mistakes.in(() => checkNames('categories', categories));
  const shown = mistakes.in(() => checkColumns(columns));
  const subresources = mistakes.in(() => checkSubresources(declared.subresources));
  const rules = mistakes.in(() => checkRules(declared.rules));
  mistakes.throw();
  return {
    subresources: subresources!,
    ...(scope === 'Namespaced' && { scope }),
    ...(naming === 'kubernetes' && { naming }),
    ...(names && names.length > 0 && { shortNames: names }),
    ...(groups && groups.length > 0 && { categories: groups }),
    ...(shown && { columns: shown }),
    ...(rules && rules.length > 0 && { rules }),
  };
}

function checkNames(name: string, value: unknown): readonly string[] | undefined {
  if (value === undefined) return undefined;
  const holds =
    Array.isArray(value) &&
    value.length <= mostNames &&
    value.every((one) => typeof one === 'string' && nameSyntax.test(one)) &&
    new Set(value).size === value.length;
  return holds ? [...(value as string[])] : invalidModel(texts.names, { name, limit: mostNames, value });
}

/** What a rule says is checked with the schema that it is about. */
function checkRules(value: unknown): readonly ValidationRule[] | undefined {
  if (value === undefined) return undefined;
  if (!Array.isArray(value) || value.length > mostRules) return invalidModel(texts.rules, { limit: mostRules, value });
  return value.map((one) => (isRecord(one) ? { ...one } : one)) as ValidationRule[];
}

function checkColumns(value: unknown): readonly Column[] | undefined {
  if (value === undefined) return undefined;
  if (!Array.isArray(value) || value.length > mostColumns)
    return invalidModel(texts.columns, { limit: mostColumns, value });
  const mistakes = new Mistakes();
  const names = new Set<unknown>();
  for (const column of value) mistakes.in(() => checkColumn(column, names));
  mistakes.throw();
  return structuredClone(value) as Column[];
}

const columnMembers = ['name', 'type', 'path', 'priority', 'description', 'format'];

function checkColumn(column: unknown, names: Set<unknown>): void {
  const { name, type, path, priority = 0, description = '', format = '' } = isRecord(column) ? column : {};
  const holds =
    typeof name === 'string' &&
    name !== '' &&
    !names.has(name) &&
    (columnTypes as readonly unknown[]).includes(type) &&
    typeof path === 'string' &&
    Number.isInteger(priority) &&
    (priority as number) >= 0 &&
    typeof description === 'string' &&
    typeof format === 'string' &&
    Object.keys(column as object).every((one) => columnMembers.includes(one));
  if (!holds) invalidModel(texts.column, { types: columnTypes.join(', '), value: column });
  names.add(name);
  if (!pathSyntax.test(path)) invalidModel(texts.path, { name, value: path });
}

function checkSubresources(value: unknown): Subresources {
  if (value === undefined) return { status: false };
  const known = isRecord(value) && Object.keys(value).every((name) => name === 'status' || name === 'scale');
  const { status, scale } = (known ? value : {}) as { status?: unknown; scale?: unknown };
  if (!known || (status !== undefined && typeof status !== 'boolean')) invalidModel(texts.subresources, { value });
  return { status: status === true, ...(scale !== undefined && { scale: checkScale(scale) }) };
}

const scaleMembers = ['specReplicasPath', 'statusReplicasPath', 'labelSelectorPath'];

function checkScale(scale: unknown): Scale {
  const { specReplicasPath, statusReplicasPath, labelSelectorPath } = (isRecord(scale) ? scale : {}) as Partial<Scale>;
  const holds =
    isBelow(specReplicasPath, '.spec.') &&
    isBelow(statusReplicasPath, '.status.') &&
    (labelSelectorPath === undefined || isBelow(labelSelectorPath, '.')) &&
    Object.keys(scale as object).every((name) => scaleMembers.includes(name));
  return holds ? { ...(scale as Scale) } : invalidModel(texts.scale, { value: scale });
}

function isBelow(path: unknown, start: string): boolean {
  return typeof path === 'string' && path.startsWith(start) && plainPath.test(path);
}
