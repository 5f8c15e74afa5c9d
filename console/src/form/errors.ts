/** What is wrong with an object, by pointer: what the page finds by the schema, and what the service answered. */

import type { Violation } from '../../../src/errors.ts';
import { Violations, violationText } from '../../../src/errors.ts';
import { labelKeyProblem, labelValueProblem, nameProblem } from '../../../src/model/names.ts';
import type { SchemaDocument } from '../../../src/schema/document.ts';
import { below, isObject, isWithin, plain } from '../diff/pointer.ts';

export interface FieldProblem {
  readonly pointer: string;
  /** The pointer as a dotted path. */
  readonly field: string;
  readonly message: string;
  /** Shown whether or not the field was left. */
  readonly isCertain: boolean;
  /** Another object that has the value. */
  readonly other?: string;
}

/** As the service checks it, but for what it alone knows. */
export function problemsOf(document: SchemaDocument | undefined, object: unknown, language: string): FieldProblem[] {
  const found = new Violations();
  const value = plain(object);
  if (isObject(value)) checkNames(value.metadata, found);
  document?.validate(withDefaults(document, value), '', found);
  const locale = language === 'zh-CN' ? 'zh' : 'en';
  return found.listed.map((one) => fieldProblem({ ...one, message: violationText(one)[locale] }, false));
}

/** What the service checks: a copy with the defaults of the model. */
function withDefaults(document: SchemaDocument, value: unknown): unknown {
  const setDefaults = document.defaults();
  if (!setDefaults) return value;
  const copy = structuredClone(value);
  try {
    setDefaults(copy);
  } catch {
    // Too large for the service, which says so.
    return value;
  }
  return copy;
}

function fieldProblem({ pointer, field, message }: Violation, isCertain: boolean): FieldProblem {
  return { pointer, field, message, isCertain };
}

function checkNames(metadata: unknown, found: Violations): void {
  if (!isObject(metadata)) return;
  const { name, labels, annotations } = metadata;
  const check = (pointer: string, value: string, problem: ReturnType<typeof nameProblem>) => {
    if (!problem) return;
    const { keyword, text, limit, length = value.length } = problem;
    found.add(pointer, keyword, text, { value, limit, length });
  };
  if (typeof name === 'string') check('/metadata/name', name, nameProblem(name));
  for (const [member, map] of Object.entries({ labels, annotations })) {
    if (!isObject(map)) continue;
    for (const [key, value] of Object.entries(map)) {
      const pointer = below(`/metadata/${member}`, key);
      check(pointer, key, labelKeyProblem(key));
      if (member === 'labels' && typeof value === 'string') check(pointer, value, labelValueProblem(value));
    }
  }
}

/** Of a group: what is wrong with itself, and with what is in it but is not drawn. */
export function groupProblems(
  problems: readonly FieldProblem[],
  group: string,
  drawn: readonly string[],
): FieldProblem[] {
  return problems.filter(({ pointer }) => isWithin(pointer, group) && !drawn.some((one) => isWithin(pointer, one)));
}
