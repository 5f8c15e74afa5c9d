/** The formats of names that Kubernetes has, for `format.…`. */
import { formats as schemaFormats } from '../schema/formats.ts';

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const subdomain = `${label}(\\.${label})*`;
const qualified = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';

const texts = {
  label:
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  label1035:
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  subdomain:
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  qualified:
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  value:
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
};

/** What is wrong with a text; nothing when it has the format. */
type Check = (text: string) => readonly string[];

function matching(pattern: string, most: number, message: string): Check {
  const expression = new RegExp(`^(?:${pattern})$`);
  return (text) => {
    if (text.length > most) return [`must be no more than ${most} characters`];
    return expression.test(text) ? [] : [message];
  };
}

function prefixOf(check: Check): Check {
  return (text) => check(text.endsWith('-') ? `${text.slice(0, -1)}a` : text);
}

function qualifiedName(text: string): readonly string[] {
  const parts = text.split('/');
  if (parts.length > 2) return [`a qualified name ${texts.qualified}, with an optional DNS subdomain prefix and '/'`];
  const found = parts.length === 2 ? checks.dns1123Subdomain(parts[0]!).map((one) => `prefix part ${one}`) : [];
  return [...found, ...matching(qualified, 63, texts.qualified)(parts.at(-1)!)];
}

function ofSchema(name: string, message: string): Check {
  const { string } = schemaFormats.get(name)!;
  return (text) => (string!(text) ? [] : [message]);
}

const checks = {
  dns1123Label: matching(label, 63, texts.label),
  dns1123Subdomain: matching(subdomain, 253, texts.subdomain),
  dns1035Label: matching('[a-z]([-a-z0-9]*[a-z0-9])?', 63, texts.label1035),
  qualifiedName,
  dns1123LabelPrefix: prefixOf(matching(label, 63, texts.label)),
  dns1123SubdomainPrefix: prefixOf(matching(subdomain, 253, texts.subdomain)),
  dns1035LabelPrefix: prefixOf(matching('[a-z]([-a-z0-9]*[a-z0-9])?', 63, texts.label1035)),
  labelValue: matching(`(${qualified})?`, 63, texts.value),
  uri: ofSchema('uri', 'must be an absolute URI'),
  uuid: ofSchema('uuid', 'does not match the UUID format'),
  byte: ofSchema('byte', 'invalid base64'),
  date: ofSchema('date', 'invalid date'),
  datetime: ofSchema('date-time', 'invalid datetime'),
} satisfies Record<string, Check>;

export class NamedFormat {
  readonly kind = 'format';
  readonly name: keyof typeof checks;

  constructor(name: keyof typeof checks) {
    this.name = name;
  }

  static named(name: string): NamedFormat | undefined {
    return Object.hasOwn(checks, name) ? new NamedFormat(name as keyof typeof checks) : undefined;
  }

  static get names(): readonly string[] {
    return Object.keys(checks);
  }

  problems(text: string): readonly string[] {
    return checks[this.name](text);
  }

  equals(other: NamedFormat): boolean {
    return this.name === other.name;
  }
}
