import { Command, InvalidArgumentError, Option } from 'commander';
import type { KindredClient, WatchEvent } from '../client/client.ts';
import { KindredError } from '../client/client.ts';
import { parseDuration } from '../model/duration.ts';
import { fullNameOf, partsOf } from '../model/full-name.ts';
import type { ExtensionObject } from '../model/object.ts';
import type { ChoiceFlags } from './choice.ts';
import { chosenTargets, withChoice } from './choice.ts';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import { describe } from './describe.ts';
import type { Io } from './io.ts';
import { Exit, UsageError, write } from './io.ts';
import { printed, Template } from './jsonpath.ts';
import type { Target } from './targets.ts';

interface Flags extends ConnectionFlags, ChoiceFlags {
  for: Goal;
  timeout: number;
}

/** What is waited for. */
interface Goal {
  readonly text: string;
  /** @param object undefined while there is none of the name */
  isMet(object: ExtensionObject | undefined): boolean;
  /** Whether an object that is not there may be waited for. */
  readonly mayBeAbsent: boolean;
}

const defaultTimeout = '30s';

/** Names that a watch asks for; of more it looks at the whole type. */
const selectedNames = 50;

export function waitCommand(io: Io): Command {
  const command = new Command('wait')
    .description('wait until objects meet a condition')
    .addOption(
      new Option(
        '--for <goal>',
        'what to wait for: condition=NAME[=VALUE] (default value: True), jsonpath=PATH[=VALUE], create or delete',
      )
        .argParser(goalOf)
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('--timeout <duration>', 'how long at most; 0 looks once')
        .argParser(duration)
        .default(parseDuration(defaultTimeout), defaultTimeout),
    )
    .addHelpText(
      'after',
      "\nFor example:\n  kindred wait countries/fr --for=jsonpath='{.status.cities}' --timeout=1m\n  kindred wait crd --all --for=condition=Established\nThe exit code is 0 when all of them are so, 1 otherwise.",
    )
    .action(async (what: string[], flags: Flags) => {
      const deadline = AbortSignal.timeout(flags.timeout);
      const client = connect(flags, io, flags.timeout > 0 ? { signal: deadline } : { retry: false });
      const waits: Wait[] = [];
      let failures = 0;
      try {
        const { targets, refused } = await chosenTargets(io, client, what, {
          ...flags,
          command: 'wait',
          purpose: 'wait for',
        });
        if (refused === 0 && targets.every(({ names }) => names.length === 0)) throw new Exit(1);
        failures = refused;
        for (const target of targets) waits.push(new Wait(io, client, target, flags.for));
        // Once without a watch: a time limit of 0 still looks.
        for (const wait of waits) await wait.look();
        for (const wait of waits) if (!deadline.aborted) await wait.watch(deadline);
      } catch (error) {
        const isOther = [Exit, UsageError, KindredError].some((one) => error instanceof one);
        if (isOther || !deadline.aborted) throw error;
        if (waits.length === 0) throw new Error(`timed out waiting for ${flags.for.text}`);
      }
      for (const wait of waits) failures += wait.end();
      if (failures > 0) throw new Exit(1);
    });
  return withConnection(withChoice(command), io);
}

/** Objects of one type that are waited for. */
class Wait {
  readonly #io: Io;
  readonly #client: KindredClient;
  readonly #target: Target;
  readonly #goal: Goal;
  readonly #left: Set<string>;
  #missing = 0;

  constructor(io: Io, client: KindredClient, target: Target, goal: Goal) {
    this.#io = io;
    this.#client = client;
    this.#target = target;
    this.#goal = goal;
    this.#left = new Set(target.names);
  }

  async look(): Promise<void> {
    const { type, names } = this.#target;
    for (const name of names) await this.#seen(name, await this.#client.fetch(type.model, name));
  }

  /** Returns when there is nothing left to wait for, or at the deadline. */
  async watch(deadline: AbortSignal): Promise<void> {
    if (this.#left.size === 0) return;
    const parts = [...this.#left].map(partsOf);
    const [namespace, ...others] = new Set(parts.map((one) => one.namespace));
    const select = {
      ...(namespace !== undefined && others.length === 0 && { namespace }),
      ...(parts.length <= selectedNames && {
        fieldSelector: `metadata.name in (${parts.map(({ name }) => name).join(',')})`,
      }),
    };
    const end = new AbortController();
    const signal = AbortSignal.any([deadline, end.signal]);
    const seen = new Set<string>();
    let isComplete = false;
    for await (const event of this.#client.for(this.#target.type.model).watch({ select, sendInitial: true, signal })) {
      if (event.type === 'BOOKMARK') {
        // Everything that is there was sent: what was not is gone since it was looked at.
        for (const name of isComplete ? [] : [...this.#left]) if (!seen.has(name)) await this.#seen(name, undefined);
        isComplete = true;
      } else {
        const name = fullNameOf(event.object.metadata);
        seen.add(name);
        await this.#seen(name, stateAfter(event));
      }
      if (this.#left.size === 0) end.abort();
    }
  }

  /** Tells of the objects that are left. @returns for how many objects it was in vain */
  end(): number {
    for (const name of this.#left) {
      const object = `${this.#target.type.label}/${name}`;
      this.#io.stderr.write(describe(new Error(`timed out waiting for ${this.#goal.text} of ${object}`)));
    }
    return this.#missing + this.#left.size;
  }

  async #seen(name: string, object: ExtensionObject | undefined): Promise<void> {
    if (!this.#left.has(name)) return;
    const { label } = this.#target.type;
    if (this.#goal.isMet(object)) {
      this.#left.delete(name);
      await write(this.#io.stdout, `${label}/${name} condition met\n`);
    } else if (!object && !this.#goal.mayBeAbsent) {
      this.#left.delete(name);
      this.#missing++;
      this.#io.stderr.write(describe(new Error(`There is no ${label}/${name}`)));
    }
  }
}

function stateAfter(event: WatchEvent<ExtensionObject>): ExtensionObject | undefined {
  return event.type === 'ADDED' || event.type === 'MODIFIED' ? event.object : undefined;
}

function goalOf(text: string): Goal {
  if (text === 'delete') return { text, mayBeAbsent: true, isMet: (object) => object === undefined };
  if (text === 'create') return { text, mayBeAbsent: true, isMet: (object) => object !== undefined };
  const [, name, wanted = 'True'] = /^condition=([^=]+)(?:=(.*))?$/s.exec(text) ?? [];
  if (name !== undefined) {
    return { text, mayBeAbsent: false, isMet: (object) => hasCondition(object, name, wanted) };
  }
  const path = /^jsonpath=(.+)$/s.exec(text)?.[1];
  if (path === undefined) {
    throw new InvalidArgumentError(
      'It needs condition=NAME, condition=NAME=VALUE, jsonpath=PATH=VALUE, jsonpath=PATH, create or delete.',
    );
  }
  return jsonPathGoal(text, path);
}

function hasCondition(object: ExtensionObject | undefined, name: string, wanted: string): boolean {
  const { conditions } = (object?.status ?? {}) as { conditions?: unknown };
  if (!Array.isArray(conditions)) return false;
  const same = (a: unknown, b: string) => String(a).toLowerCase() === b.toLowerCase();
  return conditions.some((one) => one !== null && same(one?.type, name) && same(one?.status, wanted));
}

/** `{.status.phase}=Done`: the first "=" behind the braces, or behind the brackets, begins the value. */
function jsonPathGoal(text: string, given: string): Goal {
  const [, path = '', wanted] = /^(\{.*?\}(?==|$)|(?:\[[^\]]*\]|[^=[])+)(?:=(.*))?$/s.exec(given) ?? [];
  try {
    const template = new Template(path);
    if (!template.isPath) throw new UsageError(`"${given}" is no JSONPath`);
    const isMet = (object: ExtensionObject | undefined) => {
      const values = object === undefined ? [] : template.values(object).map(printed);
      if (wanted === undefined) return values.length > 0;
      return values.length > 0 && values.every((value) => value === wanted.replace(/^(["'])(.*)\1$/s, '$2'));
    };
    return { text, mayBeAbsent: false, isMet };
  } catch (error) {
    if (error instanceof UsageError) throw new InvalidArgumentError(error.message);
    throw error;
  }
}

function duration(text: string): number {
  const milliseconds = parseDuration(text);
  // Above it a timer of Node.js would fire at once.
  if (milliseconds === undefined || milliseconds > 2 ** 31 - 1) {
    throw new InvalidArgumentError('It needs a duration such as 30s or 5m, of 24 days at most.');
  }
  return milliseconds;
}
