/** Characters of one warning. */
const longestWarning = 512;

/** Value of a header `Warning`, with the code 299 of a warning that stands for itself; a header is of ASCII alone. */
export function warningHeader(text: string): string {
  const quoted = text.slice(0, longestWarning).replace(/["\\]/g, '\\$&');
  return `299 - "${quoted.replace(/[^\x20-\x7e]/gu, (one) => encodeURIComponent(one.toWellFormed()))}"`;
}
