/** What a command is about: TYPE, TYPE NAME… or TYPE/NAME…, as kubectl takes them, or the objects that files hold. */

import { Option } from 'commander';
import { KindredError } from '../client/client.ts';
import { localized } from '../locales/localized.ts';
import { fullNameOf } from '../model/full-name.ts';
import type { ExtensionObject } from '../model/object.ts';
import { eachDocument } from './documents.ts';
import type { Io } from './io.ts';
import { UsageError } from './io.ts';
import type { NamespaceFlags } from './namespace.ts';
import { fullNameIn, placed } from './namespace.ts';
import type { ResourceType, Types } from './types.ts';

/** One type, with the names that were given; none: all of its objects. */
export interface Target {
  readonly type: ResourceType;
  /** As clients know the objects: in a namespaced model `<namespace>/<name>`. */
  readonly names: readonly string[];
}

export const targetHelp = 'TYPE, TYPE NAME… or TYPE/NAME…; TYPE: plural, plural.group or plural.version.group';

export function filesOption(): Option {
  return new Option(
    '-f, --filename <file...>',
    'instead: the objects that a file or a folder holds, - for standard input; repeatable',
  );
}

/**
 * @param files of `-f`
 * @returns also how many documents of the files are no objects of the service; they are reported
 * @throws UsageError, or NotFound for a type that is not there
 */
export async function targetsFrom(
  io: Io,
  types: Types,
  what: readonly string[],
  files: readonly string[] | undefined,
  flags: NamespaceFlags,
): Promise<{ targets: Target[]; refused: number }> {
  if (files === undefined) return { targets: await targetsOf(types, what, flags), refused: 0 };
  if (what.length > 0) throw new UsageError('give files with -f, or a TYPE with names, not both');
  return targetsOfFiles(io, types, files, flags);
}

export async function targetsOf(types: Types, args: readonly string[], flags: NamespaceFlags): Promise<Target[]> {
  const [first, ...names] = args;
  if (first === undefined) {
    const known = (await types.all()).map(({ label }) => label);
    throw new UsageError(`give a TYPE: ${known.length > 0 ? known.join(', ') : 'there is none that you may use'}`);
  }
  if (!args.some((text) => text.includes('/'))) {
    return Promise.all(
      first.split(',').map(async (text) => {
        const type = await types.resolve(text);
        return { type, names: names.map((name) => fullNameIn(type, name, flags)) };
      }),
    );
  }
  const targets = new Targets();
  for (const text of args) {
    const [word = '', name = '', ...more] = text.split('/');
    if (word === '' || name === '' || more.length > 0) {
      throw new UsageError(`"${text}" is no TYPE/NAME; TYPE/NAME and TYPE NAME cannot be mixed`);
    }
    const type = await types.resolve(word);
    targets.add(type, fullNameIn(type, name, flags));
  }
  return targets.all;
}

/** As `targetsOf`, for commands that are about objects. @throws UsageError without names */
export async function namedTargets(types: Types, args: readonly string[], flags: NamespaceFlags): Promise<Target[]> {
  const targets = await targetsOf(types, args, flags);
  const bare = targets.find(({ names }) => names.length === 0);
  if (bare)
    throw new UsageError(`give the names of objects too: ${bare.type.label} NAME…, or ${bare.type.label}/NAME…`);
  return targets;
}

async function targetsOfFiles(
  io: Io,
  types: Types,
  paths: readonly string[],
  flags: NamespaceFlags,
): Promise<{ targets: Target[]; refused: number }> {
  const targets = new Targets();
  const refused = await eachDocument(io, paths, async (value) => {
    const object = (value ?? {}) as Partial<ExtensionObject>;
    const type = await types.of(object);
    if (!object.metadata?.name) throw new KindredError('Invalid', unnamed);
    targets.add(type, fullNameOf(placed(type, object as ExtensionObject, flags).metadata));
  });
  return { targets: targets.all, refused };
}

const unnamed = localized('The object has no metadata.name');

/** Names gathered by type. */
class Targets {
  readonly #byLabel = new Map<string, { type: ResourceType; names: string[] }>();

  add(type: ResourceType, name: string): void {
    const target = this.#byLabel.get(type.label) ?? { type, names: [] };
    this.#byLabel.set(type.label, target);
    target.names.push(name);
  }

  get all(): Target[] {
    return [...this.#byLabel.values()];
  }
}
