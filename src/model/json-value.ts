/** Exact comparisons of JSON values, as JSON Schema means them. */

/** The same text for equal values: members in any order, `1` and `1.0` the same. */
export function canonicalText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(canonicalText).join(',')}]`;
  const object = value as Record<string, unknown>;
  const members = Object.keys(object).sort();
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonicalText(object[name])}`).join(',')}}`;
}

/** Exact in decimal: 0.3 is a multiple of 0.1. */
export function isMultipleOf(value: number, divisor: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor)) return value % divisor === 0;
  const a = decimal(value);
  const b = decimal(divisor);
  const exponent = Math.min(a.exponent, b.exponent);
  const scale = (number: { digits: bigint; exponent: number }): bigint =>
    number.digits * 10n ** BigInt(number.exponent - exponent);
  return scale(a) % scale(b) === 0n;
}

/** The shortest decimal that means this number: digits × 10^exponent. */
function decimal(value: number): { digits: bigint; exponent: number } {
  const [mantissa = '0', exponent = '0'] = value.toExponential().split('e');
  const [whole = '0', fraction = ''] = mantissa.split('.');
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}
