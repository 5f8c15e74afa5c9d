/**
 * The JSONPath templates of kubectl (https://kubernetes.io/docs/reference/kubectl/jsonpath/): text with paths in braces, such as
 * `{range .items[*]}{.metadata.name}{"\n"}{end}`. A path that leads nowhere gives nothing.
 */
import { UsageError } from './io.ts';

type Step =
  | { readonly kind: 'field'; readonly name: string }
  | { readonly kind: 'all' }
  | { readonly kind: 'descend' }
  | { readonly kind: 'slice'; readonly start: number; readonly end: number | undefined; readonly step: number }
  | { readonly kind: 'union'; readonly paths: readonly (readonly Step[])[] }
  | { readonly kind: 'filter'; readonly left: Operand; readonly comparison?: Comparison };

interface Path {
  /** From the whole value, rather than from the current one of a range or a filter. */
  readonly isRooted: boolean;
  readonly steps: readonly Step[];
}

type Operand = Path | { readonly value: unknown };

interface Comparison {
  readonly sign: string;
  readonly right: Operand;
}

type Node =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'path'; readonly path: Path }
  | { readonly kind: 'range'; readonly path: Path; readonly body: readonly Node[] };

/** What a template says of a list whose items come one after the other. */
export interface ItemTexts {
  readonly before: string;
  next(item: unknown): string;
  readonly after: string;
}

export class Template {
  readonly #nodes: readonly Node[];

  /** @throws UsageError */
  constructor(text: string) {
    if (text === '') throw new UsageError('a JSONPath is missing');
    // A path alone is meant as one.
    this.#nodes = new Parser(text.includes('{') ? text : `{${text}}`).template();
  }

  text(value: unknown): string {
    return textOf(this.#nodes, value, value);
  }

  /** Whether the template is one path, without text around it: only then `values` is of use. */
  get isPath(): boolean {
    return this.#nodes.length === 1 && this.#nodes[0]!.kind === 'path';
  }

  /** All that the paths lead to. */
  values(value: unknown): unknown[] {
    return this.#nodes.flatMap((node) => (node.kind === 'path' ? found(node.path, value, value) : []));
  }

  /** Undefined when the template needs the whole list: it is about something else than `.items`, or about it more than once. */
  ofItems(): ItemTexts | undefined {
    const at = this.#nodes.findIndex(({ kind }) => kind !== 'text');
    const node = this.#nodes[at];
    if (node === undefined || node.kind === 'text') return undefined;
    const [items, choice, ...steps] = node.path.steps;
    const rest = { isRooted: false, steps };
    const isChoiceRooted =
      choice !== undefined && asksForRoot({ kind: 'path', path: { isRooted: false, steps: [choice] } });
    const others = [...this.#nodes.slice(0, at), ...this.#nodes.slice(at + 1)];
    const isOfItems = items?.kind === 'field' && items.name === 'items' && choice !== undefined && isItemwise(choice);
    const body = node.kind === 'range' ? node.body : [];
    if (
      !isOfItems ||
      isChoiceRooted ||
      others.some(({ kind }) => kind !== 'text') ||
      asksForRoot({ kind: 'range', path: rest, body })
    ) {
      return undefined;
    }
    let index = -1;
    let isFirst = true;
    const next = (item: unknown): string => {
      index++;
      const isChosen = choice.kind === 'slice' ? isIn(choice, index) : taken(choice, [item], item).length > 0;
      const values = isChosen ? found(rest, item, item) : [];
      if (node.kind === 'range') return values.map((value) => textOf(node.body, value, value)).join('');
      if (values.length === 0) return '';
      const text = `${isFirst ? '' : ' '}${values.map(printed).join(' ')}`;
      isFirst = false;
      return text;
    };
    return { before: textOf(this.#nodes.slice(0, at), {}, {}), next, after: textOf(this.#nodes.slice(at + 1), {}, {}) };
  }
}

/** Whether it can be said of each item by itself that the step takes it. */
function isItemwise(step: Step): boolean {
  if (step.kind === 'slice') return step.start >= 0 && (step.end === undefined || step.end >= 0);
  return step.kind === 'all' || step.kind === 'filter';
}

function isIn({ start, end, step }: Step & { kind: 'slice' }, index: number): boolean {
  return index >= start && (end === undefined || index < end) && (index - start) % step === 0;
}

/** Whether something in it starts from the whole value, or gives its values in another order than item by item. */
function asksForRoot(node: Node): boolean {
  if (node.kind === 'text') return false;
  const isRooted = (path: Path): boolean => path.isRooted || path.steps.some(inStep);
  const inOperand = (operand: Operand) => 'steps' in operand && isRooted(operand);
  const inStep = (step: Step): boolean => {
    if (step.kind === 'union') return true;
    return (
      step.kind === 'filter' &&
      (inOperand(step.left) || (step.comparison !== undefined && inOperand(step.comparison.right)))
    );
  };
  return isRooted(node.path) || (node.kind === 'range' && node.body.some((one) => asksForRoot(one)));
}

function textOf(nodes: readonly Node[], value: unknown, root: unknown): string {
  return nodes
    .map((node) => {
      if (node.kind === 'text') return node.text;
      const values = found(node.path, value, root);
      if (node.kind === 'path') return values.map(printed).join(' ');
      return values.map((one) => textOf(node.body, one, root)).join('');
    })
    .join('');
}

/** Texts as they are, everything else as JSON. */
export function printed(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function found({ isRooted, steps }: Path, value: unknown, root: unknown): unknown[] {
  return walked(steps, [isRooted ? root : value], root);
}

function walked(steps: readonly Step[], from: readonly unknown[], root: unknown): unknown[] {
  let values = [...from];
  for (const step of steps) {
    values =
      step.kind === 'union'
        ? step.paths.flatMap((path) => walked(path, values, root))
        : values.flatMap((value) => one(step, value, root));
  }
  return values;
}

function one(step: Exclude<Step, { kind: 'union' }>, value: unknown, root: unknown): unknown[] {
  if (typeof value !== 'object' || value === null) return step.kind === 'descend' ? [value] : [];
  const isList = Array.isArray(value);
  switch (step.kind) {
    case 'field':
      return !isList && Object.hasOwn(value, step.name) ? [(value as Record<string, unknown>)[step.name]] : [];
    case 'all':
      return Object.values(value);
    case 'descend':
      return [value, ...Object.values(value).flatMap((inner) => (isNested(inner) ? one(step, inner, root) : []))];
    case 'slice': {
      if (!isList) return [];
      const end = step.end ?? value.length;
      const range = { ...step, start: fromEnd(step.start, value.length), end: fromEnd(end, value.length) };
      return value.filter((_, index) => isIn(range, index));
    }
    case 'filter':
      return taken(step, isList ? value : [], root);
  }
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function fromEnd(index: number, length: number): number {
  return index < 0 ? Math.max(0, index + length) : index;
}

/** Those of the values that a filter lets through. */
function taken(step: Step, values: readonly unknown[], root: unknown): unknown[] {
  if (step.kind !== 'filter') return [...values];
  const { left, comparison } = step;
  const resolved = (operand: Operand, value: unknown) =>
    'steps' in operand ? found(operand, value, root) : [operand.value];
  return values.filter((value) => {
    const given = resolved(left, value);
    if (!comparison) return given.length > 0;
    const wanted = resolved(comparison.right, value);
    return given.length > 0 && wanted.length > 0 && holds(given[0], comparison.sign, wanted[0]);
  });
}

function holds(a: unknown, sign: string, b: unknown): boolean {
  if (sign === '==') return a === b;
  if (sign === '!=') return a !== b;
  const areNumbers = typeof a === 'number' && typeof b === 'number';
  if (!areNumbers && !(typeof a === 'string' && typeof b === 'string')) return false;
  const order = a < b ? -1 : a > b ? 1 : 0;
  if (sign === '<') return order < 0;
  if (sign === '<=') return order <= 0;
  return sign === '>' ? order > 0 : order >= 0;
}

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };

class Parser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  template(): Node[] {
    const nodes = this.#nodes(false);
    if (this.#at < this.#text.length) this.#fail('{end} without {range}');
    return nodes;
  }

  /** Up to the end of the text, or of the range that was begun. */
  #nodes(isInRange: boolean): Node[] {
    const nodes: Node[] = [];
    while (this.#at < this.#text.length) {
      const plain = this.#match(/[^{]+/y);
      if (plain !== undefined) nodes.push({ kind: 'text', text: plain });
      if (!this.#take('{')) continue;
      for (this.#space(); !this.#take('}'); this.#space()) {
        if (this.#match(/end(?=\s*\})/y) !== undefined) {
          if (!isInRange) this.#fail('{end} without {range}');
          this.#space();
          this.#take('}');
          return nodes;
        }
        const node = this.#node();
        nodes.push(node);
        // Its body went on beyond the braces.
        if (node.kind === 'range') break;
      }
    }
    if (isInRange) this.#fail('{range} without {end}');
    return nodes;
  }

  #node(): Node {
    if (this.#match(/range\s+/y) !== undefined) {
      const path = this.#path();
      this.#space();
      this.#expect('}');
      return { kind: 'range', path, body: this.#nodes(true) };
    }
    const quoted = this.#quoted();
    return quoted === undefined ? { kind: 'path', path: this.#path() } : { kind: 'text', text: quoted };
  }

  #path(): Path {
    const isRooted = this.#take('$');
    const isCurrent = !isRooted && this.#take('@');
    const start = this.#at;
    const steps = this.#steps();
    if (this.#at === start && !isRooted && !isCurrent) this.#fail('a path begins with ".", "[", "$" or "@"');
    return { isRooted, steps };
  }

  #steps(): Step[] {
    const steps: Step[] = [];
    for (;;) {
      if (this.#take('..')) {
        steps.push({ kind: 'descend' });
        if (!this.#isNext('[')) steps.push(this.#field());
      } else if (this.#take('.')) {
        // `{.}` is the value itself.
        if (!this.#isNext('[') && !this.#isNext('}')) steps.push(this.#field());
      } else if (this.#take('[')) steps.push(...this.#bracket());
      else return steps;
    }
  }

  #field(): Step {
    if (this.#take('*')) return { kind: 'all' };
    const name = this.#match(/(?:\\.|[^\s.,[\]{}()$@=!<>'"|&\\])+/y);
    if (name === undefined) this.#fail('the name of a member is missing');
    return { kind: 'field', name: name!.replace(/\\(.)/g, '$1') };
  }

  /** After `[`, up to the bracket that closes it. */
  #bracket(): Step[] {
    this.#space();
    if (this.#take('?')) {
      const filter = this.#filter();
      this.#space();
      this.#expect(']');
      return [filter];
    }
    const paths: Step[][] = [];
    do {
      this.#space();
      paths.push(this.#choice());
      this.#space();
    } while (this.#take(','));
    this.#expect(']');
    return paths.length === 1 ? paths[0]! : [{ kind: 'union', paths }];
  }

  #choice(): Step[] {
    if (this.#take('*')) return [{ kind: 'all' }];
    const key = this.#quotedKey();
    if (key !== undefined) return key;
    const [start, end, step] = (this.#match(/-?\d*(?::-?\d*)?(?::\d*)?/y) ?? '').split(':');
    if (start === '' && end === undefined) this.#fail('an index, a quoted name, * or ?( ) stands in brackets');
    const from = Number(start || 0);
    if (end === undefined) return [{ kind: 'slice', start: from, end: from === -1 ? undefined : from + 1, step: 1 }];
    const every = Number(step || 1);
    if (every === 0) this.#fail('the step of a slice is at least 1');
    return [{ kind: 'slice', start: from, end: end === '' ? undefined : Number(end), step: every }];
  }

  /** `'a.b'` is member b of a; `'a\.b'` is one name. */
  #quotedKey(): Step[] | undefined {
    const quote = this.#match(/['"]/y);
    if (quote === undefined) return undefined;
    const text = this.#match(quote === "'" ? /[^']*/y : /[^"]*/y) ?? '';
    this.#expect(quote);
    const names = text.match(/(?:\\.|[^.\\])+/g) ?? [];
    return names.map((name) => ({ kind: 'field', name: name.replace(/\\(.)/g, '$1') }));
  }

  #filter(): Step {
    this.#expect('(');
    const left = this.#operand();
    this.#space();
    const sign = this.#match(/==|!=|<=|>=|<|>/y);
    if (sign === undefined) {
      this.#expect(')');
      return { kind: 'filter', left };
    }
    this.#space();
    const right = this.#operand();
    this.#space();
    this.#expect(')');
    return { kind: 'filter', left, comparison: { sign, right } };
  }

  #operand(): Operand {
    this.#space();
    const quoted = this.#quoted();
    if (quoted !== undefined) return { value: quoted };
    const plain = this.#match(/(?:-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.])/y);
    return plain === undefined ? this.#path() : { value: JSON.parse(plain) };
  }

  #quoted(): string | undefined {
    const text = this.#match(/"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'/sy);
    return text?.slice(1, -1).replace(/\\(.)/gs, (_, char: string) => escapes[char] ?? char);
  }

  #space(): void {
    this.#match(/\s+/y);
  }

  #isNext(text: string): boolean {
    return this.#text.startsWith(text, this.#at);
  }

  #take(text: string): boolean {
    const is = this.#isNext(text);
    if (is) this.#at += text.length;
    return is;
  }

  #expect(text: string): void {
    if (!this.#take(text)) this.#fail(`"${text}" is missing`);
  }

  /** What a sticky pattern finds here; undefined for nothing. */
  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const text = pattern.exec(this.#text)?.[0];
    this.#at += text?.length ?? 0;
    return text === '' ? undefined : text;
  }

  #fail(why: string): never {
    const place = this.#at < this.#text.length ? `before ${this.#text.slice(this.#at, this.#at + 20)}` : 'at the end';
    throw new UsageError(`the JSONPath ${this.#text} cannot be read: ${why}, ${place}`);
  }
}
