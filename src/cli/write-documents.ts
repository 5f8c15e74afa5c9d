/** What `apply` and `replace` have in common: the objects of files, one after the other, each with one answer. */
import { addAbortSignal } from 'node:stream';
import { Command } from 'commander';
import type { KindredClient } from '../client/client.ts';
import { KindredError, Patience } from '../client/client.ts';
import { fullNameOf } from '../model/full-name.ts';
import type { ExtensionObject } from '../model/object.ts';
import type { ConnectionFlags, RetryFlags } from './connection.ts';
import { connect, sayOnce, withConnection, withRetry } from './connection.ts';
import { countOf } from './count.ts';
import { describe } from './describe.ts';
import type { Document } from './documents.ts';
import { documents, filesOf, open } from './documents.ts';
import { onInterrupt } from './interrupt.ts';
import type { Io } from './io.ts';
import { closedPipe, Exit, write } from './io.ts';
import type { NamespaceFlags } from './namespace.ts';
import { placed, withNamespace } from './namespace.ts';
import type { Format } from './output.ts';
import { formatOption, print, valueFormats } from './output.ts';
import type { ResourceType } from './types.ts';
import { Types } from './types.ts';

/** Writes an object that is there already, as it was read a moment ago. */
export type Change = (
  client: KindredClient,
  model: ResourceType['model'],
  object: ExtensionObject,
  before: ExtensionObject,
) => Promise<ExtensionObject>;

/** Of `apply` alone. */
interface ApplyFlags {
  serverSide?: true;
  fieldManager?: string;
  forceConflicts?: true;
  dryRun?: true;
}

/** Writes an object, whether it is there or not; undefined: as without these flags. */
export type Apply = (
  client: KindredClient,
  model: ResourceType['model'],
  object: ExtensionObject,
  flags: ApplyFlags,
) => Promise<ExtensionObject> | undefined;

interface Flags extends ConnectionFlags, RetryFlags, NamespaceFlags, ApplyFlags {
  filename: string[];
  output: Format;
}

interface Done {
  readonly stored: ExtensionObject;
  /** `plural.group` */
  readonly label: string;
  readonly what: 'created' | 'updated' | 'unchanged';
}

const versionHint =
  '  It was changed after the file was made. Take metadata.version out of the file to write it all the same, or begin again from what "kindred get" prints.\n';

const conflictHint = '  Leave these fields out of the file, or take them with --force-conflicts.\n';

/** Races with others who create, change or delete the same object, after which its last failure is reported. */
const raceLimit = 10;

export function writeCommand(io: Io, name: string, description: string, change: Change, apply?: Apply): Command {
  const command = new Command(name)
    .description(description)
    .requiredOption(
      '-f, --filename <file...>',
      'file or folder of YAML or JSON documents, or - for standard input; repeatable',
    )
    .addOption(formatOption(valueFormats, 'table'))
    .action(async (flags: Flags) => {
      const interrupt = onInterrupt();
      try {
        await new Writing(io, flags, { change, apply }, interrupt.stop, interrupt.cut).run();
      } finally {
        interrupt.release();
      }
    });
  return withRetry(withConnection(withNamespace(command), io));
}

class Writing {
  readonly #io: Io;
  readonly #flags: Flags;
  readonly #how: { readonly change: Change; readonly apply?: Apply | undefined };
  readonly #stop: AbortSignal;
  readonly #client: KindredClient;
  readonly #types: Types;
  readonly #retry: Patience;
  #read = 0;
  #written = 0;
  #refused = 0;

  constructor(
    io: Io,
    flags: Flags,
    how: { readonly change: Change; readonly apply?: Apply | undefined },
    stop: AbortSignal,
    cut: AbortSignal,
  ) {
    this.#io = io;
    this.#flags = flags;
    this.#how = how;
    this.#stop = stop;
    this.#retry = new Patience({ patience: flags.retryFor, stop, onWait: sayOnce(io) });
    this.#client = connect(flags, io, { signal: cut, retry: this.#retry });
    this.#types = new Types(this.#client);
  }

  /** @throws Exit unless every object that was read is written */
  async run(): Promise<void> {
    for (const path of this.#flags.filename) {
      for (const file of await filesOf(path)) {
        try {
          const input = addAbortSignal(this.#stop, open(file, this.#io));
          for await (const document of documents(input, file)) {
            this.#stop.throwIfAborted();
            await this.#writeOne(document);
          }
        } catch (error) {
          if (error instanceof Exit || !this.#stop.aborted) throw error;
          this.#end(`interrupted in ${file === '-' ? 'standard input' : file}; what follows was left alone`);
        }
      }
    }
    if (this.#written !== this.#read) throw new Exit(1);
  }

  async #writeOne(document: Document): Promise<void> {
    this.#read++;
    try {
      await this.#print(await this.#put(document));
      this.#written++;
    } catch (error) {
      if (!(error instanceof KindredError)) throw error;
      this.#io.stderr.write(describe(error, document.place));
      if (error.code === 'VersionConflict') this.#io.stderr.write(versionHint);
      if (error.code === 'FieldConflict') this.#io.stderr.write(conflictHint);
      if (isFatal(error) || this.#retry.isOver)
        this.#end(`stopped at ${document.place}; what follows it was left alone`);
      this.#refused++;
    }
  }

  /** Creates the object, or changes the one that is there; again when others change it at the same time. */
  async #put(document: Document): Promise<Done> {
    const type = await this.#types.of(document.value ?? {});
    const { model, label } = type;
    const object = placed(type, document.value as ExtensionObject, this.#flags);
    const version = object.metadata?.version ?? undefined;
    if (!object.metadata?.name && !this.#flags.serverSide)
      return { stored: await this.#client.create(model, object), label, what: 'created' };
    const name = fullNameOf(object.metadata);
    /** As it was before this command may have changed it. */
    let before: ExtensionObject | undefined;
    let unknowns = 0;
    for (let races = 0; ; ) {
      const now = await this.#client.fetch(model, name);
      if (unknowns === 0) before = now;
      try {
        const { change, apply } = this.#how;
        const stored =
          (await apply?.(this.#client, model, object, this.#flags)) ??
          (now ? await change(this.#client, model, object, now) : await this.#client.create(model, object));
        this.#retry.progress();
        const isSame = before?.metadata.version === stored.metadata.version;
        return { stored, label, what: !before ? 'created' : isSame ? 'unchanged' : 'updated' };
      } catch (error) {
        if (!(error instanceof KindredError)) throw error;
        if (error.code === 'UnknownOutcome' && version === undefined) {
          // Written twice, it is the same.
          await this.#retry.wait(error, ++unknowns);
        } else if (!isRace(error, now, version) || ++races === raceLimit) throw error;
      }
    }
  }

  async #print({ stored, label, what }: Done): Promise<void> {
    const { stdout } = this.#io;
    const dry = this.#flags.dryRun ? ' (dry run)' : '';
    try {
      if (this.#flags.output === 'yaml') await write(stdout, '---\n');
      await print(this.#io, this.#flags.output, stored, () => `${label}/${stored.metadata.name} ${what}${dry}\n`);
    } catch (error) {
      throw error instanceof Exit ? new Exit(closedPipe) : error;
    }
  }

  #end(why: string): never {
    const refused = this.#refused > 0 ? `, ${this.#refused} refused` : '';
    this.#io.stderr.write(`kindred: ${why} (${countOf(this.#written, 'object')} written${refused})\n`);
    throw new Exit(1);
  }
}

/** Others created, deleted or changed it after it was read. With a version of its own the file asks to be told. */
function isRace({ code }: KindredError, read: ExtensionObject | undefined, version: number | undefined): boolean {
  if (!read) return code === 'AlreadyExists';
  return code === 'NotFound' || (code === 'VersionConflict' && version === undefined);
}

/** What the next object would meet too. */
function isFatal({ code }: KindredError): boolean {
  return ['NotReady', 'TooManyRequests', 'StorageFull', 'Unauthenticated'].includes(code);
}
