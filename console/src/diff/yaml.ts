/** Objects as YAML or JSON text: what a text says, where in it a pointer leads, and how it changes with the value. */

import type { Document, Node, Pair, ParsedNode } from 'yaml';
import {
  isCollection,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  parseAllDocuments,
  parseDocument,
  stringify,
} from 'yaml';
import { isInexact } from '../form/number.ts';
import { below, ExactNumber, isEqual, isObject, plain, tokensOf } from './pointer.ts';

export interface TextRange {
  readonly from: number;
  readonly to: number;
}

export interface TextProblem extends TextRange {
  readonly message: string;
  /** From 1. */
  readonly line: number;
}

/** As in the service: a few lines of aliases can stand for more than fits into memory. */
const aliasLimit = 100;
const widest = { lineWidth: 0 } as const;

export function printYaml(value: unknown): string {
  return value === undefined ? '' : stringify(printable(value), widest);
}

/** JSON as the editor shows it; numbers as they were typed. */
export function printJson(value: unknown): string {
  return value === undefined ? '' : `${JSON.stringify(value, undefined, 2)}\n`;
}

/** One document of YAML, or of JSON, which is YAML too. */
export class YamlText {
  readonly text: string;
  readonly #document: Document<ParsedNode>;
  readonly #lines = new LineCounter();

  constructor(text: string) {
    this.text = text;
    this.#document = parseDocument(text, { uniqueKeys: true, lineCounter: this.#lines }) as Document<ParsedNode>;
  }

  /** What keeps the text from being a value. */
  get problems(): readonly TextProblem[] {
    const found = this.#document.errors.map((error) =>
      this.#problem(reasonOf(error.message), error.pos[0], error.pos[1]),
    );
    if (found.length > 0) return found;
    try {
      this.#value();
      return [];
    } catch (error) {
      return [this.#problem((error as Error).message, 0, this.text.length)];
    }
  }

  /** Only of a text without problems. */
  get value(): unknown {
    return this.#value();
  }

  #value(): unknown {
    return readValue(this.#document);
  }

  #problem(message: string, from: number, to: number): TextProblem {
    return { message, from, to: Math.max(from, Math.min(to, this.text.length)), line: this.lineOf(from) };
  }

  /** From 1. */
  lineOf(offset: number): number {
    return Math.max(1, this.#lines.linePos(offset).line);
  }

  /** Where the value of a pointer stands; of what is absent, the member that it would be in. @param ofKey its name instead */
  rangeOf(pointer: string, ofKey = false): TextRange {
    let node: unknown = this.#document.contents;
    let range = rangeOf(node);
    for (const token of tokensOf(pointer)) {
      const pair = isMap(node) ? node.items.find((one) => nameOf(one) === token) : undefined;
      const next: unknown = pair ? pair.value : isSeq(node) ? node.items[Number(token)] : undefined;
      if (pair && (ofKey || next === null || next === undefined)) range = rangeOf(pair.key) ?? range;
      if (next === null || next === undefined) break;
      if (!(pair && ofKey)) range = rangeOf(next) ?? range;
      node = next;
    }
    return range ?? { from: 0, to: 0 };
  }

  /** The pointer of the innermost value whose text, its name included, has the offset. */
  pointerAt(offset: number): string {
    let pointer = '';
    let node: unknown = this.#document.contents;
    while (isCollection(node)) {
      const items: readonly unknown[] = node.items;
      const at = items.findIndex((item) => contains(item, offset));
      if (at < 0) break;
      const item = items[at];
      pointer = below(pointer, isPair(item) ? nameOf(item) : at);
      node = isPair(item) ? item.value : item;
    }
    return pointer;
  }

  /** The text with another value: its comments, order and style stay where the value does. */
  withValue(value: unknown): string {
    if (this.#document.errors.length > 0) return printYaml(value);
    const document = parseDocument(this.text, { uniqueKeys: true }) as Document<ParsedNode>;
    try {
      if (isEqual(readValue(document), value)) return this.text;
      change(document, [], readValue(document), value);
      const text = document.toString(widest);
      const again = parseDocument(text);
      if (again.errors.length === 0 && isEqual(plain(readValue(again as Document<ParsedNode>)), plain(value)))
        return text;
    } catch {
      // Anchors and merge keys can make a change in place impossible.
    }
    return printYaml(value);
  }
}

export interface YamlDocument {
  readonly value?: unknown;
  readonly problem?: TextProblem;
  /** From 1. */
  readonly line: number;
}

/** Several documents, separated by `---`, with the offset of each; empty ones are left out. */
export function yamlDocuments(text: string): YamlDocument[] {
  const lines = new LineCounter();
  const documents = parseAllDocuments(text, { uniqueKeys: true, lineCounter: lines });
  return [...documents].flatMap((document): YamlDocument[] => {
    const [error] = document.errors;
    const line = lines.linePos(document.contents?.range?.[0] ?? document.range[0]).line;
    if (error) {
      const at = lines.linePos(error.pos[0]).line;
      const problem = { message: reasonOf(error.message), from: error.pos[0], to: error.pos[1], line: at };
      return [{ problem, line: at }];
    }
    try {
      const value = readValue(document as Document<ParsedNode>);
      return value === undefined ? [] : [{ value, line }];
    } catch (thrown) {
      const [from, to] = document.range;
      return [{ problem: { message: (thrown as Error).message, from, to, line }, line }];
    }
  });
}

/** Without the place and the lines around it, which the library repeats. */
function reasonOf(message: string): string {
  return message.split('\n')[0]!.replace(/ at line \d+, column \d+:?$/, '');
}

/** As `toJS`, but numbers that JavaScript cannot hold stay as they are written. */
function readValue(document: Document<ParsedNode>): unknown {
  const value: unknown = document.toJS({ maxAliasCount: aliasLimit }) ?? undefined;
  const { contents } = document;
  return contents && value !== undefined ? exact(contents, value) : value;
}

function exact(node: unknown, value: unknown): unknown {
  if (typeof value === 'number' && isScalar(node)) {
    const source = node.source ?? '';
    return isInexact(source, value) ? new ExactNumber(source) : value;
  }
  if (Array.isArray(value) && isSeq(node)) return value.map((item: unknown, i) => exact(node.items[i], item));
  if (isObject(value) && isMap(node)) {
    const nodes = new Map(node.items.map((pair) => [nameOf(pair), pair.value]));
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, exact(nodes.get(name), member)]));
  }
  return value;
}

/** What the library prints: numbers as they were typed become what it reads back as such. */
function printable(value: unknown): unknown {
  if (value instanceof ExactNumber) return /^-?\d+$/.test(value.text) ? BigInt(value.text) : Number(value.text);
  if (Array.isArray(value)) return value.map(printable);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, printable(member)]));
}

function change(document: Document<ParsedNode>, path: (string | number)[], before: unknown, after: unknown): void {
  if (isEqual(before, after)) return;
  if (isObject(before) && isObject(after)) {
    for (const name of Object.keys(before)) if (!Object.hasOwn(after, name)) document.deleteIn([...path, name]);
    for (const [name, member] of Object.entries(after)) {
      change(document, [...path, name], Object.hasOwn(before, name) ? before[name] : undefined, member);
    }
    return;
  }
  const node: unknown = path.length === 0 ? document.contents : document.getIn(path, true);
  if (Array.isArray(before) && Array.isArray(after) && isSeq(node)) {
    let start = 0;
    while (start < before.length && start < after.length && isEqual(before[start], after[start])) start++;
    let end = 0;
    while (
      end < before.length - start &&
      end < after.length - start &&
      isEqual(before.at(-1 - end), after.at(-1 - end))
    )
      end++;
    const [old, next] = [before.slice(start, before.length - end), after.slice(start, after.length - end)];
    const kept = Math.min(old.length, next.length);
    for (let i = 0; i < kept; i++) change(document, [...path, start + i], old[i], next[i]);
    const added = next.slice(kept).map((item) => document.createNode(printable(item)) as Node);
    node.items.splice(start + kept, old.length - kept, ...added);
    return;
  }
  if (path.length === 0) document.contents = document.createNode(printable(after)) as unknown as ParsedNode;
  else document.setIn(path, printable(after));
}

function nameOf(pair: Pair): string {
  const { key } = pair;
  return String(isScalar(key) ? key.value : key);
}

function rangeOf(node: unknown): TextRange | undefined {
  const range = (node as Node | undefined)?.range;
  return range ? { from: range[0], to: range[1] } : undefined;
}

function contains(item: unknown, offset: number): boolean {
  const start = rangeOf(isPair(item) ? item.key : item);
  const end = (isPair(item) ? (rangeOf(item.value) ?? start) : start) as TextRange | undefined;
  return start !== undefined && end !== undefined && offset >= start.from && offset <= end.to;
}
