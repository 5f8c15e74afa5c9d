import { writeFile } from 'node:fs/promises';
import { Command } from 'commander';
import { contractOf } from '../model/contract.ts';
import { formatDuration } from '../model/duration.ts';
import type { Scheme } from '../model/scheme.ts';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import type { PluginFlags } from './declared.ts';
import { declaredBy, withPlugins } from './declared.ts';
import { onInterrupt } from './interrupt.ts';
import type { Io } from './io.ts';
import { write } from './io.ts';
import type { ModelReport } from './model-check.ts';
import { checkModels } from './model-check.ts';
import type { ModelDiff } from './model-diff.ts';
import { diffModels, generationOf, withConversions } from './model-diff.ts';
import type { ModelState } from './model-states.ts';
import { contractsOf, statesOf } from './model-states.ts';
import { yamlOf } from './output.ts';

type Flags = ConnectionFlags & PluginFlags & { output?: string };

interface Step {
  readonly step: 'repair' | 'default' | 'index' | 'finalize' | 'rewrite' | 'migrate' | 'rollback';
  readonly what: string;
}

export function modelPlanCommand(io: Io): Command {
  const command = new Command('plan')
    .description(
      'print what a new version of plugins changes, what stored objects say, and what is to be done; refuses nothing',
    )
    .option('-o, --output <file>', 'file to write, in YAML (default: standard output)')
    .action(async ({ output, ...flags }: Flags) => {
      const interrupt = onInterrupt();
      try {
        const client = connect(flags, io, { signal: interrupt.stop });
        const schemes = await declaredBy(flags);
        const after = schemes.map(contractOf);
        const states = await statesOf(client, after);
        const diffs = await withConversions(
          diffModels(contractsOf(states), after).map((diff, i) => ({ ...diff, ...generationOf(states[i]) })),
          schemes,
        );
        const reports = await checkModels(io, client, schemes, states);
        const models = diffs.map((diff, i) => {
          const { objects, failing, incomplete, migrated, offences } = reports[i]!;
          const storage = storageSteps(schemes[i]!, states[i], objects);
          // What is stored in a version that is lacking says nothing of what there is after a rollback.
          const isReadable = storage.every(({ step }) => step !== 'rollback');
          const steps = [
            ...stepsOf(diff, isReadable ? reports[i]! : { ...reports[i]!, failing: 0, incomplete: 0 }),
            ...storage,
            ...migrateSteps(reports[i]!),
          ];
          return { ...diff, objects, failing, incomplete, migrated, offences, steps };
        });
        const text = yamlOf({ models });
        await (output === undefined ? write(io.stdout, text) : writeFile(output, text));
      } finally {
        interrupt.release();
      }
    });
  return withPlugins(withConnection(command, io));
}

function stepsOf({ changes }: ModelDiff, { failing, incomplete }: ModelReport): Step[] {
  const steps: Step[] = [];
  if (failing > 0)
    steps.push({ step: 'repair', what: `${failing} objects become invalid: repair them before the start` });
  if (incomplete > 0)
    steps.push({ step: 'default', what: `${incomplete} objects get a default with their next write` });
  for (const { place, what } of changes) {
    const isBuilt = place.startsWith('index ') && /^(added|function changed|key type|has )/.test(what);
    if (isBuilt) steps.push({ step: 'index', what: `${place} is built when the plugin starts` });
  }
  return steps;
}

/** Objects that the service updates. */
function migrateSteps({ migrated }: ModelReport): Step[] {
  if (migrated === 0) return [];
  return [{ step: 'migrate', what: `${migrated} objects are changed by migrate, once the model is finalized` }];
}

/** What becomes of the version in which objects are stored. */
function storageSteps(scheme: Scheme, state: ModelState | undefined, objects: number): Step[] {
  if (!state?.status) return [];
  const { storageVersion, storedVersions = [storageVersion], migration, contract } = state.status;
  const { version: hub } = scheme.groupVersionKind;
  const inObjects = migration?.revision === undefined ? storedVersions : [storageVersion];
  const lacking = inObjects.filter((version) => !scheme.inVersion(version));
  if (lacking.length > 0 && Object.keys(contract.versions).length > 1) {
    const what = `objects are stored as ${lacking.join(', ')}, which this version lacks: kindred model rollback, while the newer version runs`;
    return [{ step: 'rollback', what }];
  }
  if (storageVersion === hub || !scheme.inVersion(storageVersion)) return [];
  const after = scheme.finalizeAfter === 0 ? 'at once' : `after ${formatDuration(scheme.finalizeAfter)}`;
  return [
    { step: 'finalize', what: `objects are stored as ${storageVersion}, and ${after} as ${hub}` },
    { step: 'rewrite', what: `${objects} objects are rewritten to ${hub} then` },
  ];
}
