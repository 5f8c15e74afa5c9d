/** The functions of CEL: signatures, and which of them a call means. */
import type { CelType } from './types.ts';
import { accepts, dyn, nameOf, parseType, substitute } from './types.ts';
import type { Frame, Value } from './values.ts';
import { isOf } from './values.ts';

/** The signature says what the arguments are, which the compiler of expressions obeys. */
export type Implementation = (this: void, frame: Frame, ...values: never[]) => Value;
type Run = (this: void, frame: Frame, ...values: Value[]) => Value;

/**
 * By signature, such as `string.contains(string): bool`: what stands before the dot is the first argument, what stands before
 * `::` the name of a group of functions.
 */
export type Library = Readonly<Record<string, Implementation>>;

export interface Overload {
  /** The types of the arguments, that of the receiver first. */
  readonly parameters: readonly CelType[];
  readonly result: CelType;
  readonly run: Run;
}

const signature = /^(?:([^:]+?)(::|\.))?([^.:(]+)\((.*)\): (.+)$/;

export class Functions {
  readonly #overloads = new Map<string, Overload[]>();

  constructor(...libraries: readonly Library[]) {
    for (const library of libraries) {
      for (const [text, run] of Object.entries(library)) this.#add(text, run);
    }
  }

  #add(text: string, run: Implementation): void {
    const match = signature.exec(text);
    if (!match) throw new Error(`no signature: ${text}`);
    const [, holder, mark, name, list, result] = match;
    const parameters = splitTypes(list!);
    const key = holder === undefined ? name! : mark === '::' ? `${holder}.${name}` : `.${name}`;
    if (mark === '.') parameters.unshift(holder!);
    const known = this.#overloads.get(key) ?? [];
    known.push({ parameters: parameters.map(parseType), result: parseType(result!), run: run as Run });
    this.#overloads.set(key, known);
  }

  /** @param key a name, `.name` for one with a receiver, or `group.name` */
  named(key: string): readonly Overload[] | undefined {
    return this.#overloads.get(key);
  }

  /** What a call of these types means; undefined when nothing. */
  resolve(key: string, types: readonly CelType[]): Call | undefined {
    const fitting: { overload: Overload; result: CelType }[] = [];
    for (const overload of this.named(key) ?? []) {
      if (overload.parameters.length !== types.length) continue;
      const bound = new Map<string, CelType>();
      if (!overload.parameters.every((wanted, i) => accepts(wanted, types[i]!, bound))) continue;
      fitting.push({ overload, result: substitute(overload.result, bound) });
    }
    const [first] = fitting;
    if (!first) return undefined;
    const isSure = fitting.length === 1 && first.overload.parameters.every((wanted, i) => isCertain(wanted, types[i]!));
    const isOne = fitting.every(({ result }) => nameOf(result) === nameOf(first.result));
    return {
      result: isOne ? first.result : dyn,
      overloads: fitting.map(({ overload }) => overload),
      isSure,
    };
  }
}

export interface Call {
  readonly result: CelType;
  readonly overloads: readonly Overload[];
  /** True when the types say already that the one overload fits. */
  readonly isSure: boolean;
}

/** The overload for the values of a call that is not sure. */
export function overloadFor(overloads: readonly Overload[], values: readonly Value[]): Overload | undefined {
  return overloads.find(({ parameters }) => parameters.every((type, i) => isOf(values[i]!, type)));
}

function isCertain(wanted: CelType, actual: CelType): boolean {
  if (wanted.kind === 'dyn' || wanted.kind === 'param') return true;
  return actual.kind !== 'dyn' && actual.kind !== 'param';
}

/** `a, map<b, c>` in two. */
function splitTypes(list: string): string[] {
  return list === '' ? [] : list.split(/, (?![^<]*>)/);
}
