/**
 * From schema to form: what control a place has, and of what parts it consists. Pure: the same schema, value and choices
 * give the same fields. What a form cannot draw is edited as YAML, with the reason.
 */

import type { SchemaDocument } from '../../../src/schema/document.ts';
import type { JsonSchema, SchemaObject } from '../../../src/schema/keywords.ts';
import { below, isEqual, isObject } from '../diff/pointer.ts';
import type { Stash } from './branch.ts';
import { branchOf, changedBranch, namesOf, tellingMember } from './branch.ts';
import type { Choose, Facts, Option } from './facts.ts';
import { factsOf, isOfType } from './facts.ts';
import { isNumberText } from './number.ts';

/** A place in an object, and the schemas that apply to it. */
export interface Part {
  readonly pointer: string;
  /** The member's name; empty for an item, which is named after its list. */
  readonly name: string;
  readonly schemas: readonly JsonSchema[];
  readonly required: boolean;
  /** True where what it is in is absent. */
  readonly inAbsent: boolean;
  /** False for an item of a fixed place, which cannot be taken out. */
  readonly removable: boolean;
}

export interface Choice {
  readonly value: unknown;
  readonly label: string;
}

/** Why a place is edited as YAML: any value is allowed, the value has another type, a keyword that no form follows, nothing is allowed. */
export type Reason = 'open' | 'mismatch' | 'keyword' | 'nothing';

export type Control =
  | {
      readonly kind: 'text';
      readonly lines: 'one' | 'many';
      readonly format: string | undefined;
      readonly secret: boolean;
    }
  | { readonly kind: 'number'; readonly integer: boolean }
  | { readonly kind: 'boolean' }
  | { readonly kind: 'choice'; readonly choices: readonly Choice[] }
  | { readonly kind: 'constant'; readonly value: unknown }
  | {
      readonly kind: 'object';
      readonly members: readonly Part[];
      readonly rows: Rows | undefined;
      readonly openRest: boolean;
    }
  | {
      readonly kind: 'list';
      readonly items: readonly Part[];
      readonly added: Part | undefined;
      readonly choices: readonly Choice[] | undefined;
    }
  | { readonly kind: 'yaml'; readonly reason: Reason }
  | { readonly kind: 'unchosen' };

/** Members whose names are not declared. */
export interface Rows {
  readonly names: readonly string[];
  /** What is wrong with a name as it is typed. */
  readonly allows: (name: string) => boolean;
  readonly part: (name: string) => Part;
}

/** A list of alternatives, of which one is chosen. */
export interface Kind {
  readonly names: readonly (string | undefined)[];
  /** -1: none yet. */
  readonly chosen: number;
  readonly nth: number;
}

export interface Field {
  readonly part: Part;
  readonly facts: Facts;
  readonly label: string;
  readonly description: string | undefined;
  readonly control: Control;
  readonly kinds: readonly Kind[];
}

/** Texts of 200 characters or more get more than one line. */
const longText = 200;
/** Of `minItems`, and of required objects within each other. */
const mostInitialRows = 50;
const deepestInitial = 20;
/** An object with more absent optional members shows them below "More". */
export const shownOptional = 8;

export class Plan {
  readonly document: SchemaDocument;
  readonly #language: () => string;
  readonly #isSecret: boolean;
  readonly #parts = new Map<string, Part>();
  readonly #chosen = new Map<string, number>();
  readonly #stashes = new Map<string, Stash>();

  /**
   * @param language of titles and descriptions
   * @param isSecret every text is hidden until it is asked for
   */
  constructor(document: SchemaDocument, language: () => string, isSecret = false) {
    this.document = document;
    this.#language = language;
    this.#isSecret = isSecret;
  }

  /** The object as a whole. */
  get root(): Part {
    return this.#part({
      pointer: '',
      name: '',
      schemas: [this.document.root],
      required: true,
      inAbsent: false,
      removable: false,
    });
  }

  /** The part at a pointer, when a form has drawn it. */
  partAt(pointer: string): Part | undefined {
    return this.#parts.get(pointer);
  }

  field(part: Part, value: unknown): Field {
    const facts = this.#facts(part, value);
    return {
      part,
      facts,
      label: this.#titleOf(facts.describing) ?? part.name,
      description: this.#textOf(facts.describing, 'description', 'x-descriptions'),
      control: this.#control(part, facts, value),
      kinds: this.#kinds(part, facts, value),
    };
  }

  /** The value after another kind was chosen; what is typed for the old one comes back with it. */
  withKind(part: Part, value: unknown, nth: number, to: number): unknown {
    const facts = this.#facts(part, value);
    const key = `${part.pointer}#${nth}`;
    const stash = this.#stashes.get(key) ?? new Map<number, unknown>();
    this.#stashes.set(key, stash);
    const { branches, chosen } = this.#alternativesOf(facts, value, part)[nth]!;
    const next = changedBranch(this.document, branches, { from: chosen, to, value, stash });
    this.#chosen.set(key, to);
    return this.filled(part, next);
  }

  /** What a new value of a place begins with: constants, required objects, rows of `minItems`; undefined where nothing is given. */
  initial(part: Part): unknown {
    return this.#initial(part, 0);
  }

  /** A value that is there, with the constants that it has to have. */
  filled(part: Part, value: unknown): unknown {
    if (!isObject(value)) return value;
    const { control } = this.field(part, value);
    if (control.kind !== 'object') return value;
    const members: Record<string, unknown> = { ...value };
    for (const member of control.members) {
      if (!member.required || Object.hasOwn(value, member.name)) continue;
      const initial = this.#initial(member, 1);
      if (initial !== undefined) members[member.name] = initial;
    }
    return Object.keys(members).length === Object.keys(value).length ? value : members;
  }

  /** An item as it is added to a list, empty where nothing is given. */
  initialItem(part: Part): unknown {
    return this.#initialItem(part, 0);
  }

  #initialItem(part: Part, depth: number): unknown {
    const initial = this.#initial(part, depth);
    if (initial !== undefined) return initial;
    const { control } = this.field(part, undefined);
    if (control.kind === 'object') return {};
    if (control.kind === 'list') return [];
    return control.kind === 'text' ? '' : null;
  }

  #initial(part: Part, depth: number): unknown {
    if (depth > deepestInitial) return undefined;
    const { facts, control } = this.field(part, undefined);
    if (facts.describing.default !== undefined) return undefined;
    switch (control.kind) {
      case 'constant':
        return control.value;
      case 'boolean':
        return false;
      case 'list': {
        const count = facts.limits.minItems ?? 0;
        if (count === 0 || count > mostInitialRows || control.choices) return undefined;
        const rows = this.field(part, Array(count).fill(null)).control;
        return rows.kind === 'list' ? rows.items.map((item) => this.#initialItem(item, depth + 1)) : undefined;
      }
      case 'object': {
        const members = control.members.flatMap((member): [string, unknown][] => {
          if (!member.required) return [];
          const initial = this.#initial(member, depth + 1);
          return initial === undefined ? [] : [[member.name, initial]];
        });
        return Object.fromEntries(members);
      }
      default:
        return undefined;
    }
  }

  #facts(part: Part, value: unknown): Facts {
    return factsOf(this.document, part.schemas, value, this.#chooser(part));
  }

  #chooser(part: Part): Choose {
    return (branches, value, nth) => {
      const explicit = this.#chosen.get(`${part.pointer}#${nth}`);
      if (explicit !== undefined && branches[explicit] !== undefined) {
        const best = value === undefined ? explicit : branchOf(this.document, branches, value);
        // The choice stands until the value says clearly that it is of another kind.
        if (best === explicit || !this.document.accepts(branches[best]!, value)) return explicit;
        if (this.document.accepts(branches[explicit]!, value)) return explicit;
        if (tellingMember(this.document, branches) === undefined) return explicit;
        return best;
      }
      return branchOf(this.document, branches, value);
    };
  }

  /** The alternatives of the schemas, and after them that of several types. */
  #alternativesOf(facts: Facts, value: unknown, part: Part): { branches: readonly JsonSchema[]; chosen: number }[] {
    const found = facts.alternatives.map(({ branches, chosen }) => ({ branches, chosen }));
    const types = facts.options ? [] : typesToDraw(facts);
    if (types.length < 2) return found;
    const branches = types.map(typeSchema);
    return [...found, { branches, chosen: this.#chooser(part)(branches, value, found.length) }];
  }

  #kinds(part: Part, facts: Facts, value: unknown): Kind[] {
    return this.#alternativesOf(facts, value, part).map(({ branches, chosen }, nth) => ({
      names: namesOf(this.document, branches, (schema) => this.#titleOf(schema)),
      chosen,
      nth,
    }));
  }

  #control(part: Part, facts: Facts, value: unknown): Control {
    if (facts.beyond) return { kind: 'yaml', reason: 'keyword' };
    if (facts.options) return this.#choice(facts.options, facts, value);
    const types = typesToDraw(facts);
    if (facts.types?.length === 0) return { kind: 'yaml', reason: 'nothing' };
    let type = types[0];
    if (types.length > 1) {
      const at = this.#alternativesOf(facts, value, part).at(-1)!;
      if (at.chosen < 0) return { kind: 'unchosen' };
      type = types[at.chosen];
    }
    if (type === undefined) {
      if (facts.alternatives.some(({ chosen }) => chosen < 0)) return { kind: 'unchosen' };
      return { kind: 'yaml', reason: 'open' };
    }
    if (value !== undefined && value !== null && !isOfType(value, type) && !isTypedFor(value, type))
      return { kind: 'yaml', reason: 'mismatch' };
    if (value === null && !facts.nullable && (type === 'object' || type === 'array'))
      return { kind: 'yaml', reason: 'mismatch' };
    switch (type) {
      case 'string':
        return {
          kind: 'text',
          lines: isLong(facts, value) ? 'many' : 'one',
          format: facts.format,
          secret: this.#isSecret || facts.format === 'password' || facts.describing.writeOnly === true,
        };
      case 'integer':
      case 'number':
        return { kind: 'number', integer: type === 'integer' };
      case 'boolean':
        return { kind: 'boolean' };
      case 'array':
        return this.#list(part, facts, value);
      default:
        return this.#object(part, facts, value);
    }
  }

  #choice(options: readonly Option[], facts: Facts, value: unknown): Control {
    if (options.length === 0) return { kind: 'yaml', reason: 'nothing' };
    if (options.some((one) => typeof one.value === 'object')) return { kind: 'yaml', reason: 'keyword' };
    const isKnown = value === undefined || value === null || options.some((one) => isEqual(one.value, value));
    const [only] = options;
    if (options.length === 1 && !facts.nullable && (value === undefined || isEqual(only!.value, value))) {
      return { kind: 'constant', value: only!.value };
    }
    if (!isKnown && typeof value === 'object') return { kind: 'yaml', reason: 'mismatch' };
    const choices = this.#choices(options);
    return { kind: 'choice', choices: isKnown ? choices : [...choices, { value, label: String(value) }] };
  }

  #choices(options: readonly Option[]): Choice[] {
    return options.map(({ value, schema }) => ({
      value,
      label: (schema && this.#titleOf(schema)) ?? (typeof value === 'string' ? value : JSON.stringify(value)),
    }));
  }

  #object(part: Part, facts: Facts, value: unknown): Control {
    const { properties, patterns, additional, declaresMembers } = facts;
    const others = additional?.filter((one) => one !== true) ?? [];
    const isOpen = additional?.every((one) => one === true) ?? !declaresMembers;
    const hasRows = others.length > 0 && !others.includes(false);
    if (properties.size === 0 && patterns.length === 0 && !hasRows && facts.names.length === 0) {
      if (isOpen && facts.alternatives.some(({ chosen }) => chosen < 0)) return { kind: 'unchosen' };
      if (isOpen) return { kind: 'yaml', reason: 'open' };
    }
    const names = new Set([...properties.keys(), ...facts.required]);
    const drawsRows = hasRows || patterns.length > 0 || (isOpen && facts.names.length > 0);
    if (!drawsRows && isOpen) for (const name of facts.required) if (!properties.has(name)) names.delete(name);
    const members = [...names].map((name) =>
      this.#part({
        pointer: below(part.pointer, name),
        name,
        schemas: properties.get(name) ?? this.#schemasOf(facts, name),
        required: facts.required.has(name),
        inAbsent: value === undefined,
        removable: !facts.required.has(name),
      }),
    );
    return {
      kind: 'object',
      members,
      rows: drawsRows ? this.#rows(part, facts, value) : undefined,
      openRest: isOpen && !drawsRows,
    };
  }

  #schemasOf(facts: Facts, name: string): readonly JsonSchema[] {
    const matching = facts.patterns.filter(({ source }) => this.#matches(source, name)).map(({ schema }) => schema);
    return matching.length > 0 ? matching : (facts.additional ?? []);
  }

  #matches(source: string, name: string): boolean {
    return this.document.accepts(patternSchema(source), name);
  }

  #rows(part: Part, facts: Facts, value: unknown): Rows {
    const declared = (name: string) => facts.properties.has(name) || facts.required.has(name);
    const additionalIsAllowed = facts.additional ? !facts.additional.includes(false) : !facts.declaresMembers;
    return {
      names: isObject(value) ? Object.keys(value).filter((name) => !declared(name)) : [],
      allows: (name) =>
        !declared(name) &&
        facts.names.every((one) => this.document.accepts(one, name)) &&
        (additionalIsAllowed || facts.patterns.some(({ source }) => this.#matches(source, name))),
      part: (name) =>
        this.#part({
          pointer: below(part.pointer, name),
          name,
          schemas: this.#schemasOf(facts, name),
          required: true,
          inAbsent: false,
          removable: true,
        }),
    };
  }

  #list(part: Part, facts: Facts, value: unknown): Control {
    const { prefix, items, limits } = facts;
    const item = (i: number): Part =>
      this.#part({
        pointer: below(part.pointer, i),
        name: '',
        schemas: prefix[i] ?? items ?? [],
        required: true,
        inAbsent: false,
        removable: i >= prefix.length,
      });
    const count = Array.isArray(value) ? value.length : 0;
    const rows = Array.from({ length: Math.max(count, prefix.length) }, (_, i) => item(i));
    const isClosed = items?.includes(false) || count >= (limits.maxItems ?? Number.POSITIVE_INFINITY);
    const given = facts.unique && items ? factsOf(this.document, items, undefined, () => -1).options : undefined;
    const isSimple = given?.every((one) => typeof one.value !== 'object');
    const known = Array.isArray(value) ? value : [];
    const asChecks =
      isSimple && prefix.length === 0 && known.every((one) => given!.some((option) => isEqual(option.value, one)));
    return {
      kind: 'list',
      items: rows,
      added: isClosed ? undefined : item(rows.length),
      choices: asChecks ? this.#choices(given!) : undefined,
    };
  }

  /** The same part as before when nothing about it has changed: what is drawn of it stays. */
  #part(part: Part): Part {
    const known = this.#parts.get(part.pointer);
    const isSame =
      known !== undefined &&
      known.name === part.name &&
      known.required === part.required &&
      known.inAbsent === part.inAbsent &&
      known.removable === part.removable &&
      known.schemas.length === part.schemas.length &&
      known.schemas.every((one, i) => one === part.schemas[i]);
    if (isSame) return known;
    this.#parts.set(part.pointer, part);
    return part;
  }

  #titleOf(schema: SchemaObject): string | undefined {
    return this.#textOf(schema, 'title', 'x-titles');
  }

  #textOf(schema: SchemaObject, keyword: string, byLanguage: string): string | undefined {
    const texts = schema[byLanguage];
    const text = isObject(texts) ? (texts[this.#language()] ?? schema[keyword] ?? texts.en) : schema[keyword];
    return typeof text === 'string' && text !== '' ? text : undefined;
  }
}

const typeSchemas = new Map<string, SchemaObject>();

function typeSchema(type: string): SchemaObject {
  const known = typeSchemas.get(type) ?? { type };
  typeSchemas.set(type, known);
  return known;
}

const patternSchemas = new Map<string, SchemaObject>();

/** One schema for a pattern, so that it is compiled once. */
function patternSchema(source: string): SchemaObject {
  const known = patternSchemas.get(source) ?? { pattern: source };
  patternSchemas.set(source, known);
  return known;
}

/** The types that a form draws; where none is said, the one that the other keywords are about. */
function typesToDraw(facts: Facts): readonly string[] {
  if (facts.types) return facts.types;
  const { declaresMembers, required, patterns, additional, names, items, prefix, limits, pattern, format } = facts;
  const { maxLength, minLength, minimum, maximum, exclusiveMinimum, exclusiveMaximum } = limits;
  const isSaid = (...found: unknown[]) => found.some((one) => one !== undefined && one !== 0);
  if (declaresMembers || isSaid(required.size, patterns.length, names.length, additional)) return ['object'];
  if (isSaid(items, prefix.length, limits.minItems, limits.maxItems)) return ['array'];
  if (isSaid(minLength, maxLength, pattern, format)) return ['string'];
  return isSaid(minimum, maximum, exclusiveMinimum, exclusiveMaximum) ? ['number'] : [];
}

/** A number that is being typed is a text until it parses. */
function isTypedFor(value: unknown, type: string): boolean {
  return (type === 'integer' || type === 'number') && typeof value === 'string' && !isNumberText(value.trim());
}

function isLong(facts: Facts, value: unknown): boolean {
  const { 'x-multiline': multiline } = facts.describing;
  const isText = typeof value === 'string' && /[\r\n]/.test(value);
  const isFormatted = facts.format !== undefined && facts.format !== 'byte';
  return isText || multiline === true || (!isFormatted && (facts.limits.maxLength ?? 0) > longText);
}
