import { ExactNumber } from '../diff/pointer.ts';

const syntax = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;

/** A number in JSON's syntax. */
export function isNumberText(text: string): boolean {
  return syntax.test(text);
}

/** The number that a text in JSON's syntax means; as it is typed where JavaScript has no such number. */
export function numberOf(text: string): number | ExactNumber {
  return isInexact(text) ? new ExactNumber(text) : Number(text);
}

/** True for a number in JSON's syntax that JavaScript reads as another one. */
export function isInexact(text: string, value = Number(text)): boolean {
  if (!syntax.test(text)) return false;
  return !Number.isFinite(value) || digitsOf(text) !== digitsOf(String(value));
}

/** The significant digits and the exponent, the same for equal numbers. */
function digitsOf(text: string): string {
  const [, sign, whole, fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(text)!;
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  const short = digits.replace(/0+$/, '');
  return short === '' ? '0' : `${sign}${short}e${Number(exponent) - fraction.length + digits.length - short.length}`;
}
