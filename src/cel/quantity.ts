import { fail } from './frame.ts';

const syntax = /^([+-]?)(\d+(?:\.\d*)?|\.\d+)(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?\d{1,3})?$/;
const decimal: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const binary: Readonly<Record<string, bigint>> = { Ki: 10n, Mi: 20n, Gi: 30n, Ti: 40n, Pi: 50n, Ei: 60n };
/** A quantity is a whole number of billionths. */
const scale = 1_000_000_000n;
const integerLimit = 2n ** 63n;

/** A quantity of Kubernetes, such as `200m` and `1.5Gi`, exact to a thousand-millionth and rounded up below that. */
export class Quantity {
  readonly kind = 'quantity';
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }

  static parse(text: string): Quantity | undefined {
    const match = text.length <= 100 ? syntax.exec(text) : null;
    if (!match) return undefined;
    const [, sign, number, suffix = ''] = match;
    const [whole = '', digits = ''] = number!.split('.');
    let value = BigInt(whole + digits) * scale;
    let exponent = -digits.length;
    if (suffix in binary) value <<= binary[suffix]!;
    else exponent += decimal[suffix] ?? Number(suffix.slice(1));
    if (exponent >= 0) value *= 10n ** BigInt(exponent);
    else {
      const divisor = 10n ** BigInt(-exponent);
      value = (value + divisor - 1n) / divisor;
    }
    return new Quantity(sign === '-' ? -value : value);
  }

  get isInteger(): boolean {
    const whole = this.nanos / scale;
    return this.nanos % scale === 0n && whole < integerLimit && whole >= -integerLimit;
  }

  asInteger(): bigint {
    return this.isInteger ? this.nanos / scale : fail('cannot convert value to integer');
  }

  asNumber(): number {
    return Number(this.nanos) / 1e9;
  }

  equals(other: Quantity): boolean {
    return this.nanos === other.nanos;
  }
}
