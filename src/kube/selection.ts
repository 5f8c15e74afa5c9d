/** Label and field selectors of Kubernetes as conditions. */
import { KindredError } from '../errors.ts';
import { fieldNames } from '../indexes/field.ts';
import { codecOf } from '../model/key.ts';
import type { Condition } from '../query/condition.ts';
import { condition, Queries } from '../query/condition.ts';
import { parseLabelSelector } from '../query/selector.ts';
import { within } from '../resource/visible.ts';
import type { KubeModel } from './models.ts';
import type { Parameters } from './parameters.ts';
import { quoted } from './parameters.ts';
import { badRequest } from './status.ts';
import type { ResourceTarget } from './target.ts';

/** @throws KindredError BadRequest */
export function conditionOf(parameters: Parameters, { model, namespace }: ResourceTarget): Condition {
  const conditions: Condition[] = [];
  const labels = parameters.get('labelSelector');
  if (labels) conditions.push(labelCondition(labels));
  const fields = parameters.get('fieldSelector');
  if (fields) for (const term of fieldTerms(fields)) conditions.push(fieldCondition(term, model));
  return within(Queries.and(...conditions), namespace);
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
function fieldCondition({ text, field: given, value, isNegated }: FieldTerm, model: KubeModel): Condition {
  const { scheme } = model.view ? model.resource : model;
  const field = model.view?.index(given) ?? given;
  if (!fieldNames(scheme.indexes).includes(field))
    throw badRequest(`field label not supported: ${given.slice(0, 200)}`);
  const source = { term: text, column: 1 };
  const isText = scheme.indexes.every(({ name, codec }) => name !== field || codec === codecOf(String));
  const equal = condition({ op: 'equal', field, value, source });
  const empty = condition({ op: 'isNull', field, source });
  const holds = value !== '' ? equal : isText && !field.endsWith('Timestamp') ? equal.or(empty) : empty;
  return isNegated ? holds.not() : holds;
}
