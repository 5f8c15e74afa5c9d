/** Label and field selectors of Kubernetes as conditions. */
import { KindredError } from '../errors.ts';
import { fieldNames } from '../indexes/field.ts';
import { codecOf } from '../model/key.ts';
import type { Condition } from '../query/condition.ts';
import { condition, Queries } from '../query/condition.ts';
import { parseLabelSelector } from '../query/selector.ts';
import type { KubeModel } from './models.ts';
import type { Parameters } from './parameters.ts';
import { quoted } from './parameters.ts';
import { badRequest } from './status.ts';
import type { ResourceTarget } from './target.ts';

/** @throws KindredError BadRequest */
export function conditionOf(parameters: Parameters, { model, namespace }: ResourceTarget): Condition {
  const conditions: Condition[] = namespace === undefined ? [] : [inNamespace(namespace)];
  const labels = parameters.get('labelSelector');
  if (labels) conditions.push(labelCondition(labels));
  const fields = parameters.get('fieldSelector');
  if (fields) for (const term of fieldTerms(fields)) conditions.push(fieldCondition(term, model, namespace));
  return Queries.and(...conditions);
}

function labelCondition(text: string): Condition {
  try {
    return parseLabelSelector(text);
  } catch (error) {
    if (!(error instanceof KindredError)) throw error;
    throw badRequest(`unable to parse requirement: ${error.message}`);
  }
}

interface FieldTerm {
  readonly text: string;
  readonly field: string;
  readonly value: string;
  readonly isNegated: boolean;
}

/** Terms of one selector. */
const mostTerms = 200;

/** `a=b,c!=d` with `\,`, `\=` and `\\` in values. */
function fieldTerms(text: string): FieldTerm[] {
  const terms: FieldTerm[] = [];
  for (const [term] of text.matchAll(/(?:\\.|[^,\\])+|\\$/gs)) {
    if (terms.length === mostTerms) throw badRequest(`the field selector has more than ${mostTerms} terms`);
    const [, field, sign, value] = /^([^=!]*)(!=|==|=)(.*)$/s.exec(term) ?? [];
    if (field === undefined) throw badRequest(`invalid selector: ${quoted(text)}; can't understand ${quoted(term)}`);
    terms.push({ text: term, field: field.trim(), value: unescaped(value!), isNegated: sign === '!=' });
  }
  return terms;
}

function unescaped(value: string): string {
  if (!/^(?:[^,=\\]|\\[,=\\])*$/s.test(value)) {
    throw badRequest(`invalid field selector: a sign or an escape in ${quoted(value)} is not expected`);
  }
  return value.replace(/\\([,=\\])/g, '$1');
}

/** An object without a value has the empty text. */
function fieldCondition(term: FieldTerm, model: KubeModel, namespace: string | undefined): Condition {
  const { scheme } = model;
  const { text, field, value, isNegated } = term;
  const source = { term: text, column: 1 };
  const holds =
    scheme.isNamespaced && field === 'metadata.name'
      ? namedAs(value, namespace)
      : scheme.isNamespaced && field === 'metadata.namespace'
        ? inNamespace(value)
        : indexed();
  return isNegated ? holds.not() : holds;

  function indexed(): Condition {
    const index = scheme.indexes.find(({ name }) => name === field);
    if (!index && !builtIn.includes(field)) throw badRequest(`field label not supported: ${field.slice(0, 200)}`);
    const empty = condition({ op: 'isNull', field, source });
    if (value === '' && index?.codec !== codecOf(String)) return empty;
    const equal = condition({ op: 'equal', field, value, source });
    return value === '' ? equal.or(empty) : equal;
  }
}

const builtIn: readonly string[] = fieldNames([]);

/** The store names the objects of a namespaced model `<namespace>/<name>`. */
function namedAs(name: string, namespace: string | undefined): Condition {
  if (namespace !== undefined) return Queries.equal('metadata.name', `${namespace}/${name}`);
  return condition({ op: 'endsWith', field: 'metadata.name', text: `/${name}` });
}

function inNamespace(namespace: string): Condition {
  return Queries.startsWith('metadata.name', `${namespace}/`);
}
