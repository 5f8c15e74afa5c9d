import { InvalidArgumentError, Option } from 'commander';
import { stringify } from 'yaml';
import type { ExtensionObject } from '../model/object.ts';
import type { Io } from './io.ts';
import { write } from './io.ts';

/** How a value is printed. */
export type Format = 'json' | 'yaml' | 'table';
/** How objects are printed: `wide` is a table with every simple member, `name` one TYPE/NAME a line. */
export type ObjectFormat = Format | 'wide' | 'name';
/** How it is told what became of an object: `table` is a sentence. */
export type ResultFormat = Format | 'name';

export const valueFormats: readonly Format[] = ['json', 'yaml', 'table'];
export const resultFormats: readonly ResultFormat[] = ['json', 'yaml', 'table', 'name'];
export const objectFormats: readonly ObjectFormat[] = ['json', 'yaml', 'table', 'wide', 'name'];

export function formatOption<F extends ObjectFormat>(known: readonly F[], preset?: F): Option {
  const option = new Option('-o, --output <format>', `how to print: ${known.join(', ')}`).argParser((text: string) => {
    if ((known as readonly string[]).includes(text)) return text;
    const hint = /^(jsonpath|go-template|custom-columns)/.test(text) ? ' Take json, and a program such as jq.' : '';
    throw new InvalidArgumentError(`Allowed choices are ${known.join(', ')}.${hint}`);
  });
  return preset === undefined ? option : option.default(preset);
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
  if (format === 'name') return write(io.stdout, `${name}\n`);
  if (format === 'yaml') return write(io.stdout, `---\n${yamlOf(object)}`);
  return print(io, format, object, () => `${name} ${done}\n`);
}

export function yamlOf(value: unknown): string {
  return stringify(value, { aliasDuplicateObjects: false, lineWidth: 0 });
}
