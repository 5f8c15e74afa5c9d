/**
 * JSON Schemas as components of an OpenAPI document. A schema document with references of its own (`#/$defs/Address`,
 * `$id`, anchors) is cut at their targets: each becomes a component, because generators of clients follow references to
 * components only. What the service closes silently (docs/reference/objects.md) is closed in words.
 */
import { escapeToken, unescapeToken } from '../../errors.ts';
import {
  inPlaceKeywords,
  isObject,
  isPureReference,
  listKeywords,
  mapKeywords,
  schemaKeywords,
  subschemas,
} from '../../schema/keywords.ts';
import { withoutFragment } from '../../schema/references.ts';

export type JsonSchema = Record<string, unknown>;

const components = '#/components/schemas/';

export function componentRef(name: string): { $ref: string } {
  return { $ref: components + name };
}

export interface ComponentOptions {
  /** Pointers of parts that become components besides the targets of references; each is a document of its own to `$id`s. */
  readonly parts?: readonly string[];
  /** Whether objects with `properties` that do not say `additionalProperties` admit no other members. */
  readonly closed: boolean;
  /**
   * For what clients send: what has a default is not required, and `default` is told in the description, because generators
   * of clients take what has one for something that is always there.
   */
  readonly sent?: boolean;
  /** The `properties` of the whole do not close it: others apply beside them that may. */
  readonly openRoot?: boolean;
}

/**
 * The components of one schema document: the first is the whole of it under `name`, the others parts of it under `name`
 * and their path.
 */
export function componentsOf(schema: object, name: string, options: ComponentOptions): Map<string, JsonSchema> {
  return new Cutter(schema as JsonSchema, name, options).result;
}

const definitions = ['$defs', 'definitions'];
/** `dependencies` stays as it is: OpenAPI does not have it. */
const maps = mapKeywords.filter((keyword) => keyword !== 'dependencies');
/** Say where a schema is, which a component's name does instead. */
const dropped = new Set([...definitions, '$schema', '$id', '$anchor', '$dynamicAnchor', '$comment', '$vocabulary']);

interface Node {
  readonly schema: JsonSchema;
  readonly pointer: string;
  /** For references with a URI. */
  readonly base: string;
  /** Pointer of the schema that `#` means. */
  readonly resource: string;
}

/** Direct sub-schemas with the keyword that holds them. `additionalProperties: false` and the like are no components. */
function below(node: Node): { keyword: string; node: Node }[] {
  return subschemas(node.schema)
    .filter(
      ({ keyword, schema }) => keyword !== 'dependencies' && (isObject(schema) || !schemaKeywords.includes(keyword)),
    )
    .map(({ keyword, path, schema }) => {
      return { keyword, node: { ...node, schema: schema as JsonSchema, pointer: `${node.pointer}${path}` } };
    });
}

class Cutter {
  readonly result = new Map<string, JsonSchema>();
  readonly #options: ComponentOptions;
  readonly #nodes = new Map<string, Node>();
  readonly #resources = new Map<string, string>();
  readonly #anchors = new Map<string, string>();
  /** Names of components by pointer. */
  readonly #names = new Map<string, string>();
  /** Pointers that a schema beside others refers to: these must not close themselves. */
  readonly #shared = new Set<string>();
  /** With `sent`, by pointer the names of members that defaults fill in at a place to which the schema applies. */
  readonly #filled = new Map<string, ReadonlySet<string>>();

  constructor(document: JsonSchema, name: string, options: ComponentOptions) {
    this.#options = options;
    const root = 'schema://document/';
    this.#resources.set(root, '');
    this.#index({ schema: document, pointer: '', base: root, resource: '' });
    const targets = new Set(['', ...(options.parts ?? []).filter((pointer) => this.#nodes.has(pointer))]);
    for (const node of this.#nodes.values()) {
      const target = this.#targetOf(node);
      if (target !== undefined) targets.add(target);
    }
    this.#findShared(false, this.#nodes.get('')!, new Set());
    if (options.sent) this.#findFilled(this.#nodes.get('')!, this.#filledIn(this.#nodes.get('')!));
    this.#nameAll(name, [...targets]);
    for (const [pointer, own] of this.#names) this.result.set(own, this.#copy(this.#nodes.get(pointer)!, false, true));
  }

  #index(node: Node): void {
    if (!isObject(node.schema)) {
      const schema = (node.schema as unknown) === false ? { not: {} } : {};
      this.#nodes.set(node.pointer, { ...node, schema });
      return;
    }
    const { schema, pointer } = node;
    let { base, resource } = node;
    if (this.#options.parts?.includes(pointer)) base = `schema://part${pointer}/`;
    if (typeof schema.$id === 'string' && URL.canParse(schema.$id, base)) {
      base = withoutFragment(new URL(schema.$id, base).href);
      resource = pointer;
      this.#resources.set(base, pointer);
    }
    for (const anchor of [schema.$anchor, schema.$dynamicAnchor]) {
      if (typeof anchor === 'string') this.#anchors.set(`${resource}#${anchor}`, pointer);
    }
    const own = { schema, pointer, base, resource };
    this.#nodes.set(pointer, own);
    for (const { node: child } of below(own)) this.#index({ ...child, base, resource });
  }

  /** Pointer of what the schema refers to; undefined when it refers to nothing that is known here. */
  #targetOf({ schema, base, resource }: Node): string | undefined {
    const ref = schema.$ref ?? schema.$dynamicRef;
    if (typeof ref !== 'string') return undefined;
    let at: string | undefined = resource;
    if (!ref.startsWith('#'))
      at = URL.canParse(ref, base) ? this.#resources.get(withoutFragment(new URL(ref, base).href)) : undefined;
    if (at === undefined) return undefined;
    const hash = ref.indexOf('#');
    const fragment = hash < 0 ? '' : decodeURIComponent(ref.slice(hash + 1));
    const pointer =
      fragment === '' || fragment.startsWith('/') ? `${at}${fragment}` : this.#anchors.get(`${at}#${fragment}`);
    return pointer !== undefined && this.#nodes.has(pointer) ? pointer : undefined;
  }

  #findShared(shared: boolean, node: Node, seen: Set<string>): void {
    const key = `${shared} ${node.pointer}`;
    if (seen.has(key)) return;
    seen.add(key);
    if (shared) this.#shared.add(node.pointer);
    const target = this.#targetOf(node);
    if (target !== undefined) this.#findShared(shared || !isPureReference(node.schema), this.#nodes.get(target)!, seen);
    const others = [...this.#beside(node)];
    for (const { keyword, node: child } of below(node)) {
      if (definitions.includes(keyword)) continue;
      const several =
        inPlaceKeywords.includes(keyword) || others.some((other) => describes(other, keyword, child.pointer, node));
      this.#findShared(shared || several, this.#nodes.get(child.pointer)!, seen);
    }
  }

  /** The schema and all that apply to the same place because of it. */
  *#beside(node: Node, seen = new Set<string>()): Generator<Node> {
    if (seen.has(node.pointer)) return;
    seen.add(node.pointer);
    yield node;
    const target = this.#targetOf(node);
    if (target !== undefined) yield* this.#beside(this.#nodes.get(target)!, seen);
    for (const { keyword, node: child } of below(node)) {
      if (inPlaceKeywords.includes(keyword)) yield* this.#beside(this.#nodes.get(child.pointer)!, seen);
    }
  }

  #nameAll(name: string, targets: string[]): void {
    const taken = new Set<string>();
    for (const pointer of targets.sort()) {
      const words = pointer
        .split('/')
        .slice(1)
        .filter((token) => !maps.includes(token));
      const wish = [name, ...words.map((word) => unescapeToken(word).replaceAll(/[^A-Za-z0-9_-]/g, '_'))].join('.');
      let chosen = wish;
      for (let count = 2; taken.has(chosen); count++) chosen = `${wish}_${count}`;
      taken.add(chosen);
      this.#names.set(pointer, chosen);
    }
  }

  /** @param shared below a place to which several schemas apply @param whole the component itself, not a reference to it */
  #copy(node: Node, shared: boolean, whole = false): JsonSchema {
    const name = this.#names.get(node.pointer);
    if (name !== undefined && !whole) return this.#refer(node.pointer, shared);
    const open = shared || this.#shared.has(node.pointer);
    const filled = this.#filled.get(node.pointer);
    const result: JsonSchema = {};
    const target = this.#targetOf(node);
    for (const [key, value] of Object.entries(node.schema)) {
      if (dropped.has(key) || (key === 'default' && this.#options.sent)) continue;
      if (key === '$ref' || key === '$dynamicRef') {
        if (target !== undefined) Object.assign(result, this.#refer(target, open || !isPureReference(node.schema)));
      } else if (key === 'required' && filled) {
        const names = (value as string[]).filter((name) => !filled.has(name));
        if (names.length > 0) result[key] = names;
      } else result[key] = value;
    }
    for (const { keyword, node: child } of below(node)) {
      if (definitions.includes(keyword)) continue;
      const copied = this.#copy(this.#nodes.get(child.pointer)!, open || inPlaceKeywords.includes(keyword));
      if (schemaKeywords.includes(keyword)) result[keyword] = copied;
      else if (listKeywords.includes(keyword)) result[keyword] = [...firstTime(result, node, keyword, []), copied];
      else {
        const member = unescapeToken(child.pointer.slice(child.pointer.lastIndexOf('/') + 1));
        result[keyword] = { ...firstTime(result, node, keyword, {}), [member]: copied };
      }
    }
    if (this.#options.sent && node.schema.default !== undefined) {
      const told = `Default: ${JSON.stringify(node.schema.default)}`;
      result.description = node.schema.description === undefined ? told : `${node.schema.description}. ${told}`;
    }
    return this.#options.closed && !open ? this.#close(node, result) : result;
  }

  #findFilled(node: Node, filled: ReadonlySet<string>): void {
    const before = this.#filled.get(node.pointer);
    if (before && [...filled].every((name) => before.has(name))) return;
    this.#filled.set(node.pointer, new Set([...(before ?? []), ...filled]));
    const target = this.#targetOf(node);
    if (target !== undefined) this.#findFilled(this.#nodes.get(target)!, filled);
    for (const { keyword, node: child } of below(node)) {
      const next = this.#nodes.get(child.pointer)!;
      this.#findFilled(next, inPlaceKeywords.includes(keyword) ? filled : this.#filledIn(next));
    }
  }

  /** The members that are there after defaults were set, whatever was sent: by the rule of `schema/defaults.ts`. */
  #filledIn(node: Node, seen = new Set<string>()): Set<string> {
    if (seen.has(node.pointer)) return new Set();
    seen.add(node.pointer);
    const names = Object.keys((node.schema.properties as object | undefined) ?? {}).filter((name) =>
      this.#hasDefault(this.#nodes.get(`${node.pointer}/properties/${escapeToken(name)}`)!),
    );
    return new Set([...names, ...this.#always(node).flatMap((one) => [...this.#filledIn(one, seen)])]);
  }

  #hasDefault(node: Node, seen = new Set<string>()): boolean {
    if (seen.has(node.pointer)) return false;
    seen.add(node.pointer);
    return node.schema.default !== undefined || this.#always(node).some((one) => this.#hasDefault(one, seen));
  }

  /** What applies to the same value unconditionally; of "this or null" it is this. */
  #always(node: Node): Node[] {
    const children = below(node);
    const branches = (keyword: string) =>
      children.filter((child) => child.keyword === keyword).map((child) => child.node);
    const alternatives = ['anyOf', 'oneOf'].flatMap((keyword) => {
      const others = branches(keyword).filter(({ schema }) => schema.type !== 'null');
      return others.length === 1 ? others : [];
    });
    const target = this.#targetOf(node);
    const pointers = [...branches('allOf'), ...alternatives].map(({ pointer }) => pointer);
    return [...pointers, ...(target === undefined ? [] : [target])].map((pointer) => this.#nodes.get(pointer)!);
  }

  #refer(pointer: string, shared: boolean): JsonSchema {
    const ref = componentRef(this.#names.get(pointer)!);
    const open = this.#options.closed && !shared && this.#shared.has(pointer);
    return open && this.#wantsClosing(this.#nodes.get(pointer)!) ? { ...ref, unevaluatedProperties: false } : ref;
  }

  #close(node: Node, result: JsonSchema): JsonSchema {
    const several = below(node).some(({ keyword }) => inPlaceKeywords.includes(keyword)) || '$ref' in node.schema;
    if (!several) return closes(node.schema) ? { ...result, additionalProperties: false } : result;
    if ('additionalProperties' in node.schema || 'unevaluatedProperties' in node.schema || isPureReference(node.schema))
      return result;
    return this.#wantsClosing(node) ? { ...result, unevaluatedProperties: false } : result;
  }

  /**
   * Whether the place is closed whichever of its alternatives hold. Where that depends on the value (an open alternative
   * beside a closed one) the description stays open: it must not refuse what the service takes.
   */
  #wantsClosing(node: Node, seen = new Set<string>()): boolean {
    if (seen.has(node.pointer)) return false;
    seen.add(node.pointer);
    if (closes(node.schema) && !(node.pointer === '' && this.#options.openRoot)) return true;
    const target = this.#targetOf(node);
    if (target !== undefined && this.#wantsClosing(this.#nodes.get(target)!, seen)) return true;
    const children = below(node);
    const wanting = (keyword: string, ofObjects = false): boolean[] =>
      children
        .filter((child) => child.keyword === keyword && (!ofObjects || canBeObject(child.node.schema)))
        .map((child) => this.#wantsClosing(this.#nodes.get(child.node.pointer)!, seen));
    if (wanting('allOf').includes(true)) return true;
    if (['anyOf', 'oneOf'].some((keyword) => all(wanting(keyword, true)))) return true;
    return all(wanting('then')) && all(wanting('else'));
  }
}

/** Whether a schema says something of what another one at its place describes at `pointer`, below `keyword`. */
function describes({ schema, pointer: own }: Node, keyword: string, pointer: string, of: Node): boolean {
  if (own === of.pointer) return false;
  if (keyword !== 'properties') return [...schemaKeywords, ...maps, 'prefixItems'].some((one) => one in schema);
  const member = unescapeToken(pointer.slice(pointer.lastIndexOf('/') + 1));
  const { properties = {}, patternProperties, additionalProperties } = schema;
  return (
    Object.hasOwn(properties as object, member) || patternProperties !== undefined || isObject(additionalProperties)
  );
}

function all(answers: readonly boolean[]): boolean {
  return answers.length > 0 && !answers.includes(false);
}

function canBeObject(schema: unknown): boolean {
  if (!isObject(schema)) return schema === true;
  const { type } = schema;
  return type === undefined || type === 'object' || (Array.isArray(type) && type.includes('object'));
}

/** The copy so far of a list or map that is copied one by one; the original at first. */
function firstTime<T>(result: JsonSchema, { schema }: Node, keyword: string, empty: T): T {
  return result[keyword] === schema[keyword] ? empty : (result[keyword] as T);
}

function closes(schema: JsonSchema): boolean {
  return (
    schema.properties !== undefined &&
    schema.additionalProperties === undefined &&
    schema.unevaluatedProperties === undefined
  );
}
