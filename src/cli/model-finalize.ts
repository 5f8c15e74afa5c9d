import { Command, InvalidArgumentError, Option } from 'commander';
import type { KindredClient } from '../client/client.ts';
import { parseDuration } from '../model/duration.ts';
import { awaitedTimers, pause } from '../runtime/timers.ts';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import { countOf } from './count.ts';
import type { Io } from './io.ts';
import { Exit, UsageError } from './io.ts';
import type { ModelState } from './model-states.ts';
import { modelOfStates, namedModelState } from './model-states.ts';
import type { Format } from './output.ts';
import { formatOption, print, valueFormats } from './output.ts';
import { lines, widthsOf } from './table.ts';

interface Flags extends ConnectionFlags {
  timeout: number;
  output: Format;
}

type Known = ModelState & { readonly status: NonNullable<ModelState['status']> };

/** What is asked for, and what becomes of it. */
interface Request {
  readonly finalize: 'now' | 'hold' | 'rollback';
  /** @throws UsageError when it cannot be asked for */
  readonly check?: (state: Known) => void;
  /** Undefined as long as the service is at it. */
  readonly outcome: (state: Known) => Outcome | undefined;
}

interface Outcome {
  readonly isDone: boolean;
  readonly text: string;
}

const defaultTimeout = '1m';
/** Milliseconds between two looks. */
const interval = 500;

export function modelFinalizeCommand(io: Io): Command {
  return changing(
    io,
    'finalize',
    'store the objects of a model in its newest version from now on, and rewrite the others',
    {
      finalize: 'now',
      outcome: ({ spec, status }) => {
        if (spec.finalize === 'now' || status.storageVersion !== status.contract.hub) return undefined;
        return { isDone: true, text: `is stored as ${status.storageVersion} from now on; ${rewriteText(status)}` };
      },
    },
  );
}

export function modelHoldCommand(io: Io): Command {
  return changing(io, 'hold', 'store the objects of a model as they are stored now, until it is finalized by hand', {
    finalize: 'hold',
    outcome: ({ status }) =>
      status.finalizesAt === undefined
        ? { isDone: true, text: `stays stored as ${status.storageVersion} until it is finalized by hand` }
        : undefined,
  });
}

export function modelRollbackCommand(io: Io): Command {
  return changing(
    io,
    'rollback',
    'store the objects of a model in the version of before, so that the earlier version of its plugin can be started',
    {
      finalize: 'rollback',
      check: ({ status: { storageVersion, contract, formerVersion } }) => {
        const isPossible = storageVersion !== contract.hub || (formerVersion && formerVersion in contract.versions);
        if (!isPossible) throw new UsageError(`the model was stored in no other version than ${storageVersion}`);
      },
      outcome: ({ spec, status: { storageVersion, contract, rollback } }) => {
        if (spec.finalize === 'rollback') return undefined;
        if (storageVersion !== contract.hub)
          return {
            isDone: true,
            text: `is stored as ${storageVersion}; the earlier version of the plugin can be started`,
          };
        const { failing = 0, samples = [] } = rollback ?? {};
        const rows = samples.map(({ names, pointer, keyword, message }) => [
          '',
          names.join(', '),
          pointer,
          keyword,
          message,
        ]);
        const refused = `stays stored as ${storageVersion}: ${countOf(failing, 'object')} would lose content`;
        return { isDone: false, text: `${refused}\n${lines(rows, widthsOf(rows)).trimEnd()}` };
      },
    },
  );
}

function changing(io: Io, name: string, description: string, request: Request): Command {
  const command = new Command(name)
    .description(description)
    .argument('<type>', 'the model: a plural or plural.group')
    .addOption(
      new Option('--timeout <duration>', 'how long to wait until it is done')
        .argParser(duration)
        .default(parseDuration(defaultTimeout), defaultTimeout),
    )
    .addOption(formatOption(valueFormats, 'table'))
    .addHelpText('after', '\nExit code 1 when it is refused, or not done in that time: the service goes on.')
    .action(async (type: string, { timeout, output, ...flags }: Flags) => {
      const client = connect(flags, io);
      const before = await known(client, type);
      request.check?.(before);
      const model = await modelOfStates(client);
      await client.patch(model, before.metadata.name, { spec: { finalize: request.finalize } }, 'merge');
      const deadline = Date.now() + timeout;
      for (;;) {
        const state = await known(client, type);
        const outcome = request.outcome(state);
        if (outcome || Date.now() >= deadline) {
          const { plural, group } = state.status.model;
          const { isDone, text } = outcome ?? { isDone: false, text: 'is not done yet: see kindred model status' };
          await print(io, output, state, () => `${plural}.${group} ${text}\n`);
          if (!isDone) throw new Exit(1);
          return;
        }
        await pause(awaitedTimers, interval);
      }
    });
  return withConnection(command, io);
}

async function known(client: KindredClient, type: string): Promise<Known> {
  const state = await namedModelState(client, type);
  const { status } = state;
  if (!status) throw new UsageError(`no contract of "${type}" is active yet`);
  return { ...state, status };
}

function rewriteText({ storedVersions = [], storageVersion, migration }: Known['status']): string {
  if (migration?.revision !== undefined || storedVersions.every((version) => version === storageVersion))
    return 'all objects are';
  return 'the service rewrites what is stored otherwise';
}

function duration(value: string): number {
  const milliseconds = parseDuration(value);
  if (milliseconds === undefined) throw new InvalidArgumentError('expected a duration such as 30s or 5m');
  return milliseconds;
}
