/**
 * Naming rules (specification, "Naming rules"; docs/reference/declaration.md and objects.md). A *name* names an object, a *full name*
 * has its namespace in front, a *key* is that of a label or an annotation (`<prefix>/<name part>`), a *label value* what a label holds.
 */

import type { Text } from '../errors.ts';
import { localized } from '../locales/localized.ts';

export const nameLimit = 253;
export const namespaceLimit = 63;
const namePartLimit = 63;
const labelValueLimit = 63;

export const nameSyntax = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;
const namePartSyntax = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

/** `metadata.name`: at most 253 of `a-z`, `0-9`, `-`; a letter or digit at both ends. */
export function isName(text: string): boolean {
  return text.length <= nameLimit && nameSyntax.test(text);
}

/** Lower-case DNS sub-domain: at most 253 characters; parts in the form of a name, joined by dots. Only the whole is limited. */
export function isSubdomain(text: string): boolean {
  return text.length <= nameLimit && text.split('.').every((part) => nameSyntax.test(part));
}

/** The key of a label or an annotation. */
export function isLabelKey(text: string): boolean {
  return labelKeyProblem(text) === undefined;
}

/** A label's value: empty, or at most 63 of letters, digits, `-`, `_`, `.`, with a letter or digit at both ends. */
export function isLabelValue(text: string): boolean {
  return text === '' || (text.length <= labelValueLimit && namePartSyntax.test(text));
}

/** A key's prefix, undefined when it has none. */
export function prefixOf(key: string): string | undefined {
  const slash = key.indexOf('/');
  return slash < 0 ? undefined : key.slice(0, slash);
}

export interface NamingProblem {
  /** Keyword of the violation. */
  readonly keyword: 'maxLength' | 'pattern';
  readonly text: Text;
  readonly limit?: number;
  /** Length of the part that is too long, when it is not the whole. */
  readonly length?: number;
}

const nameTooLong: Text = localized('is {length} characters long, at most {limit} are allowed');
const nameMalformed: Text = localized(
  'must consist of lower-case letters, digits and "-", and start and end with a letter or digit; got "{value}"',
);
const subdomainMalformed: Text = localized(
  'must consist of lower-case letters, digits, "-" and ".", and start and end with a letter or digit, as each part between dots; got "{value}"',
);
const prefixTooLong: Text = localized('the prefix of the key is {length} characters long, at most {limit} are allowed');
const prefixMalformed: Text = localized(
  'the prefix of the key "{value}" must be a DNS sub-domain, such as "demo.example.com"',
);
const partTooLong: Text = localized(
  'the name part of the key is {length} characters long, at most {limit} are allowed',
);
const partMalformed: Text = localized(
  'the name part of the key "{value}" must consist of letters, digits, "-", "_" and ".", and start and end with a letter or digit',
);
const valueTooLong: Text = localized('a label value is at most {limit} characters long, this one has {length}');
const valueMalformed: Text = localized(
  'a label value is empty or consists of letters, digits, "-", "_" and ".", with a letter or digit at both ends; got "{value}"',
);

/** Which rule a name breaks; undefined when it is well-formed. */
export function nameProblem(text: string): NamingProblem | undefined {
  if (text.length > nameLimit) return { keyword: 'maxLength', text: nameTooLong, limit: nameLimit };
  return nameSyntax.test(text) ? undefined : { keyword: 'pattern', text: nameMalformed };
}

/** The same where names may have dots. */
export function subdomainProblem(text: string): NamingProblem | undefined {
  if (text.length > nameLimit) return { keyword: 'maxLength', text: nameTooLong, limit: nameLimit };
  return isSubdomain(text) ? undefined : { keyword: 'pattern', text: subdomainMalformed };
}

/** Which rule a namespace breaks, a DNS label; undefined when it is well-formed. */
export function namespaceProblem(text: string): NamingProblem | undefined {
  if (text.length > namespaceLimit) return { keyword: 'maxLength', text: nameTooLong, limit: namespaceLimit };
  return nameSyntax.test(text) ? undefined : { keyword: 'pattern', text: nameMalformed };
}

/** Which rule the key of a label or an annotation breaks; undefined when it is well-formed. */
export function labelKeyProblem(key: string): NamingProblem | undefined {
  const prefix = prefixOf(key);
  if (prefix !== undefined) {
    if (prefix.length > nameLimit) {
      return { keyword: 'maxLength', text: prefixTooLong, limit: nameLimit, length: prefix.length };
    }
    if (!isSubdomain(prefix)) return { keyword: 'pattern', text: prefixMalformed };
  }
  const part = prefix === undefined ? key : key.slice(prefix.length + 1);
  if (part.length > namePartLimit) {
    return { keyword: 'maxLength', text: partTooLong, limit: namePartLimit, length: part.length };
  }
  return namePartSyntax.test(part) ? undefined : { keyword: 'pattern', text: partMalformed };
}

/** Which rule a label's value breaks; undefined when it is well-formed. */
export function labelValueProblem(value: string): NamingProblem | undefined {
  if (value.length > labelValueLimit) return { keyword: 'maxLength', text: valueTooLong, limit: labelValueLimit };
  return isLabelValue(value) ? undefined : { keyword: 'pattern', text: valueMalformed };
}
