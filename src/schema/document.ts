/**
 * JSON Schema 2020-12: one document compiled to functions. A *node* is one schema object in it, a *resource* what `$id`
 * makes (its own base for references), *marks* what the schemas applied to one place of an object know of its members.
 *
 * Why not a library: closedness (docs/reference/objects.md) counts the members that all schemas of one place know, which no
 * keyword can express; see docs/decisions/validation.md.
 */

import type { Text } from '../errors.ts';
import { Violations } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import { readJson } from '../runtime/read-json.ts';
import type { PatternOf } from './check.ts';
import { Compiler } from './compiler.ts';
import type { Check, TimeSlice } from './context.ts';
import { Context } from './context.ts';
import type { DefaultLimits } from './defaults.ts';
import { DefaultBudget, Defaults, EndlessDefault } from './defaults.ts';
import type { Format } from './formats.ts';
import { formats } from './formats.ts';
import { invalidModel } from './invalid-model.ts';
import type { JsonSchema, SchemaObject } from './keywords.ts';
import { dialect, isPureReference, rewritten, sharingKeywords, unevaluatedKeywords } from './keywords.ts';
import { listTypeProblem } from './list-types.ts';
import type { Loader } from './loader.ts';
import { compilePattern } from './pattern.ts';
import type { Refuse } from './references.ts';
import { References } from './references.ts';

export interface DocumentOptions {
  /** The model, for messages. */
  readonly model: string;
  /** Where the document stands in it: `/spec`, `/status` or ``. */
  readonly path: string;
  /** An object schema with `properties` that does not say `additionalProperties` admits no other members, at every depth. */
  readonly closed: boolean;
  readonly loader: Loader;
  /** Default: regular expressions of ECMA 262. Throws for one that is malformed. */
  readonly patternOf?: PatternOf;
  /** Default: those of JSON Schema and OpenAPI. */
  readonly formats?: ReadonlyMap<string, Format>;
  /**
   * Large and without references, anchors and `$id`: a part is compiled when a value first has it. The defaults of such a document
   * are for its owner to check and to set.
   */
  readonly isPlain?: boolean;
}

export class SchemaDocument {
  readonly root: JsonSchema;
  readonly #options: DocumentOptions;
  readonly #references: References;
  readonly #compiler: Compiler;
  readonly #defaults: Defaults;

  /** Throws `InvalidModel`: references that lead nowhere or in a circle without a step into the object. */
  constructor(root: JsonSchema, options: DocumentOptions) {
    this.root = root;
    this.#options = options;
    const { linearEngine, metaSchema } = options.loader;
    const patternOf = options.patternOf ?? ((source: string) => compilePattern(source, linearEngine));
    const refuse: Refuse = (path, rule, params) => this.#refuse(path, rule, params);
    const { isPlain = false } = options;
    this.#references = new References(root, refuse, metaSchema, isPlain);
    this.#compiler = new Compiler(this.#references, patternOf, options.formats ?? formats, isPlain);
    this.#defaults = new Defaults(this.#references, patternOf);
  }

  /**
   * Adds what is wrong with a value, nothing when it is valid; a value that would take too long to compare is wrong too
   * (keyword `limit`).
   * @param pointer of the value, the beginning of the violations' pointers
   */
  validate(value: unknown, pointer: string, found = new Violations()): Violations {
    const check = this.#compiler.checkOf(this.root, this.#options.closed ? 'inline' : 'open');
    new Context(pointer, this.#references.root).validate(check, value, found);
    return found;
  }

  /** The same, in parts: a promise when there is more to check than at once. */
  validateInParts(value: unknown, pointer: string, found: Violations, slice: TimeSlice): Promise<void> | undefined {
    const check = this.#compiler.checkOf(this.root, this.#options.closed ? 'inline' : 'open');
    const { root } = this.#references;
    const quick = new Context(pointer, root, true);
    const foundQuickly = new Violations();
    const lists = quick.validateButLists(check, value, foundQuickly);
    if (!lists) return this.#validateSlowly(check, value, pointer, found, slice);
    for (const one of foundQuickly.listed) found.take(one);
    return lists.length > 0 ? quick.validateLists(lists, found, slice) : undefined;
  }

  async #validateSlowly(
    check: Check,
    value: unknown,
    pointer: string,
    found: Violations,
    slice: TimeSlice,
  ): Promise<void> {
    await slice.renew();
    const context = new Context(pointer, this.#references.root);
    const lists = context.validateButLists(check, value, found);
    if (lists) await context.validateLists(lists, found, slice);
  }

  /** Whether a value satisfies one schema of the document; members that this one does not know are allowed. */
  accepts(part: JsonSchema, value: unknown): boolean {
    const place = typeof part === 'object' ? this.#references.places.get(part) : undefined;
    const context = new Context('', place?.resource ?? this.#references.root);
    return context.satisfies(this.#compiler.checkOf(part, 'open'), value);
  }

  /** What the `$ref` of a schema of the document means. */
  targetOf(part: SchemaObject): JsonSchema {
    return this.#compiler.targetOf(part);
  }

  /** What sets the defaults below a value, in place; undefined when the document has none. It throws PayloadTooLarge. */
  defaults(): ((value: unknown, limits?: DefaultLimits) => void) | undefined {
    if (![...this.#references.places.keys()].some((schema) => 'default' in schema)) return undefined;
    const set = this.#defaults.of(this.root);
    return set && ((value, limits) => set(value, 0, new DefaultBudget(limits)));
  }

  /** Adds what is wrong with a value by one schema of the document; members that no schema knows are allowed. */
  validatePart(part: SchemaObject, value: unknown, pointer: string, found: Violations): void {
    const resource = this.#references.places.get(part)?.resource ?? this.#references.root;
    new Context(pointer, resource).validate(this.#compiler.checkOf(part, 'open'), value, found);
  }

  /** The default of the document as a whole, a new copy each time; undefined when it has none. */
  initial(): unknown {
    const text = this.#defaults.textOf(this.root);
    return text === undefined ? undefined : readJson(text);
  }

  /** Throws `InvalidModel` when a default does not satisfy its own schema. */
  checkDefaults(): void {
    for (const [schema, { path, resource }] of this.#references.places) {
      if (!('default' in schema) || resource.base.startsWith(dialect)) continue;
      const value: unknown = readJson(JSON.stringify(schema.default));
      try {
        this.#defaults.of(schema)?.(value, 0, new DefaultBudget());
      } catch (error) {
        if (!(error instanceof EndlessDefault)) throw error;
        this.#refuse(`${path}/default`, localized('contains itself without end'));
      }
      const check = this.#compiler.checkOf(schema, this.#options.closed ? 'inline' : 'open');
      const found = new Violations();
      new Context('', resource).validate(check, value, found);
      const [first] = found.listed;
      if (!first) continue;
      this.#refuse(`${path}/default`, localized('does not satisfy its own schema: at "{at}" it {reason}'), {
        at: first.pointer,
        reason: first.message,
      });
    }
  }

  /** Throws `InvalidModel` when a schema cannot have the type of list or of object that it says. */
  checkListTypes(): void {
    const resolve = (schema: JsonSchema): SchemaObject | undefined => {
      if (typeof schema !== 'object') return undefined;
      return isPureReference(schema) ? resolve(this.targetOf(schema)) : schema;
    };
    for (const [schema, { path }] of this.#references.places) {
      const problem = listTypeProblem(schema, resolve);
      if (problem) this.#refuse(`${path}/${problem.keyword}`, problem.text, problem.params);
    }
  }

  /** The document as part of a larger one, its references made relative to that one. @param at its pointer there */
  embedded(at: string, self = at): JsonSchema {
    return rewritten(
      this.root,
      (ref) => (ref === '#' ? self : ref.startsWith('#/') ? `${at}${ref.slice(1)}` : ref),
      true,
    );
  }

  /** True when members can be added to the root's `properties` without changing what the rest of it says. */
  get canBeMerged(): boolean {
    const { root } = this;
    if (typeof root !== 'object') return false;
    const inTheWay = [
      '$id',
      'not',
      'minProperties',
      'maxProperties',
      'propertyNames',
      'patternProperties',
      'enum',
      'const',
    ];
    return ![...sharingKeywords, ...unevaluatedKeywords, ...inTheWay].some((keyword) => keyword in root);
  }

  #refuse(path: string, rule: Text, params: Readonly<Record<string, unknown>> = {}): never {
    const { model, path: start } = this.#options;
    return invalidModel(
      { en: `{model}: the schema at {path} ${rule.en}`, zh: `{model}：{path} 处的模式${rule.zh}` },
      { model, path: `${start}${path}` || '/', ...params },
    );
  }
}
