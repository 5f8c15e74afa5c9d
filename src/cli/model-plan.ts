import { writeFile } from 'node:fs/promises';
import { Command } from 'commander';
import { contractOf } from '../model/contract.ts';
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
import { diffModels } from './model-diff.ts';
import { activeContracts } from './model-states.ts';
import { yamlOf } from './output.ts';

type Flags = ConnectionFlags & PluginFlags & { output?: string };

interface Step {
  readonly step: 'repair' | 'default' | 'index';
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
        const diffs = diffModels(await activeContracts(client, after), after);
        const reports = await checkModels(io, client, schemes);
        const models = diffs.map((diff, i) => {
          const { objects, failing, incomplete, offences } = reports[i]!;
          return { ...diff, objects, failing, incomplete, offences, steps: stepsOf(diff, reports[i]!) };
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
