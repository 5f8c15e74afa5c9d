/** Where the references of a document lead: within it, by pointer, anchor or `$id`, or to the meta-schemas of the dialect. */

import type { Text } from '../errors.ts';
import { unescapeToken } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import type { JsonSchema, SchemaObject } from './keywords.ts';
import { dialect, inPlaceKeywords, isSchema, subschemas } from './keywords.ts';
import type { Loader } from './loader.ts';

export interface Resource {
  readonly base: string;
  readonly root: JsonSchema;
  readonly anchors: Map<string, SchemaObject>;
  readonly dynamicAnchors: Map<string, SchemaObject>;
}

interface Place {
  readonly resource: Resource;
  /** Pointer from the root of the document. */
  readonly path: string;
}

/** Throws `InvalidModel` about the schema at a pointer from the root of the document. */
export type Refuse = (path: string, rule: Text, params?: Readonly<Record<string, unknown>>) => never;

interface Target {
  readonly schema: JsonSchema;
  readonly resource: Resource;
  /** The plain name in the fragment. */
  readonly anchor?: string;
}

const modelBase = 'kindred://model/';

export class References {
  /** What the document as a whole is, or is in. */
  readonly root: Resource;
  readonly #refuse: Refuse;
  readonly #metaSchema: Loader['metaSchema'];
  readonly #resources = new Map<string, Resource>();
  readonly #places = new Map<SchemaObject, Place>();
  #dynamic = false;

  /**
   * @param isPlain the document has no references, identifiers and anchors: nothing of it is looked up
   * Throws `InvalidModel`: references that lead nowhere or in a circle without a step into the object.
   */
  constructor(root: JsonSchema, refuse: Refuse, metaSchema: Loader['metaSchema'], isPlain = false) {
    this.#refuse = refuse;
    this.#metaSchema = metaSchema;
    if (isPlain) {
      this.root = { base: modelBase, root, anchors: new Map(), dynamicAnchors: new Map() };
      return;
    }
    this.root = this.#add(root, modelBase, '');
    this.#resolveAll();
    this.#refuseCircles();
  }

  /** Every schema that the document has or refers to. */
  get places(): ReadonlyMap<SchemaObject, Place> {
    return this.#places;
  }

  /** True when a `$dynamicRef` can depend on the way that led to it. */
  get dynamic(): boolean {
    return this.#dynamic;
  }

  #add(root: JsonSchema, base: string, path: string): Resource {
    const id = typeof root === 'object' && typeof root.$id === 'string' ? root.$id : '';
    const uri = withoutFragment(this.#url(id, base, path).href);
    const resource: Resource = { base: uri, root, anchors: new Map(), dynamicAnchors: new Map() };
    if (!this.#resources.has(base)) this.#resources.set(base, resource);
    this.#resources.set(uri, resource);
    if (typeof root === 'object') this.#index(root, resource, path, true);
    return resource;
  }

  #index(schema: SchemaObject, resource: Resource, path: string, isRoot = false): void {
    if (!isRoot && typeof schema.$id === 'string') {
      this.#add(schema, resource.base, path);
      return;
    }
    this.#places.set(schema, { resource, path });
    if (typeof schema.$anchor === 'string') resource.anchors.set(schema.$anchor, schema);
    if (typeof schema.$dynamicAnchor === 'string') {
      resource.anchors.set(schema.$dynamicAnchor, schema);
      resource.dynamicAnchors.set(schema.$dynamicAnchor, schema);
    }
    if (typeof schema.$dynamicRef === 'string') this.#dynamic = true;
    for (const part of subschemas(schema)) {
      if (typeof part.schema === 'object') this.#index(part.schema, resource, path + part.path);
    }
  }

  /** Loads what references need, until nothing new turns up. */
  #resolveAll(): void {
    const done = new Set<SchemaObject>();
    for (let before = -1; before !== done.size; ) {
      before = done.size;
      for (const schema of [...this.#places.keys()]) {
        if (done.has(schema)) continue;
        done.add(schema);
        if (typeof schema.$ref === 'string') this.target(schema, '$ref');
        if (typeof schema.$dynamicRef === 'string') this.target(schema, '$dynamicRef');
      }
    }
  }

  /** The schema that `$ref` or, to begin with, `$dynamicRef` means. */
  target(schema: SchemaObject, keyword: '$ref' | '$dynamicRef'): Target {
    const { resource, path } = this.#places.get(schema)!;
    const ref = schema[keyword] as string;
    const url = this.#url(ref, resource.base, `${path}/${keyword}`);
    const uri = withoutFragment(url.href);
    const found = this.#resources.get(uri) ?? this.#published(uri);
    const fragment = fragmentOf(url);
    let target: Target | undefined;
    if (found && fragment === '') target = { schema: found.root, resource: found };
    else if (found && fragment?.startsWith('/')) target = this.#follow(found, fragment);
    else if (found && fragment !== undefined) {
      const anchored = found.anchors.get(fragment);
      if (anchored) target = { schema: anchored, resource: found, anchor: fragment };
    }
    return (
      target ??
      this.#refuse(
        `${path}/${keyword}`,
        localized('refers to "{ref}", which is not in this document; schemas elsewhere are not fetched'),
        { ref },
      )
    );
  }

  #follow(resource: Resource, pointer: string): Target | undefined {
    let current: unknown = resource.root;
    let owner = resource;
    for (const token of pointer.slice(1).split('/').map(unescapeToken)) {
      if (typeof current !== 'object' || current === null || !Object.hasOwn(current, token)) return undefined;
      current = (current as SchemaObject)[token];
      owner = this.#places.get(current as SchemaObject)?.resource ?? owner;
    }
    if (!isSchema(current)) return undefined;
    if (typeof current === 'object' && !this.#places.has(current)) this.#index(current, owner, pointer);
    return { schema: current, resource: typeof current === 'object' ? this.#places.get(current)!.resource : owner };
  }

  /** The published meta-schemas of the dialect, for models whose fields hold schemas. */
  #published(uri: string): Resource | undefined {
    if (!/^https:\/\/json-schema\.org\/draft\/2020-12\/(?:schema|meta\/[a-z-]+)$/.test(uri)) return undefined;
    const schema = this.#metaSchema(uri.slice(dialect.length));
    return schema && this.#add(schema, uri, '');
  }

  #url(ref: string, base: string, path: string): URL {
    try {
      return new URL(ref, base);
    } catch {
      return this.#refuse(path, localized('has the malformed reference "{ref}"'), { ref });
    }
  }

  #refuseCircles(): void {
    const state = new Map<SchemaObject, 'open' | 'done'>();
    const visit = (schema: JsonSchema): void => {
      if (typeof schema !== 'object' || state.get(schema) === 'done') return;
      const { path } = this.#places.get(schema)!;
      if (state.get(schema) === 'open') {
        this.#refuse(path, localized('refers to itself without a step into the object'));
      }
      state.set(schema, 'open');
      for (const next of this.#inPlace(schema)) visit(next);
      state.set(schema, 'done');
    };
    for (const schema of this.#places.keys()) visit(schema);
  }

  #inPlace(schema: SchemaObject): JsonSchema[] {
    const next = subschemas(schema)
      .filter(({ keyword }) => inPlaceKeywords.includes(keyword))
      .map((part) => part.schema);
    if (typeof schema.$ref === 'string') next.push(this.target(schema, '$ref').schema);
    if (typeof schema.$dynamicRef === 'string') {
      const { schema: target, anchor } = this.target(schema, '$dynamicRef');
      next.push(target);
      if (anchor !== undefined && typeof target === 'object' && target.$dynamicAnchor === anchor) {
        for (const { dynamicAnchors } of this.#resources.values()) {
          const other = dynamicAnchors.get(anchor);
          if (other) next.push(other);
        }
      }
    }
    return next;
  }
}

export function withoutFragment(uri: string): string {
  const hash = uri.indexOf('#');
  return hash < 0 ? uri : uri.slice(0, hash);
}

function fragmentOf(url: URL): string | undefined {
  try {
    return decodeURIComponent(url.hash.slice(1));
  } catch {
    return undefined;
  }
}
