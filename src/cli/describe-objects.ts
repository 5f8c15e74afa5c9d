import { Command } from 'commander';
import type { ExtensionObject } from '../model/object.ts';
import { age } from './columns.ts';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import { eachObject } from './each-object.ts';
import type { Io } from './io.ts';
import { Exit, UsageError, write } from './io.ts';
import { namespaceOf, orderOf } from './namespace.ts';
import type { SelectFlags } from './select.ts';
import { isSelecting, selectOf, withSelectors } from './select.ts';
import { printable, table } from './table.ts';
import { filesOption, targetHelp, targetsFrom } from './targets.ts';
import { Types } from './types.ts';

interface Flags extends ConnectionFlags, SelectFlags {
  filename?: string[];
}

export function describeCommand(io: Io): Command {
  const command = new Command('describe')
    .description('print objects for people: those of the names, those that match, or all of a type')
    .argument('[what...]', targetHelp)
    .addOption(filesOption())
    .addHelpText('after', '\nFor example: kindred describe countries/fr')
    .action(async (what: string[], { filename, ...flags }: Flags) => {
      const client = connect(flags, io);
      const { targets, refused } = await targetsFrom(io, new Types(client), what, filename, flags);
      const isNamed = filename !== undefined || targets.some(({ names }) => names.length > 0);
      if (isNamed && isSelecting(flags)) {
        throw new UsageError('selectors choose among the objects of a TYPE; give no names with them');
      }
      const now = Date.now();
      let shown = 0;
      const show = (object: ExtensionObject) => write(io.stdout, (shown++ > 0 ? '\n\n' : '') + described(object, now));
      if (isNamed) {
        const failures = await eachObject(io, targets, async ({ model }, name) => show(await client.get(model, name)));
        if (refused + failures > 0) throw new Exit(1);
        return;
      }
      for (const { type } of targets) {
        const before = shown;
        for await (const object of client
          .for(type.model)
          .listAll({ ...namespaceOf(type, flags), sort: orderOf(type, flags), ...selectOf(flags) })) {
          await show(object);
        }
        if (shown === before) {
          io.stderr.write(`There are no ${type.label}${isSelecting(flags) ? ' that match' : ''}\n`);
        }
      }
    });
  return withConnection(withSelectors(command), io);
}

/** What every object has first, then its other members as a tree; conditions as a table. */
function described(object: ExtensionObject, now: number): string {
  const { apiVersion, kind, metadata, ...members } = object;
  const { name, namespace, labels, annotations, creationTimestamp, deletionTimestamp, finalizers } = metadata;
  const { version, generation = 1 } = metadata;
  const { ownerReferences, managedFields: _managed, generateName } = metadata;
  const rest = { ...(generateName !== undefined && { generateName }), ...(ownerReferences && { ownerReferences }) };
  const heads: [string, string][] = [
    ['Name', name],
    ...(namespace === undefined ? [] : [['Namespace', namespace] satisfies [string, string]]),
    ['Labels', pairs(labels, '=')],
    ['Annotations', pairs(annotations, ': ')],
    ['API Version', String(apiVersion)],
    ['Kind', String(kind)],
    ['Version', String(version)],
    ['Generation', String(generation)],
    ['Created', `${creationTimestamp} (${age(creationTimestamp, now)} ago)`],
    ...(deletionTimestamp
      ? ([['Deleting', `since ${deletionTimestamp} (${age(deletionTimestamp, now)})`]] as [string, string][])
      : []),
    ...(finalizers?.length ? ([['Finalizers', finalizers.join('\n')]] as [string, string][]) : []),
  ];
  const width = Math.max(...heads.map(([head]) => head.length)) + 1;
  const lines = heads.map(([head, text]) => {
    const parts = text.split('\n').map(printable);
    return `${`${head}:`.padEnd(width)} ${parts.join(`\n${' '.repeat(width + 1)}`)}\n`;
  });
  const shown = apiVersion === 'v1alpha1' && kind === 'Secret' ? withoutSecrets(members) : members;
  return lines.join('') + tree({ ...(Object.keys(rest).length > 0 && { metadata: rest }), ...shown }, '');
}

/** As kubectl does: how long each value is. */
function withoutSecrets({ data, ...members }: Record<string, unknown>): object {
  const sizes = Object.entries(data ?? {}).map(([name, value]) => [
    name,
    `${Buffer.from(String(value), 'base64').length} bytes`,
  ]);
  return { ...members, data: Object.fromEntries(sizes) };
}

function pairs(map: Readonly<Record<string, string>> | undefined, sign: string): string {
  const all = Object.entries(map ?? {});
  return all.length === 0
    ? '<none>'
    : all.map(([key, value]) => key + sign + value.replace(/\s*\n\s*/g, ' ')).join('\n');
}

function tree(members: object, indent: string): string {
  const entries = Object.entries(members);
  // Simple members stand in a column of their own.
  const width =
    Math.max(0, ...entries.filter(([, value]) => !isNested(value)).map(([name]) => headOf(name).length)) + 1;
  return entries.map(([name, value]) => member(name, value, indent, width)).join('');
}

function member(name: string, value: unknown, indent: string, width: number): string {
  const head = `${indent}${headOf(name)}:`;
  const inner = `${indent}  `;
  if (!isNested(value)) {
    const [first = '', ...more] = textOf(value).split('\n');
    const line = `${head.padEnd(indent.length + width)} ${printable(first)}`.trimEnd();
    return `${[line, ...more.map((one) => `${' '.repeat(indent.length + width + 1)}${printable(one)}`)].join('\n')}\n`;
  }
  if (Array.isArray(value))
    return `${head}\n${isConditions(name, value) ? conditions(value, inner) : items(value, inner)}`;
  return `${head}\n${tree(value, inner)}`;
}

/** Objects are kept apart by the dash of their first line. */
function items(values: readonly unknown[], indent: string): string {
  return values
    .map((value) => {
      if (!isNested(value)) return `${indent}${printable(textOf(value))}\n`;
      const text = Array.isArray(value) ? items(value, `${indent}  `) : tree(value, `${indent}  `);
      return `${indent}- ${text.slice(indent.length + 2)}`;
    })
    .join('');
}

interface Condition {
  type: string;
  status: unknown;
  lastTransitionTime?: unknown;
  reason?: unknown;
  message?: unknown;
}

function isConditions(name: string, values: readonly unknown[]): values is readonly Condition[] {
  return (
    name === 'conditions' &&
    values.every((value) => isNested(value) && 'status' in value && typeof (value as Condition).type === 'string')
  );
}

function conditions(values: readonly Condition[], indent: string): string {
  const text = (value: unknown) => (value === undefined || value === '' ? '-' : String(value));
  const rows = values.map((one) => [
    one.type,
    text(one.status),
    text(one.lastTransitionTime),
    text(one.reason),
    text(one.message),
  ]);
  return table(['Type', 'Status', 'Last Transition', 'Reason', 'Message'], rows)
    .replace(/^/gm, indent)
    .slice(0, -indent.length);
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}

function textOf(value: unknown): string {
  if (typeof value === 'object' && value !== null) return '<none>';
  return value === null || value === '' ? '<none>' : String(value);
}

/** `featureCode` as `Feature Code`; what is no name of a member (`example.com/x`) as it is. */
function headOf(name: string): string {
  if (!/^[A-Za-z][A-Za-z0-9]*$/.test(name)) return printable(name);
  const words = name.replace(/([a-z0-9])([A-Z])/g, '$1 $2');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
