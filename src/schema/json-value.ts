/** JSON values as JSON Schema means them: exact comparisons, and members of any name. */

/** Members in any order; a member that is undefined counts as absent. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (!isEqual(a[i], b[i])) return false;
    return true;
  }
  if (Array.isArray(b)) return false;
  let members = 0;
  for (const name in a) {
    const value = (a as Record<string, unknown>)[name];
    if (value === undefined) continue;
    if (!Object.hasOwn(b, name) || !isEqual(value, (b as Record<string, unknown>)[name])) return false;
    members++;
  }
  for (const name in b) if ((b as Record<string, unknown>)[name] !== undefined) members--;
  return members === 0;
}

/** JSON, the same text for equal values: members in any order, `1` and `1.0` the same. */
export function canonicalText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  let text = '';
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) text += `,${canonicalText(value[i])}`;
    return `[${text.slice(1)}]`;
  }
  const object = value as Record<string, unknown>;
  for (const name of Object.keys(object).sort()) text += `,${JSON.stringify(name)}:${canonicalText(object[name])}`;
  return `{${text.slice(1)}}`;
}

/** Digits that every number has in its shortest decimal: one with so many is no other's. */
const exactDigits = 1e15;
/** Powers of ten up to this one are numbers without an error. */
const exactPower = 22;

/** Tells the multiples of a number, exactly in decimal: 0.3 is a multiple of 0.1. */
export class Multiples {
  readonly #divisor: number;
  readonly #digits: number;
  readonly #exponent: number;

  constructor(divisor: number) {
    const { digits, exponent } = decimal(divisor);
    this.#divisor = divisor;
    this.#digits = Number(digits);
    this.#exponent = exponent;
  }

  /** Quickly; undefined for the rare numbers that only `has` tells. */
  hasQuickly(value: number): boolean | undefined {
    const product = Math.round(value / this.#divisor) * this.#digits;
    if (!(Math.abs(product) < exactDigits) || this.#exponent > 0 || this.#exponent < -exactPower) return undefined;
    // One division of two exact numbers is rounded once, as the decimal is when it is read.
    return product / 10 ** -this.#exponent === value;
  }

  has(value: number): boolean {
    const a = decimal(value);
    const b = decimal(this.#divisor);
    const exponent = Math.min(a.exponent, b.exponent);
    const scale = (number: { digits: bigint; exponent: number }): bigint =>
      number.digits * 10n ** BigInt(number.exponent - exponent);
    return scale(a) % scale(b) === 0n;
  }
}

/** The shortest decimal that means this number, digits × 10^exponent; whole numbers with the exponent 0 where they are exact. */
function decimal(value: number): { digits: bigint; exponent: number } {
  if (Number.isSafeInteger(value)) return { digits: BigInt(value), exponent: 0 };
  const [mantissa = '0', exponent = '0'] = value.toExponential().split('e');
  const [whole = '0', fraction = ''] = mantissa.split('.');
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}
