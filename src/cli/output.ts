import { createRequire } from 'node:module';
import { InvalidArgumentError, Option } from 'commander';
import type { ExtensionObject } from '../model/object.ts';
import { CustomColumns } from './custom-columns.ts';
import type { Io } from './io.ts';
import { UsageError, write } from './io.ts';
import { Template } from './jsonpath.ts';

/** For what few commands need. */
const require = createRequire(import.meta.url);

/** How a value is printed. */
export type Format = 'json' | 'yaml' | 'table';
/** How objects are printed: `wide` is a table with every simple member, `name` one TYPE/NAME a line. */
export type ObjectFormat = Format | 'wide' | 'name' | Template | CustomColumns;
/** How it is told what became of an object: `table` is a sentence. */
export type ResultFormat = Format | 'name';

export const valueFormats: readonly Format[] = ['json', 'yaml', 'table'];
export const resultFormats: readonly ResultFormat[] = ['json', 'yaml', 'table', 'name'];
const plainFormats = ['json', 'yaml', 'table', 'wide', 'name'];

export function formatOption<F extends string>(known: readonly F[], preset: F): Option {
  return new Option('-o, --output <format>', `how to print: ${known.join(', ')}`)
    .argParser((text: string) => knownFormat(known, known, text))
    .default(preset);
}

/** For objects: also templates, and columns of one's own. */
export function objectFormatOption(preset?: Format): Option {
  const forms = [...plainFormats, 'jsonpath=TEMPLATE', 'custom-columns=HEAD:PATH,…'];
  const option = new Option('-o, --output <format>', `how to print: ${forms.join(', ')}`).argParser((text: string) => {
    const [, form, rest = ''] = /^(jsonpath|custom-columns)=(.*)$/s.exec(text) ?? [];
    try {
      if (form === 'jsonpath') return new Template(rest);
      if (form === 'custom-columns') return new CustomColumns(rest);
    } catch (error) {
      if (error instanceof UsageError) throw new InvalidArgumentError(error.message);
      throw error;
    }
    return knownFormat(plainFormats, forms, text);
  });
  return preset === undefined ? option : option.default(preset);
}

function knownFormat<F extends string>(known: readonly F[], forms: readonly string[], text: string): F {
  const found = known.find((one) => one === text);
  if (found !== undefined) return found;
  const hint = /^(jsonpath|go-template|custom-columns)/.test(text) ? ' Take json, and a program such as jq.' : '';
  throw new InvalidArgumentError(`Allowed choices are ${forms.join(', ')}.${hint}`);
}

/** Prints a value for programs (`json`, `yaml`), or as the table that the caller makes. */
export function print(io: Io, format: Format, value: unknown, table: () => string): Promise<void> {
  if (format === 'json') return write(io.stdout, `${JSON.stringify(value, null, 2)}\n`);
  if (format === 'yaml') return write(io.stdout, yamlOf(value));
  return write(io.stdout, table());
}

/** Prints an object and what became of it. Documents of YAML are kept apart by `---`. */
export function printResult(
  io: Io,
  format: ResultFormat,
  object: ExtensionObject,
  { label, done }: { label: string; done: string },
): Promise<void> {
  const name = `${label}/${object.metadata.name}`;
  const shown = withoutManagedFields(object);
  if (format === 'name') return write(io.stdout, `${name}\n`);
  if (format === 'yaml') return write(io.stdout, `---\n${yamlOf(shown)}`);
  return print(io, format, shown, () => `${name} ${done}\n`);
}

/** As kubectl does: who owns which field is longer than most objects, and few ask for it. */
export function withoutManagedFields(object: ExtensionObject): ExtensionObject {
  if (!('managedFields' in (object.metadata ?? {}))) return object;
  const { managedFields: _managed, ...metadata } = object.metadata;
  return { ...object, metadata };
}

export function yamlOf(value: unknown): string {
  const { stringify } = require('yaml') as typeof import('yaml');
  return stringify(value, { aliasDuplicateObjects: false, lineWidth: 0 });
}
