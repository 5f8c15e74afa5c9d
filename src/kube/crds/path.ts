/** A place in a definition, as clients are told of it: `spec.versions[0].schema.openAPIV3Schema.properties[spec].type`. */
import { escapeToken, violation } from '../../errors.ts';
import type { Cause } from '../cause.ts';
import { StatusError } from '../status.ts';

export class FieldPath {
  readonly #above: FieldPath | undefined;
  readonly #token: string;
  readonly #isKey: boolean;

  private constructor(above: FieldPath | undefined, token = '', isKey = false) {
    this.#above = above;
    this.#token = token;
    this.#isKey = isKey;
  }

  static of(...members: readonly string[]): FieldPath {
    return new FieldPath(undefined).child(...members);
  }

  child(...members: readonly string[]): FieldPath {
    let path: FieldPath = this;
    for (const member of members) path = new FieldPath(path, member);
    return path;
  }

  /** An item of a list, or a key of a map. */
  key(key: string | number): FieldPath {
    return new FieldPath(this, String(key), true);
  }

  /** Made when something is wrong there. */
  get text(): string {
    if (!this.#above) return '';
    const above = this.#above.text;
    if (this.#isKey) return `${above}[${this.#token}]`;
    return above === '' ? this.#token : `${above}.${this.#token}`;
  }

  get pointer(): string {
    return this.#above ? `${this.#above.pointer}/${escapeToken(this.#token)}` : '';
  }
}

/** What is wrong with a definition. */
export class DefinitionMistakes {
  readonly #found: { readonly path: FieldPath; readonly cause: Cause }[] = [];

  get count(): number {
    return this.#found.length;
  }

  get causes(): readonly Cause[] {
    return this.#found.map(({ cause }) => cause);
  }

  required(path: FieldPath, text = ''): void {
    this.#add(path, 'FieldValueRequired', text === '' ? 'Required value' : `Required value: ${text}`);
  }

  invalid(path: FieldPath, value: unknown, text: string): void {
    this.#add(path, 'FieldValueInvalid', `Invalid value: ${shown(value)}: ${text}`);
  }

  forbidden(path: FieldPath, text: string): void {
    this.#add(path, 'FieldValueForbidden', `Forbidden: ${text}`);
  }

  unsupported(path: FieldPath, value: unknown, supported: readonly string[]): void {
    const values = supported.map((one) => JSON.stringify(one)).join(', ');
    this.#add(path, 'FieldValueNotSupported', `Unsupported value: ${shown(value)}: supported values: ${values}`);
  }

  duplicate(path: FieldPath, value: unknown): void {
    this.#add(path, 'FieldValueDuplicate', `Duplicate value: ${shown(value)}`);
  }

  tooMany(path: FieldPath, count: number, limit: number): void {
    this.#add(path, 'FieldValueTooMany', `Too many: ${count}: must have at most ${limit} items`);
  }

  #add(path: FieldPath, reason: string, message: string): void {
    if (this.#found.length < mostMistakes) this.#found.push({ path, cause: { reason, message, field: path.text } });
  }

  /** @throws KindredError Invalid with all of them, when there is one */
  refuse(): void {
    if (this.#found.length === 0) return;
    const message = this.#found.map(({ cause }) => `${cause.field}: ${cause.message}`).join(', ');
    const errors = this.#found.map(({ path, cause }) =>
      violation(path.pointer, 'definition', { en: cause.message, zh: cause.message }),
    );
    throw new StatusError('Invalid', message, { details: { causes: this.causes }, errors });
  }
}

/** More of them help nobody. */
const mostMistakes = 100;
const shownLength = 200;

/** Of an object or list only what it is. */
function shown(value: unknown): string {
  if (Array.isArray(value)) return '"array"';
  if (typeof value === 'object' && value !== null) return '"object"';
  const text = typeof value === 'string' && value.length > shownLength ? `${value.slice(0, shownLength)}…` : value;
  return JSON.stringify(text) ?? 'null';
}
