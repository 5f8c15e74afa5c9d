/** Completions from the schema: members of the object at the cursor, and the values that a member may have. */

import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import { isObject, memberOf, tokensOf, valueAt } from '../../diff/pointer.ts';
import { YamlText } from '../../diff/yaml.ts';
import type { Field, Part, Plan } from '../../form/plan.ts';

export function completionFrom(plan: () => Plan | undefined, language: 'yaml' | 'json') {
  return (context: CompletionContext): CompletionResult | null => {
    const drawn = plan();
    if (!drawn) return null;
    const text = context.state.doc.toString();
    const line = context.state.doc.lineAt(context.pos);
    const before = line.text.slice(0, context.pos - line.from);
    return language === 'yaml' ? ofYaml(drawn, text, before, context) : ofJson(drawn, text, before, context);
  };
}

function ofYaml(plan: Plan, text: string, before: string, context: CompletionContext): CompletionResult | null {
  const value = /^(\s*(?:- )*)(?:"([^"]*)"|([^\s:#"'-][^:#]*)):\s+(\S*)$/.exec(before);
  const start = context.pos - before.length;
  if (value) {
    const name = value[2] ?? value[3]!;
    const pointer = [...outline(text.slice(0, start), value[1]!.length), name];
    return values(fieldAt(plan, pointer, readText(text)), context.pos - value[4]!.length, (one) =>
      String(JSON.stringify(one)).replace(/^"([\w-]+)"$/, '$1'),
    );
  }
  const key = /^(\s*(?:- )*)([\w-]*)$/.exec(before);
  if (!key || (key[2] === '' && !context.explicit)) return null;
  const pointer = outline(text.slice(0, start), key[1]!.length);
  return members(fieldAt(plan, pointer, readText(text)), context.pos - key[2]!.length, (name) => `${name}: `);
}

function ofJson(plan: Plan, text: string, before: string, context: CompletionContext): CompletionResult | null {
  const yaml = new YamlText(text);
  const value = /"((?:[^"\\]|\\.)*)"\s*:\s*("?[\w-]*)$/.exec(before);
  const object = readText(text);
  if (value) {
    const at = context.pos - before.length + value.index;
    return values(
      fieldAt(plan, tokensOf(yaml.pointerAt(at)), object),
      context.pos - value[2]!.length,
      (one) => JSON.stringify(one) ?? 'null',
    );
  }
  const key = /"([\w-]*)$/.exec(before);
  if (!key) return null;
  const pointer = tokensOf(yaml.pointerAt(context.pos - before.length + key.index));
  const around = isObject(valueAt(object, `/${pointer.join('/')}`)) ? pointer : pointer.slice(0, -1);
  return members(fieldAt(plan, around, object), context.pos - key[1]!.length, (name) => name);
}

/** The members around a line of YAML, by the indentation of the lines above. */
function outline(above: string, indent: number): string[] {
  const found: string[] = [];
  let around = indent;
  for (const line of above.split('\n').reverse()) {
    const match = /^(\s*(?:- )*)(?:"([^"]*)"|([^\s:#"'-][^:#]*)):(?:\s|$)/.exec(line);
    const item = /^(\s*)- /.exec(line);
    if (match && match[1]!.length < around) {
      around = match[1]!.length;
      found.unshift(match[2] ?? match[3]!);
      if (item) found.unshift('0');
    }
    if (item && item[1]!.length < around) around = item[1]!.length;
    if (around === 0) break;
  }
  return found;
}

function readText(text: string): unknown {
  const yaml = new YamlText(text);
  return yaml.problems.length > 0 ? undefined : yaml.value;
}

function fieldAt(plan: Plan, tokens: readonly string[], object: unknown): Field | undefined {
  let part: Part | undefined = plan.root;
  let value = object;
  for (const token of tokens) {
    const { control } = plan.field(part, value);
    if (control.kind === 'object') {
      part = control.members.find((one) => one.name === token) ?? (control.rows ? control.rows.part(token) : undefined);
    } else if (control.kind === 'list') part = control.items[Number(token)] ?? control.added;
    else part = undefined;
    if (!part) return undefined;
    value = memberOf(value, token);
  }
  return plan.field(part, value);
}

function members(field: Field | undefined, from: number, apply: (name: string) => string): CompletionResult | null {
  if (field?.control.kind !== 'object') return null;
  const options = field.control.members.map(
    ({ name, required }): Completion => ({
      label: name,
      type: 'property',
      apply: apply(name),
      boost: required ? 1 : 0,
    }),
  );
  return { from, options, validFor: /^[\w-]*$/ };
}

function values(field: Field | undefined, from: number, apply: (value: unknown) => string): CompletionResult | null {
  const control = field?.control;
  const known =
    control?.kind === 'choice'
      ? control.choices.map((one) => one.value)
      : control?.kind === 'boolean'
        ? [true, false]
        : control?.kind === 'constant'
          ? [control.value]
          : undefined;
  if (!known) return null;
  return { from, options: known.map((one) => ({ label: String(one), type: 'constant', apply: apply(one) })) };
}
