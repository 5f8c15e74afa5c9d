/**
 * JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7396), with the answers of docs/reference/api.md. Written here because
 * the libraries for it treat `__proto__` as a way to the prototype, and a bad array index as a missing value.
 */

import { escapeToken, KindredError, unescapeToken, violation } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import { readJson, setMember } from '../runtime/read-json.ts';
import { isEqual } from '../schema/json-value.ts';
import { isObject } from './lifecycle.ts';

const texts = {
  mergeNotAnObject: localized('A merge patch must be a JSON object'),
  notAList: localized('A JSON patch must be a list of operations'),
  tooMany: localized('A JSON patch may have at most {limit} {limit|operation|operations}, this one has {count}'),
  notAnOperation: localized('Operation {index} is not an object'),
  badOperation: localized('Operation {index}: "op" must be one of add, remove, replace, move, copy, test; got {value}'),
  badPointer: localized('Operation {index}: "{member}" must be a JSON pointer, such as "/spec/name"; got {value}'),
  noValue: localized('Operation {index}: "value" is missing'),
  intoItself: localized('Operation {index}: "{from}" cannot be moved into itself'),
  badIndex: localized('Operation {index}: "{token}" in "{path}" is not an array index'),
  missing: localized('operation {index}: no value at "{path}"'),
  root: localized('operation {index}: the object itself cannot be removed'),
  testFailed: localized('Operation {index}: test failed: the value at "{path}" differs'),
  deep: localized('operation {index}: the object would be nested more than {limit} levels deep at "{path}"'),
  grows: localized('The patch lets the object grow by more than {limit} bytes'),
  work: localized('The patch takes too long: at operation {index} it has moved more than {limit} members and items'),
  members: localized('The object would have more than {limit} members'),
  containers: localized('The object would have more than {limit} objects and lists within it'),
};

export interface PatchLimits {
  /** Operations in one JSON patch. */
  readonly operations: number;
  /** Bytes that a patch may add to an object. */
  readonly growth: number;
  /** Nesting, members and containers (objects and lists) of a patched object: those of a body, so that what is read can be sent back. */
  readonly depth: number;
  readonly members: number;
  readonly containers: number;
}

/** Members and items that the operations of one patch may move: about a tenth of a second, in portions. */
const workLimit = 20_000_000;
/** Items of a list that move together cost less than one that is looked at. */
const shiftedTogether = 32;

/** @throws PayloadTooLarge when a patched object has more members or containers than a body may have */
export function checkExtent(object: object, { members: maxMembers, containers: maxContainers }: PatchLimits): void {
  let members = 0;
  let containers = 0;
  const count = (value: object): void => {
    if (++containers > maxContainers) {
      throw new KindredError('PayloadTooLarge', texts.containers, { params: { limit: maxContainers } });
    }
    if (Array.isArray(value)) {
      for (let i = 0; i < value.length; i++) {
        const item: unknown = value[i];
        if (typeof item === 'object' && item !== null) count(item);
      }
      return;
    }
    for (const name in value) {
      if (++members > maxMembers)
        throw new KindredError('PayloadTooLarge', texts.members, { params: { limit: maxMembers } });
      const member = (value as Record<string, unknown>)[name];
      if (typeof member === 'object' && member !== null) count(member);
    }
  };
  count(object);
}

/** RFC 7396. The result shares what the patch does not touch with the target. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result = new Map<string, unknown>(isObject(target) ? Object.entries(target) : []);
  for (const [member, value] of Object.entries(patch)) {
    if (value === null) result.delete(member);
    else result.set(member, mergePatch(result.get(member), value));
  }
  return Object.fromEntries(result);
}

/** @throws Invalid when the patch is no object */
export function checkMergePatch(patch: unknown): asserts patch is Record<string, unknown> {
  if (isObject(patch)) return;
  throw new KindredError('Invalid', texts.mergeNotAnObject, {
    errors: [violation('', 'type', texts.mergeNotAnObject)],
  });
}

const operationNames = new Set(['add', 'remove', 'replace', 'move', 'copy', 'test']);
const pointerSyntax = /^(?:\/(?:[^~/]|~[01])*)*$/u;

interface Operation {
  readonly op: 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test';
  readonly path: string;
  readonly from: string;
  readonly value: unknown;
}

function checkOperation(operation: unknown, index: number): void {
  const refuse = (text: (typeof texts)['badPointer'], params: object): never => {
    throw new KindredError('BadRequest', text, { params: { index, ...params }, operation: index });
  };
  if (!isObject(operation)) return refuse(texts.notAnOperation, {});
  const { op, path, from } = operation;
  if (typeof op !== 'string' || !operationNames.has(op)) return refuse(texts.badOperation, { value: op ?? null });
  const isPointer = (value: unknown): value is string => typeof value === 'string' && pointerSyntax.test(value);
  if (!isPointer(path)) return refuse(texts.badPointer, { member: 'path', value: path ?? null });
  if (op === 'move' || op === 'copy') {
    if (!isPointer(from)) return refuse(texts.badPointer, { member: 'from', value: from ?? null });
    if (op === 'move' && path.startsWith(`${from}/`)) return refuse(texts.intoItself, { from });
  } else if (op !== 'remove' && !Object.hasOwn(operation, 'value')) {
    return refuse(texts.noValue, {});
  }
}

/** RFC 6902, all or nothing: a failed patch leaves the target half-changed, so hand over a copy. */
export class JsonPatch {
  readonly #operations: readonly Operation[];
  readonly #limits: PatchLimits;
  #root: unknown;
  #growth: number;
  #work = workLimit;
  #index = -1;

  /** @throws BadRequest malformed; `operation` is the index. */
  constructor(target: object, patch: unknown, limits: PatchLimits) {
    if (!Array.isArray(patch)) throw new KindredError('BadRequest', texts.notAList);
    if (patch.length > limits.operations) {
      const counts = { limit: limits.operations, count: patch.length };
      throw new KindredError('BadRequest', texts.tooMany, { params: counts, operation: limits.operations });
    }
    patch.forEach(checkOperation);
    this.#operations = patch as Operation[];
    this.#limits = limits;
    this.#root = target;
    this.#growth = limits.growth;
  }

  /** The target with the operations that were done. */
  get result(): unknown {
    return this.#root;
  }

  /**
   * Does the next operation; false when there is none.
   * @throws BadRequest; PatchTestFailed; Invalid for a place that does not exist or is too deep; PayloadTooLarge when
   *   the object grows too much, or operations take too long. `operation` is the index.
   */
  step(): boolean {
    const operation = this.#operations[++this.#index];
    if (!operation) return false;
    this.#do(operation);
    return true;
  }

  #do({ op, path, from, value }: Operation): void {
    switch (op) {
      case 'test':
        return this.#test(path, value);
      case 'add':
        return this.#add(path, this.#grow(value));
      case 'remove':
        this.#remove(path);
        return;
      case 'replace':
        this.#require(path);
        this.#checkDepth(path, value);
        return this.#set(path, this.#grow(value));
      case 'copy':
        return this.#add(path, this.#grow(this.#require(from)));
      case 'move': {
        const moved = this.#require(from);
        if (from === path) return;
        this.#remove(from);
        return this.#add(path, moved);
      }
    }
  }

  #test(path: string, value: unknown): void {
    const found = this.#find(path);
    if (found && isEqual(found.value, value)) return;
    throw new KindredError('PatchTestFailed', texts.testFailed, {
      params: { index: this.#index, path },
      operation: this.#index,
    });
  }

  /** A copy of a value that the object is to take, charged to the growth that one patch may cause. */
  #grow(value: unknown): unknown {
    const text = JSON.stringify(value);
    this.#growth -= Buffer.byteLength(text);
    if (this.#growth < 0) {
      const { growth: limit } = this.#limits;
      throw new KindredError('PayloadTooLarge', texts.grows, { params: { limit }, operation: this.#index });
    }
    return readJson(text) as unknown;
  }

  #spend(count: number): void {
    this.#work -= count;
    if (this.#work >= 0) return;
    const params = { index: this.#index, limit: workLimit };
    throw new KindredError('PayloadTooLarge', texts.work, { params, operation: this.#index });
  }

  #checkDepth(path: string, value: unknown): void {
    const { depth } = this.#limits;
    if (tokensOf(path).length + this.#depthOf(value) <= depth) return;
    const params = { index: this.#index, limit: depth, path };
    const errors = [violation(path, 'depth', texts.deep, params)];
    throw new KindredError('Invalid', texts.deep, { params, operation: this.#index, errors });
  }

  #add(path: string, value: unknown): void {
    this.#checkDepth(path, value);
    const { parent, token } = this.#parent(path);
    if (!Array.isArray(parent)) return this.#set(path, value);
    const at = token === '-' ? parent.length : this.#arrayIndex(token, path);
    if (at > parent.length) this.#absent(path);
    this.#spend((parent.length - at) / shiftedTogether);
    parent.splice(at, 0, value);
  }

  /** Objects and arrays within one another; 0 for anything else. */
  #depthOf(value: unknown): number {
    if (typeof value !== 'object' || value === null) return 0;
    const within: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
    this.#spend(within.length);
    let deepest = 0;
    for (let i = 0; i < within.length; i++) {
      const one = within[i];
      if (typeof one === 'object' && one !== null) deepest = Math.max(deepest, this.#depthOf(one));
    }
    return deepest + 1;
  }

  #set(path: string, value: unknown): void {
    if (path === '') {
      this.#root = value;
      return;
    }
    const { parent, token } = this.#parent(path);
    if (Array.isArray(parent)) parent[this.#arrayIndex(token, path)] = value;
    else if (isObject(parent)) setMember(parent, token, value);
    else this.#absent(path);
  }

  #remove(path: string): void {
    if (path === '') {
      const errors = [violation('', 'path', texts.root, { index: this.#index })];
      throw new KindredError('Invalid', texts.root, { params: { index: this.#index }, operation: this.#index, errors });
    }
    this.#require(path);
    const { parent, token } = this.#parent(path);
    if (Array.isArray(parent)) {
      this.#spend((parent.length - Number(token)) / shiftedTogether);
      parent.splice(Number(token), 1);
    } else delete (parent as Record<string, unknown>)[token];
  }

  #require(path: string): unknown {
    const found = this.#find(path);
    return found ? found.value : this.#absent(path);
  }

  #find(path: string): { value: unknown } | undefined {
    let value = this.#root;
    for (const token of tokensOf(path)) {
      if (Array.isArray(value)) {
        if (token === '-') return undefined;
        const at = this.#arrayIndex(token, path);
        if (at >= value.length) return undefined;
        value = value[at];
      } else if (isObject(value) && Object.hasOwn(value, token)) {
        value = value[token];
      } else {
        return undefined;
      }
    }
    return { value };
  }

  #parent(path: string): { parent: unknown; token: string } {
    const tokens = tokensOf(path);
    const token = tokens.pop();
    if (token === undefined) return { parent: undefined, token: '' };
    const parentPath = tokens.map((one) => `/${escapeToken(one)}`).join('');
    const parent = this.#find(parentPath);
    return { parent: parent && typeof parent.value === 'object' ? parent.value : this.#absent(path), token };
  }

  /** RFC 6901: digits without a leading zero. */
  #arrayIndex(token: string, path: string): number {
    if (/^(?:0|[1-9]\d*)$/.test(token)) return Number(token);
    const members = { operation: this.#index };
    throw new KindredError('BadRequest', texts.badIndex, { params: { index: this.#index, token, path }, ...members });
  }

  #absent(path: string): never {
    const params = { index: this.#index, path };
    const errors = [violation(path, 'path', texts.missing, params)];
    throw new KindredError('Invalid', texts.missing, { params, operation: this.#index, errors });
  }
}

function tokensOf(path: string): string[] {
  return path.split('/').slice(1).map(unescapeToken);
}
