import { isDeepStrictEqual } from 'node:util';
import { Command, Option } from 'commander';
import { messageOf } from '../errors.ts';
import type { ConversionReport } from '../maintenance.ts';
import type { Contract, ContractChange } from '../model/contract.ts';
import { clientsMeaning, compareContracts, contractOf, obstaclesTo, storedMeaning } from '../model/contract.ts';
import type { Scheme } from '../model/scheme.ts';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import type { PluginFlags } from './declared.ts';
import { declaredBy, withPlugins } from './declared.ts';
import type { Io } from './io.ts';
import { Exit } from './io.ts';
import type { ModelState } from './model-states.ts';
import { contractsOf, statesOf } from './model-states.ts';
import type { Format } from './output.ts';
import { formatOption, print, valueFormats } from './output.ts';
import { repeatable } from './select.ts';
import { lines, widthsOf } from './table.ts';

interface Flags extends ConnectionFlags, PluginFlags {
  against?: string[];
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
  /** Versions of a model with several that both declare alike; absent: none. */
  readonly unchanged?: readonly string[];
  /** Why replicas with the new version cannot serve beside those with the other one; absent when they can. */
  readonly obstacles?: readonly string[];
  /** The model generation that is active in the service; absent without one. */
  readonly generation?: number;
  /** Each conversion of a model that changes, tried on random objects; absent without one. */
  readonly conversions?: readonly ConversionTrial[];
}

type ConversionTrial = { readonly from: string; readonly to: string } & (
  | (Pick<ConversionReport, 'hidden'> & { readonly objects: number; readonly problems: readonly ConversionFault[] })
  /** Why no object could be generated. */
  | { readonly untried: string }
);

type ConversionFault = NonNullable<ConversionReport['problems'][keyof ConversionReport['problems']]>;

export function modelDiffCommand(io: Io): Command {
  const command = new Command('diff')
    .description(
      'compare the models of plugins with those that are active in a service, or with their earlier versions',
    )
    .addOption(repeatable('--against <path>', 'the earlier version of a plugin, instead of a service; repeatable'))
    .addOption(failOnOption())
    .addOption(formatOption(valueFormats, 'table'))
    .addHelpText('after', '\nExit code 1 when --fail-on finds a change of its kind, or a conversion with a fault.')
    .action(async ({ against = [], failOn, output, ...flags }: Flags) => {
      const schemes = await declaredBy(flags);
      const after = schemes.map(contractOf);
      const states = against.length > 0 ? [] : await statesOf(connect(flags, io), after);
      const before =
        against.length > 0 ? (await declaredBy({ ...flags, plugin: against })).map(contractOf) : contractsOf(states);
      const diffs = await withConversions(
        diffModels(before, after).map((diff, i) => ({ ...diff, ...generationOf(states[i]) })),
        schemes,
      );
      await print(io, output, { models: diffs }, () => diffs.map(diffText).join('\n'));
      if (failOn && diffs.some((diff) => fails(diff, failOn))) throw new Exit(1);
    });
  return withPlugins(withConnection(command, io));
}

function failOnOption(): Option {
  return new Option(
    '--fail-on <changes>',
    'exit with 1 for changes that stored objects may not satisfy, that clients may notice, or for any but those of descriptions',
  ).choices(['stored', 'clients', 'any']);
}

/** @param state of the model; undefined: there is none */
export function generationOf(state: ModelState | undefined): Pick<ModelDiff, 'generation'> {
  return state?.status ? { generation: state.status.generation } : {};
}

/** Random objects of each version. */
const runs = 5_000;

/** With the conversions of the models that change. @param schemes of the first diffs, in their order */
export async function withConversions(
  diffs: readonly ModelDiff[],
  schemes: readonly Scheme[],
): Promise<readonly ModelDiff[]> {
  const { tryConversions } = await import('../maintenance.ts');
  const trialsOf = (hub: Scheme): ConversionTrial[] =>
    hub.spokes.map(({ scheme }) => {
      const { version } = scheme.groupVersionKind;
      const between = { from: version, to: hub.groupVersionKind.version };
      try {
        const { objects, problems, hidden } = tryConversions(hub, version, { runs, seed: 1 });
        const faults = Object.values(problems).filter((one) => one !== undefined);
        const tried = Object.values(objects).reduce((sum, count) => sum + count, 0);
        return { ...between, objects: tried, problems: faults, hidden };
      } catch (error) {
        return { ...between, untried: messageOf(error) };
      }
    });
  return diffs.map((diff, i) => {
    const scheme = diff.state === 'new' || diff.state === 'changed' ? schemes[i] : undefined;
    return scheme && scheme.spokes.length > 0 ? { ...diff, conversions: trialsOf(scheme) } : diff;
  });
}

function fails({ state, changes, conversions = [] }: ModelDiff, failOn: FailOn): boolean {
  if (conversions.some((one) => 'problems' in one && one.problems.length > 0)) return true;
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
    const versions = Object.keys(contract.versions);
    const unchanged = versions.filter((one) => isDeepStrictEqual(known.versions[one], contract.versions[one]));
    return {
      group,
      kind,
      state: changes.length > 0 ? 'changed' : 'unchanged',
      changes,
      ...(changes.length > 0 && versions.length > 1 && unchanged.length > 0 && { unchanged }),
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
function diffText(diff: ModelDiff): string {
  const { group, kind, state, changes, unchanged = [], obstacles = [], generation, conversions = [] } = diff;
  const changed = changes.map((change) => {
    const { place, what, stored, clients } = change;
    return ['', place, what, change.class, `stored: ${stored}; clients: ${clients}`];
  });
  const rows = [...unchanged.map((version) => ['', version, 'unchanged']), ...changed];
  const waits = obstacles.map((one) => {
    const advice = one.startsWith('function of') ? ': add a second index now, drop the first in the next release' : '';
    return `   replicas with the new version wait until the others are gone: ${one}${advice}\n`;
  });
  const moves = state === 'changed' && generation !== undefined ? `: generation ${generation} → ${generation + 1}` : '';
  const tried = conversions.map(conversionText).join('');
  return `${group} ${kind}   ${state}${moves}\n${lines(rows, widthsOf(rows))}${tried}${waits.join('')}`;
}

function conversionText(trial: ConversionTrial): string {
  const { from, to } = trial;
  if ('untried' in trial) return `   conversion ${from} ⇄ ${to}: ${trial.untried}\n`;
  const { objects, problems, hidden } = trial;
  const found =
    problems.length > 0
      ? `${problems.length} ${problems.length === 1 ? 'fault' : 'faults'}`
      : `${from} → ${to} → ${from} the same`;
  const back = hidden.length > 0 ? `loses ${hidden.join(', ')}` : 'the same';
  const faults = problems.map(({ what, content }) => `      ${what}\n      ${JSON.stringify(content)}\n`);
  return `   conversion ${from} ⇄ ${to}: ${objects.toLocaleString('en')} generated objects: ${found}; ${to} → ${from} → ${to} ${back}\n${faults.join('')}`;
}
