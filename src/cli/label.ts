/** `label` and `annotate`: KEY=VALUE puts a pair there, KEY- takes it away. */
import { Command } from 'commander';
import { retryOnConflict } from '../client/client.ts';
import type { ChoiceFlags } from './choice.ts';
import { chosenTargets, withChoice } from './choice.ts';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import { describe } from './describe.ts';
import { eachObject } from './each-object.ts';
import type { Io } from './io.ts';
import { Exit, UsageError, write } from './io.ts';
import type { ResultFormat } from './output.ts';
import { formatOption, printResult, resultFormats } from './output.ts';
import { targetHelp } from './targets.ts';

interface Flags extends ConnectionFlags, ChoiceFlags {
  output: ResultFormat;
  overwrite?: boolean;
  list?: boolean;
}

interface Kind {
  readonly command: 'label' | 'annotate';
  readonly member: 'labels' | 'annotations';
  readonly done: string;
  readonly example: string;
}

export function labelCommand(io: Io): Command {
  const example = 'kindred label countries fr visited=yes plan-';
  return pairsCommand(io, { command: 'label', member: 'labels', done: 'labeled', example });
}

export function annotateCommand(io: Io): Command {
  const example = "kindred annotate countries/fr example.com/note='by the sea' example.com/old-";
  return pairsCommand(io, { command: 'annotate', member: 'annotations', done: 'annotated', example });
}

function pairsCommand(io: Io, { command, member, done, example }: Kind): Command {
  const made = new Command(command)
    .description(`put ${member} on objects (KEY=VALUE), or take them off (KEY-)`)
    .option('--overwrite', 'also where the key has another value')
    .option('--list', `print the ${member} that are there then`)
    .addOption(formatOption(resultFormats, 'table'))
    .addHelpText('after', `\nFor example: ${example}`)
    .action(async (args: string[], flags: Flags) => {
      const { what, changes } = parted(args);
      if (changes.size === 0 && !flags.list) throw new UsageError(`give ${member}: KEY=VALUE, or KEY- to take one off`);
      const client = connect(flags, io);
      const { targets, refused } = await chosenTargets(io, client, what, { ...flags, command });
      let kept = 0;
      const failures = await eachObject(io, targets, async ({ model, label }, name) => {
        const { object, isChanged } = await retryOnConflict(async () => {
          const before = await client.get(model, name);
          const there = before.metadata[member] ?? {};
          const clashes = [...changes].filter(
            ([key, value]) => value !== null && Object.hasOwn(there, key) && there[key] !== value,
          );
          if (clashes.length > 0 && !flags.overwrite) {
            const said = clashes.map(([key]) => `${key} (it is "${there[key]}")`).join(', ');
            throw new Taken(`${label}/${name} has ${said} already; --overwrite puts another value there`);
          }
          const isChanged = [...changes].some(([key, value]) => (there[key] ?? null) !== value);
          if (!isChanged) return { object: before, isChanged };
          // With the version: somebody may be putting another value there.
          const { version } = before.metadata;
          const patch = { metadata: { version, [member]: Object.fromEntries(changes) } };
          return { object: await client.patch(model, name, patch), isChanged };
        }).catch((error: unknown) => {
          if (!(error instanceof Taken)) throw error;
          kept++;
          io.stderr.write(describe(error));
          return { object: undefined, isChanged: false };
        });
        if (!object) return;
        if (flags.list) {
          const pairs = Object.entries(object.metadata[member] ?? {}).map(([key, value]) => `${key}=${value}\n`);
          await write(io.stdout, `Listing ${member} for ${label}/${name}:\n${pairs.map((one) => ` ${one}`).join('')}`);
        }
        if (changes.size > 0)
          await printResult(io, flags.output, object, { label, done: isChanged ? done : `not ${done}` });
      });
      if (refused + failures + kept > 0) throw new Exit(1);
    });
  return withConnection(withChoice(made, `${targetHelp}; then KEY=VALUE… and KEY-…`), io);
}

/** The key has another value, and nobody said that it may be lost. */
class Taken extends Error {}

/** What the command is about, and the pairs; null takes a key away. */
function parted(args: readonly string[]): { what: string[]; changes: Map<string, string | null> } {
  const isPair = (text: string) => text.includes('=') || text.endsWith('-');
  const first = args.findIndex(isPair);
  const what = first < 0 ? [...args] : args.slice(0, first);
  const changes = new Map<string, string | null>();
  for (const text of first < 0 ? [] : args.slice(first)) {
    if (!isPair(text)) throw new UsageError(`"${text}" stands after KEY=VALUE; TYPE and names come first`);
    const sign = text.indexOf('=');
    const key = sign < 0 ? text.slice(0, -1) : text.slice(0, sign);
    if (key === '') throw new UsageError(`"${text}" has no key`);
    if (changes.has(key)) throw new UsageError(`"${key}" is given twice`);
    changes.set(key, sign < 0 ? null : text.slice(sign + 1));
  }
  return { what, changes };
}
