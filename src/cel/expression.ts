/**
 * One expression: parsed by a library, its types checked, and made into functions that count their steps. Why the evaluation
 * is our own: docs/decisions/cel.md.
 */
import { createRequire } from 'node:module';
import type { ASTNode, Environment } from '@marcbachmann/cel-js';
import { messageOf } from '../errors.ts';
import { CelError, fail } from './frame.ts';
import { Functions, overloadFor } from './functions.ts';
import { kubernetesLibrary } from './kubernetes-library.ts';
import { keyOf, standardLibrary } from './library.ts';
import { expressionOf } from './regex.ts';
import type { CelType } from './types.ts';
import { bool, dyn, listOf, mapOf, nameOf, optionalOf, typeOfKind, unify } from './types.ts';
import type { Frame, Key, Value } from './values.ts';
import { equals, isMapping, JsonMapping, kindOf, List, MapValue, Optional, TypeValue, Uint } from './values.ts';

/** Why an expression does not compile, in the words of CEL. */
export class ExpressionError extends Error {}

export interface Expression {
  readonly type: CelType;
  /** Names of the variables that it uses. */
  readonly uses: ReadonlySet<string>;
  /** What it reads of `self`: paths of members, an empty path for all of it. */
  readonly reads: readonly (readonly string[])[];
  /** That it takes for the largest lists and maps that the types allow; those without a bound count as one item. */
  readonly steps: number;
  /** Throws `CelError` when it has no value, `TooCostly` when it takes too many steps. */
  run(frame: Frame): Value;
}

type Run = (frame: Frame) => Value;

interface Part {
  readonly type: CelType;
  readonly run: Run;
  /** Steps of a run that are known before it: whoever runs the part spends them, with those of its own. */
  readonly cost: number;
  /** Of `self`, or of a member of it. */
  readonly path?: readonly string[];
}

interface Member {
  /** As it stands in JSON. */
  readonly name: string;
  readonly type: CelType;
  readonly get: (value: Value, frame: Frame) => Value | undefined;
}

/** Longest text of an expression, and how deep its parts may be nested. */
const limits = { length: 20_000, depth: 250 };

const require = createRequire(import.meta.url);
let parser: Environment | undefined;
let functions: Functions | undefined;

/**
 * Throws `ExpressionError`.
 * @param variables types by name; a frame has their values in this order
 */
export function compileExpression(source: string, variables: ReadonlyMap<string, CelType>): Expression {
  if (source.length > limits.length) throw new ExpressionError(`is longer than ${limits.length} characters`);
  // Loading the library takes 20 ms, and most services have no rules.
  parser ??= new (require('@marcbachmann/cel-js') as typeof import('@marcbachmann/cel-js')).Environment({
    enableOptionalTypes: true,
    unlistedVariablesAreDyn: true,
    limits: {
      maxAstNodes: 10_000,
      maxDepth: limits.depth,
      maxListElements: 1_000,
      maxMapEntries: 1_000,
      maxCallArguments: 32,
    },
  });
  functions ??= new Functions(standardLibrary(), kubernetesLibrary());
  let ast: ASTNode;
  try {
    ({ ast } = parser.parse(source));
  } catch (error) {
    if (error instanceof RangeError) throw new ExpressionError('is nested too deeply');
    throw new ExpressionError(`Syntax error: ${messageOf(error).split('\n')[0]}`);
  }
  const compiler = new ExpressionCompiler(functions, variables);
  const { type, run, cost } = compiler.part(ast);
  const { uses, reads, steps } = compiler;
  return {
    type,
    uses,
    reads,
    steps,
    run(frame) {
      frame.spend(cost);
      return run(frame);
    },
  };
}

const typeNames: Readonly<Record<string, string>> = {
  bool: 'bool',
  int: 'int',
  uint: 'uint',
  double: 'double',
  string: 'string',
  bytes: 'bytes',
  list: 'list',
  map: 'map',
  null_type: 'null_type',
  type: 'type',
  optional_type: 'optional_type',
};

const comprehensions = ['all', 'exists', 'exists_one', 'existsOne', 'map', 'filter'];

/** Of one part of an expression, in an estimate. */
const partSteps = 2;

/** An element of an empty list. */
const free: CelType = { kind: 'param', name: '_' };

class ExpressionCompiler {
  readonly uses = new Set<string>();
  readonly reads: (readonly string[])[] = [];
  steps = 0;
  readonly #functions: Functions;
  /** From the outermost on; a later one hides an earlier one of its name. */
  readonly #variables: { name: string; type: CelType }[];
  #depth = 0;

  constructor(functions: Functions, variables: ReadonlyMap<string, CelType>) {
    this.#functions = functions;
    this.#variables = [...variables].map(([name, type]) => ({ name, type }));
  }

  part(node: ASTNode): Part {
    if (++this.#depth > limits.depth) throw new ExpressionError('is nested too deeply');
    this.steps += partSteps;
    const made = this.#part(node);
    this.#depth--;
    return made;
  }

  #part(node: ASTNode): Part {
    switch (node.op) {
      case 'value':
        return constant(node.args as unknown);
      case 'id':
        return this.#identifier(node.args);
      case '.':
        return this.#select(node.args[0], node.args[1]);
      case '.?':
        return this.#optionalSelect(node.args[0], node.args[1]);
      case '[]':
        return this.#index(this.part(node.args[0]), this.part(node.args[1]), false);
      case '[?]':
        return this.#index(this.part(node.args[0]), this.part(node.args[1]), true);
      case 'call':
        return this.#function(node.args[0], node.args[1]);
      case 'rcall':
        return this.#method(node.args[0], node.args[1], node.args[2]);
      case 'list':
        return this.#list(node.args.map((one) => this.part(one)));
      case 'map':
        return this.#map(node.args.map(([key, value]) => ({ key: this.part(key), value: this.part(value) })));
      case '?:':
        return this.#conditional(node.args.map((one) => this.part(one)));
      case '&&':
      case '||':
        return this.#logical(node);
      case '==':
      case '!=':
        return this.#equality(this.part(node.args[0]), this.part(node.args[1]), node.op === '==');
      case '!_':
      case '-_':
        return this.#unary(node.op, node.args);
      default:
        return this.#call(node.op, [this.part(node.args[0]), this.part(node.args[1])]);
    }
  }

  #find(name: string): number {
    return this.#variables.findLastIndex((one) => one.name === name);
  }

  #identifier(name: string): Part {
    const at = this.#find(name);
    if (at >= 0) {
      this.uses.add(name);
      const path = name === 'self' && at === 0 ? [] : undefined;
      if (path) this.reads.push(path);
      return {
        type: this.#variables[at]!.type,
        ...(path && { path }),
        cost: 1,
        run: (frame) => frame.variables[at]!,
      };
    }
    if (!Object.hasOwn(typeNames, name))
      throw new ExpressionError(`undeclared reference to '${name}' (in container '')`);
    const value = new TypeValue(typeNames[name]!);
    return { type: typeOfKind('type'), cost: 0, run: () => value };
  }

  /** The name of a group of functions, or of a type that has one. */
  #group(node: ASTNode): string | undefined {
    return node.op === 'id' && this.#find(node.args) < 0 ? node.args : undefined;
  }

  #select(holder: ASTNode, name: string): Part {
    const text = qualified(holder, name);
    if (text === 'google.protobuf.Timestamp' || text === 'google.protobuf.Duration') {
      const value = new TypeValue(text);
      return { type: typeOfKind('type'), cost: 0, run: () => value };
    }
    const of = this.part(holder);
    if (of.type.kind === 'optional') return this.#optionalAccess(of, this.#member(of.type.value, name));
    const member = this.#member(of.type, name);
    const { type, get } = member;
    const { run } = of;
    return {
      type,
      ...this.#pathOf(of, member),
      cost: of.cost + 2,
      run: (frame) => get(run(frame), frame) ?? fail(`no such key: ${name}`),
    };
  }

  /** Of a member: what is read is this alone, not all of its holder. */
  #pathOf({ path: holder }: Part, { name }: Member): { path?: readonly string[] } {
    if (!holder) return {};
    const path = [...holder, name];
    this.reads[this.reads.lastIndexOf(holder)] = path;
    return { path };
  }

  #optionalSelect(holder: ASTNode, name: string): Part {
    const of = this.part(holder);
    const inner = of.type.kind === 'optional' ? of.type.value : of.type;
    return this.#optionalAccess(of, this.#member(inner, name));
  }

  /** How a member of a value of this type is read: undefined when there is none. */
  #member(type: CelType, name: string): Member {
    if (type.kind === 'object') {
      const field = type.fields.get(name);
      if (!field) throw new ExpressionError(`undefined field '${name}'`);
      return {
        name: field.name,
        type: field.type,
        get: (value, frame) =>
          value instanceof JsonMapping ? value.member(field.name, field.type, frame) : memberOf(value, name, frame),
      };
    }
    if (!['map', 'dyn', 'param'].includes(type.kind)) {
      throw new ExpressionError(`type '${nameOf(type)}' does not support field selection`);
    }
    return {
      name,
      type: type.kind === 'map' ? bound(type.value) : dyn,
      get: (value, frame) => memberOf(value, name, frame),
    };
  }

  #optionalAccess(of: Part, member: Member): Part {
    const { run } = of;
    const { type, get } = member;
    return {
      type: type.kind === 'optional' ? type : optionalOf(type),
      ...this.#pathOf(of, member),
      cost: of.cost + 2,
      run: (frame) => {
        const value = run(frame);
        const inner = value instanceof Optional ? value.value : value;
        if (inner === undefined) return Optional.none;
        const found = get(inner, frame);
        return found === undefined ? Optional.none : new Optional(found);
      },
    };
  }

  #index(of: Part, index: Part, isOptional: boolean): Part {
    const isChain = isOptional || of.type.kind === 'optional';
    const inner = of.type.kind === 'optional' ? of.type.value : of.type;
    const element = elementAt(inner, index.type);
    const cost = of.cost + index.cost + 2;
    if (isChain) {
      return {
        type: optionalOf(element),
        cost,
        run: (frame) => {
          const value = of.run(frame);
          const holder = value instanceof Optional ? value.value : value;
          const key = index.run(frame);
          if (holder === undefined) return Optional.none;
          const found = itemAt(holder, key, frame);
          return found === undefined ? Optional.none : new Optional(found);
        },
      };
    }
    return {
      type: element,
      cost,
      run: (frame) => {
        const holder = of.run(frame);
        const key = index.run(frame);
        return itemAt(holder, key, frame) ?? noItem(holder, key);
      },
    };
  }

  #list(parts: readonly Part[]): Part {
    const element = parts.reduce<CelType>((known, { type }) => unify(known, type) ?? dyn, free);
    return {
      type: listOf(element),
      cost: costOf(parts) + newSteps + parts.length,
      run: (frame) => {
        const items: Value[] = [];
        for (const { run } of parts) items.push(run(frame));
        return new List(items);
      },
    };
  }

  #map(entries: readonly { readonly key: Part; readonly value: Part }[]): Part {
    const [keys, values] = [entries.map(({ key }) => key), entries.map(({ value }) => value)];
    const join = (parts: readonly Part[]) =>
      parts.reduce<CelType>((known, { type }) => unify(known, type) ?? dyn, free);
    return {
      type: mapOf(join(keys), join(values)),
      cost: costOf([...keys, ...values]) + newSteps + newSteps * entries.length,
      run: (frame) => {
        const made = new Map<Key, Value>();
        for (const one of entries) {
          const key = keyOf(one.key.run(frame));
          if (made.has(key)) fail(`map key conflict: ${key}`);
          made.set(key, one.value.run(frame));
        }
        return new MapValue(made);
      },
    };
  }

  #conditional([condition, yes, no]: readonly Part[]): Part {
    const type = unify(yes!.type, no!.type);
    if (!type || !isBool(condition!.type)) throw noOverload('_?_:_', [condition!, yes!, no!]);
    return {
      type,
      cost: condition!.cost + 1,
      run: (frame) => {
        const { run, cost } = truth(condition!.run(frame)) ? yes! : no!;
        frame.spend(cost);
        return run(frame);
      },
    };
  }

  /** A chain of one operator, however long. What one part says decides even where another one fails. */
  #logical(node: ASTNode): Part {
    const isAnd = node.op === '&&';
    const nodes: ASTNode[] = [];
    const gather = [node];
    for (let one = gather.pop(); one; one = gather.pop()) {
      if (one.op === node.op) gather.push((one.args as ASTNode[])[1]!, (one.args as ASTNode[])[0]!);
      else nodes.push(one);
    }
    const parts = nodes.map((one) => this.part(one));
    if (!parts.every(({ type }) => isBool(type))) throw noOverload(isAnd ? '_&&_' : '_||_', parts);
    return {
      type: bool,
      cost: 0,
      run: (frame) => {
        let error: CelError | undefined;
        for (const { run, cost } of parts) {
          frame.spend(cost + 1);
          try {
            if (truth(run(frame)) !== isAnd) return !isAnd;
          } catch (thrown) {
            const caught = frame.caught(thrown);
            error ??= caught;
          }
        }
        if (error) throw error;
        return isAnd;
      },
    };
  }

  #equality(a: Part, b: Part, isEqual: boolean): Part {
    if (!comparable(a.type, b.type)) throw noOverload(isEqual ? '_==_' : '_!=_', [a, b]);
    return {
      type: bool,
      cost: a.cost + b.cost,
      run: (frame) => equals(a.run(frame), b.run(frame), frame) === isEqual,
    };
  }

  #unary(op: string, operand: ASTNode): Part {
    const inner = operand as { op: string; args: unknown };
    // The smallest integer has no positive of its own.
    if (op === '-_' && inner.op === 'value' && typeof inner.args === 'bigint') return integer(-inner.args);
    return this.#call(op, [this.part(operand)]);
  }

  #function(name: string, args: readonly ASTNode[]): Part {
    if (name === 'has' && args.length === 1) return this.#has(args[0]!);
    return this.#call(
      name,
      args.map((one) => this.part(one)),
    );
  }

  #has(node: ASTNode): Part {
    if (node.op !== '.') throw new ExpressionError('invalid argument to has() macro');
    const of = this.part(node.args[0]);
    const isOptional = of.type.kind === 'optional';
    const member = this.#member(of.type.kind === 'optional' ? of.type.value : of.type, node.args[1]);
    const { get } = member;
    this.#pathOf(of, member);
    const { run } = of;
    return {
      type: bool,
      cost: of.cost + 2,
      run: (frame) => {
        const value = run(frame);
        const inner = isOptional ? (value as Optional).value : value;
        return inner !== undefined && get(inner, frame) !== undefined;
      },
    };
  }

  #method(name: string, receiver: ASTNode, args: readonly ASTNode[]): Part {
    const group = this.#group(receiver);
    if (group === 'cel' && name === 'bind' && args.length === 3) return this.#bind(args);
    if (group !== undefined && this.#functions.named(`${group}.${name}`)) {
      return this.#call(
        `${group}.${name}`,
        args.map((one) => this.part(one)),
      );
    }
    if (comprehensions.includes(name) && args.length >= 2 && (args.length === 2 || name === 'map')) {
      return this.#comprehension(name, this.part(receiver), args);
    }
    const of = this.part(receiver);
    if (name === 'orValue' || name === 'or') return this.#or(of, this.part(args[0]!), name === 'or');
    if (name === 'optMap' || name === 'optFlatMap') return this.#optionalMap(of, args, name === 'optMap');
    return this.#call(`.${name}`, [of, ...args.map((one) => this.part(one))]);
  }

  /** What a part gives while a variable has a name. */
  #within<T>(node: ASTNode, type: CelType, make: (slot: number) => T): T {
    if (node.op !== 'id') throw new ExpressionError('argument must be a simple name');
    const slot = this.#variables.push({ name: node.args, type }) - 1;
    const made = make(slot);
    this.#variables.pop();
    return made;
  }

  #bind([name, value, body]: readonly ASTNode[]): Part {
    const { type, run, cost } = this.part(value!);
    return this.#within(name!, type, (slot) => {
      const inner = this.part(body!);
      return {
        type: inner.type,
        cost: cost + inner.cost,
        run: (frame) => {
          frame.variables[slot] = run(frame);
          return inner.run(frame);
        },
      };
    });
  }

  #or(of: Part, other: Part, isOptional: boolean): Part {
    const inner = of.type.kind === 'optional' ? of.type.value : dyn;
    const wanted = isOptional ? optionalOf(inner) : inner;
    const type = ['optional', 'dyn'].includes(of.type.kind) ? unify(wanted, other.type) : undefined;
    if (!type) throw noOverload(isOptional ? 'or' : 'orValue', [of, other]);
    return {
      type,
      cost: of.cost + 1,
      run: (frame) => {
        const value = of.run(frame);
        if (!(value instanceof Optional)) return fail('no such overload');
        if (value.value !== undefined) return isOptional ? value : value.value;
        frame.spend(other.cost);
        return other.run(frame);
      },
    };
  }

  #optionalMap(of: Part, [name, body]: readonly ASTNode[], wraps: boolean): Part {
    if (!name || !body || !['optional', 'dyn'].includes(of.type.kind)) throw noOverload('optMap', [of]);
    return this.#within(name, of.type.kind === 'optional' ? of.type.value : dyn, (slot) => {
      const inner = this.part(body);
      return {
        type: wraps ? optionalOf(inner.type) : inner.type,
        cost: of.cost,
        run: (frame) => {
          const value = of.run(frame);
          if (!(value instanceof Optional)) return fail('no such overload');
          if (value.value === undefined) return value;
          frame.spend(inner.cost);
          frame.variables[slot] = value.value;
          const made = inner.run(frame);
          return wraps ? new Optional(made) : made;
        },
      };
    });
  }

  #comprehension(name: string, range: Part, args: readonly ASTNode[]): Part {
    const { type } = range;
    const item = type.kind === 'list' ? bound(type.element) : type.kind === 'map' ? bound(type.key) : undefined;
    if (!item && type.kind !== 'dyn') {
      throw new ExpressionError(
        `expression of type '${nameOf(type)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
      );
    }
    const most = type.kind === 'list' || type.kind === 'map' ? type.most : undefined;
    const sized = most !== undefined && { most };
    return this.#within(args[0]!, item ?? dyn, (slot) => {
      const before = this.steps;
      const bodies = args.slice(1).map((one) => this.part(one));
      this.steps = before + (most ?? 1) * (partSteps + this.steps - before);
      const [body, transform] = bodies as [Part, Part | undefined];
      const { cost } = range;
      if (name === 'map') {
        if (transform && !isBool(body.type)) throw noOverload('_?_:_', bodies);
        const made = transform ?? body;
        const run = collecting(range.run, slot, transform && body, made);
        return { type: { ...listOf(made.type), ...sized }, cost, run };
      }
      if (!isBool(body.type)) throw noOverload(name, [body]);
      if (name === 'filter') {
        const run = collecting(range.run, slot, body, undefined);
        return { type: { ...listOf(item ?? dyn), ...sized }, cost, run };
      }
      const isAll = name === 'all';
      const run =
        isAll || name === 'exists' ? quantifying(range.run, slot, body, isAll) : counting(range.run, slot, body);
      return { type: bool, cost, run };
    });
  }

  #call(name: string, parts: readonly Part[]): Part {
    const call = this.#functions.resolve(
      name,
      parts.map(({ type }) => type),
    );
    if (!call) {
      if (!this.#functions.named(name))
        throw new ExpressionError(`undeclared reference to '${name.replace(/^\./, '')}' (in container '')`);
      throw noOverload(/^\w|^\./.test(name) ? name.replace(/^\./, '') : `_${name}_`, parts);
    }
    const { overloads, isSure, result: type } = call;
    const { run } = overloads[0]!;
    const [a, b] = parts.map((one) => one.run);
    this.#checkPattern(name, parts);
    const cost = costOf(parts) + (isSure ? callSteps : searchedCallSteps) + (type.kind === 'int' ? integerSteps : 0);
    if (isSure && parts.length === 1) return { type, cost, run: (frame) => run(frame, a!(frame)) };
    if (isSure && parts.length === 2) return { type, cost, run: (frame) => run(frame, a!(frame), b!(frame)) };
    return {
      type,
      cost,
      run: (frame) => {
        const values = parts.map((one) => one.run(frame));
        const overload = isSure ? overloads[0] : overloadFor(overloads, values);
        if (!overload) return fail('no such overload');
        return overload.run(frame, ...values);
      },
    };
  }

  /** A pattern that is written down is a mistake of the expression when it is none. */
  #checkPattern(name: string, parts: readonly Part[]): void {
    const pattern = parts[1] as (Part & { value?: unknown }) | undefined;
    if (!['.matches', 'matches', '.find', '.findAll'].includes(name) || typeof pattern?.value !== 'string') return;
    try {
      expressionOf(pattern.value);
    } catch (error) {
      if (!(error instanceof CelError)) throw error;
      throw new ExpressionError(error.message);
    }
  }
}

/** Steps of going on to the next item of a loop. */
const itemSteps = 2;
/** Steps of a call whose types are known, and of one that finds its function by its values. */
const callSteps = 2;
const searchedCallSteps = 5;
/** Steps that an integer takes which is made: it has 64 bits. */
const integerSteps = 3;
/** Steps that a new list or map takes besides its items. */
const newSteps = 15;

function costOf(parts: readonly Part[]): number {
  return parts.reduce((sum, { cost }) => sum + cost, 0);
}

/** The items of a list, or the keys of a map. */
function itemsOf(value: Value, frame: Frame): readonly Value[] {
  if (value instanceof List) return value.items;
  if (!isMapping(value)) return fail('no such overload');
  const keys = [...value.keys()];
  frame.spend(keys.length);
  return keys;
}

/** As `&&` or `||` over the items, each of which is the value of a variable: what one says decides even where another one fails. */
function quantifying(range: Run, slot: number, { run, cost }: Part, isAll: boolean): Run {
  return (frame) => {
    let error: CelError | undefined;
    for (const item of itemsOf(range(frame), frame)) {
      frame.spend(itemSteps + cost);
      frame.variables[slot] = item;
      try {
        if (truth(run(frame)) !== isAll) return !isAll;
      } catch (thrown) {
        const caught = frame.caught(thrown);
        error ??= caught;
      }
    }
    if (error) throw error;
    return isAll;
  };
}

function counting(range: Run, slot: number, { run, cost }: Part): Run {
  return (frame) => {
    let count = 0;
    for (const item of itemsOf(range(frame), frame)) {
      frame.spend(itemSteps + cost);
      frame.variables[slot] = item;
      if (truth(run(frame))) count++;
    }
    return count === 1;
  };
}

/** @param filter undefined: all of them. @param transform undefined: the items themselves */
function collecting(range: Run, slot: number, filter: Part | undefined, transform: Part | undefined): Run {
  return (frame) => {
    const items: Value[] = [];
    for (const item of itemsOf(range(frame), frame)) {
      frame.spend(itemSteps + (filter?.cost ?? 0));
      frame.variables[slot] = item;
      if (filter && !truth(filter.run(frame))) continue;
      if (transform) frame.spend(transform.cost);
      items.push(transform ? transform.run(frame) : item);
    }
    return new List(items);
  };
}

function constant(given: unknown): Part {
  if (typeof given === 'bigint') return integer(given);
  const isOther = typeof given === 'object' && given !== null && !(given instanceof Uint8Array);
  // The library has an integer without a sign as an object around it.
  const value = isOther ? new Uint(given.valueOf() as unknown as bigint) : (given as Value);
  return { type: typeOfKind(kindOf(value) as 'int'), cost: 0, run: () => value, value } as Part;
}

function integer(value: bigint): Part {
  if (value < -(2n ** 63n) || value >= 2n ** 63n) throw new ExpressionError('invalid int literal');
  return { type: typeOfKind('int'), cost: 0, run: () => value };
}

function isBool({ kind }: CelType): boolean {
  return kind === 'bool' || kind === 'dyn' || kind === 'param';
}

function truth(value: Value): boolean {
  return typeof value === 'boolean' ? value : fail('no such overload');
}

/** The type of something that may be anything. */
function bound(type: CelType): CelType {
  return type.kind === 'param' ? dyn : type;
}

function comparable(a: CelType, b: CelType): boolean {
  if (a.kind === 'null' || b.kind === 'null') return true;
  return unify(a, b) !== undefined;
}

function noOverload(name: string, parts: readonly Part[]): ExpressionError {
  const types = parts.map(({ type }) => nameOf(type)).join(', ');
  return new ExpressionError(`found no matching overload for '${name}' applied to '(${types})'`);
}

function memberOf(value: Value, name: string, frame: Frame): Value | undefined {
  if (value instanceof Optional) return value.value === undefined ? undefined : memberOf(value.value, name, frame);
  return isMapping(value) ? value.get(name, frame) : fail('no such overload');
}

function elementAt(of: CelType, index: CelType): CelType {
  switch (of.kind) {
    case 'list':
      if (['int', 'uint', 'double', 'dyn'].includes(index.kind)) return bound(of.element);
      break;
    case 'map':
      if (unify(of.key, index)) return bound(of.value);
      break;
    case 'object':
    case 'dyn':
    case 'param':
      return dyn;
    default:
  }
  throw new ExpressionError(`found no matching overload for '_[_]' applied to '(${nameOf(of)}, ${nameOf(index)})'`);
}

/** Undefined when there is none. */
function itemAt(holder: Value, key: Value, frame: Frame): Value | undefined {
  if (isMapping(holder)) return holder.get(keyOf(key), frame);
  if (!(holder instanceof List)) return fail('no such overload');
  const index = keyOf(key);
  return typeof index === 'bigint' ? holder.items[Number(index)] : fail('no such overload');
}

function noItem(holder: Value, key: Value): never {
  return fail(holder instanceof List ? `index out of bounds: ${keyOf(key)}` : `no such key: ${keyOf(key)}`);
}

/** `a.b.c` of names alone; undefined for anything else. */
function qualified(node: ASTNode, name: string): string | undefined {
  if (node.op === 'id') return `${node.args}.${name}`;
  const start = node.op === '.' ? qualified(node.args[0], node.args[1]) : undefined;
  return start && `${start}.${name}`;
}
