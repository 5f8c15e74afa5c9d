import { Command, Option } from 'commander';
import type { Contract, ContractChange } from '../model/contract.ts';
import { clientsMeaning, compareContracts, contractOf, obstaclesTo, storedMeaning } from '../model/contract.ts';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import type { PluginFlags } from './declared.ts';
import { declaredBy, withPlugins } from './declared.ts';
import type { Io } from './io.ts';
import { Exit } from './io.ts';
import { activeContracts } from './model-states.ts';
import type { Format } from './output.ts';
import { formatOption, print, valueFormats } from './output.ts';
import { lines, widthsOf } from './table.ts';

interface Flags extends ConnectionFlags, PluginFlags {
  against: string[];
  failOn?: FailOn;
  output: Format;
}

type FailOn = 'stored' | 'clients' | 'any';

/** The changes of one model, as they are printed. */
export interface ModelDiff {
  readonly group: string;
  readonly kind: string;
  readonly state: 'new' | 'removed' | 'changed' | 'unchanged';
  readonly changes: readonly (ContractChange & { readonly stored: string; readonly clients: string })[];
  /** Why replicas with the new version cannot serve beside those with the other one; absent when they can. */
  readonly obstacles?: readonly string[];
}

export function modelDiffCommand(io: Io): Command {
  const command = new Command('diff')
    .description(
      'compare the models of plugins with those that are active in a service, or with their earlier versions',
    )
    .option('--against <path>', 'the earlier version of a plugin, instead of a service; repeatable', collect, [])
    .addOption(failOnOption())
    .addOption(formatOption(valueFormats, 'table'))
    .addHelpText('after', '\nExit code 1 when --fail-on finds a change of its kind.')
    .action(async ({ against, failOn, output, ...flags }: Flags) => {
      const after = (await declaredBy(flags)).map(contractOf);
      const diffs =
        against.length > 0
          ? diffModels((await declaredBy({ ...flags, plugin: against })).map(contractOf), after)
          : diffModels(await activeContracts(connect(flags, io), after), after);
      await print(io, output, { models: diffs }, () => diffs.map(diffText).join('\n'));
      if (failOn && diffs.some((diff) => fails(diff, failOn))) throw new Exit(1);
    });
  return withPlugins(withConnection(command, io));
}

function collect(value: string, before: readonly string[]): string[] {
  return [...before, value];
}

function failOnOption(): Option {
  return new Option(
    '--fail-on <changes>',
    'exit with 1 for changes that stored objects may not satisfy, that clients may notice, or for any but those of descriptions',
  ).choices(['stored', 'clients', 'any']);
}

function fails({ state, changes }: ModelDiff, failOn: FailOn): boolean {
  if (failOn === 'any') return state !== 'unchanged' && changes.some((change) => change.class !== 'docs');
  return changes.some((change) => change[failOn] !== 'yes');
}

/** Every model of either side, those of `after` first. */
export function diffModels(before: readonly Contract[], after: readonly Contract[]): ModelDiff[] {
  const isSame = (a: Contract, b: Contract) => a.group === b.group && a.kind === b.kind;
  const diffs = after.map((contract): ModelDiff => {
    const { group, kind } = contract;
    const known = before.find((one) => isSame(one, contract));
    if (!known) return { group, kind, state: 'new', changes: [] };
    const changes = compareContracts(known, contract).map(described);
    const obstacles = obstaclesTo(known, contract);
    return {
      group,
      kind,
      state: changes.length > 0 ? 'changed' : 'unchanged',
      changes,
      ...(obstacles.length > 0 && { obstacles }),
    };
  });
  const removed = before.filter((contract) => !after.some((one) => isSame(one, contract)));
  const gone = described({ place: 'the model', what: 'no longer declared', class: 'breaking' });
  return [
    ...diffs,
    ...removed.map(({ group, kind }): ModelDiff => ({ group, kind, state: 'removed', changes: [gone] })),
  ];
}

function described(change: ContractChange): ModelDiff['changes'][number] {
  return { ...change, stored: storedMeaning[change.class], clients: clientsMeaning[change.class] };
}

/** A paragraph for people. */
function diffText({ group, kind, state, changes, obstacles = [] }: ModelDiff): string {
  const rows = changes.map((change) => {
    const { place, what, stored, clients } = change;
    return ['', place, what, change.class, `stored: ${stored}; clients: ${clients}`];
  });
  const waits = obstacles.map((one) => `   replicas with the new version wait until the others are gone: ${one}\n`);
  return `${group} ${kind}   ${state}\n${lines(rows, widthsOf(rows))}${waits.join('')}`;
}
