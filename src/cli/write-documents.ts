/** What `apply` and `replace` have in common: the objects of files, one after the other, each with one answer. */
import { addAbortSignal } from 'node:stream';
import { Command } from 'commander';
import type { KindredClient } from '../client/client.ts';
import { KindredError, Patience } from '../client/client.ts';
import { isNotFound } from '../errors.ts';
import { fullNameOf } from '../model/full-name.ts';
import type { ExtensionObject } from '../model/object.ts';
import { retry } from '../runtime/retry.ts';
import { awaitedTimers } from '../runtime/timers.ts';
import type { ConnectionFlags, RetryFlags } from './connection.ts';
import { connect, sayOnce, withConnection, withRetry } from './connection.ts';
import { countOf } from './count.ts';
import { describe } from './describe.ts';
import type { Document } from './documents.ts';
import { documents, filesOf, open } from './documents.ts';
import { onInterrupt } from './interrupt.ts';
import type { Io } from './io.ts';
import { Exit, UsageError, write } from './io.ts';
import type { NamespaceFlags } from './namespace.ts';
import { placed, withNamespace } from './namespace.ts';
import type { Format } from './output.ts';
import { formatOption, printResult, valueFormats, withoutManagedFields } from './output.ts';
import { isSelecting, selectOf } from './select.ts';
import type { ResourceType } from './types.ts';
import { Types } from './types.ts';

/** Of `apply` alone. */
interface ApplyFlags {
  serverSide?: true;
  fieldManager?: string;
  forceConflicts?: true;
  dryRun?: boolean;
  prune?: true;
  labelSelector?: string[];
  /** As kubectl calls it. */
  selector?: string[];
  all?: true;
}

/** Writes an object. @param before as it was read a moment ago; undefined: it is not there, or has no name */
export type Change = (
  client: KindredClient,
  model: ResourceType['model'],
  object: ExtensionObject,
  before: ExtensionObject | undefined,
  flags: ApplyFlags,
) => Promise<ExtensionObject>;

interface Flags extends ConnectionFlags, RetryFlags, NamespaceFlags, ApplyFlags {
  filename: string[];
  output: Format;
}

interface Done {
  readonly stored: ExtensionObject;
  /** `plural.group` */
  readonly label: string;
  readonly what: 'created' | 'updated' | 'unchanged' | 'pruned';
}

const versionHint =
  '  It was changed after the file was made. Take metadata.version out of the file to write it all the same, or begin again from what "kindred get" prints.\n';

/** Who owns the fields that this command applies. */
export const defaultManager = 'kindred-cli';

const conflictHint = '  Leave these fields out of the file, or take them with --force-conflicts.\n';

const definitions = 'customresourcedefinitions.apiextensions.k8s.io';
/** Milliseconds that a type may take to be there, and between two looks. */
const definitionPatience = 10_000;
const definitionPauses = { minDelay: 50, maxDelay: 50 };

/** Races with others who create, change or delete the same object, after which its last failure is reported. */
const raceLimit = 10;

export function writeCommand(io: Io, name: string, description: string, change: Change): Command {
  const command = new Command(name)
    .description(description)
    .requiredOption(
      '-f, --filename <file...>',
      'file or folder of YAML or JSON documents, or - for standard input; repeatable',
    )
    .addOption(formatOption(valueFormats, 'table'))
    .action(async (flags: Flags) => {
      checkPrune(flags);
      const interrupt = onInterrupt();
      try {
        await new Writing(io, flags, change, interrupt.stop, interrupt.cut).run();
      } finally {
        interrupt.release();
      }
    });
  return withRetry(withConnection(withNamespace(command), io));
}

/** @throws UsageError when it would not be clear what goes */
function checkPrune(flags: Flags): void {
  const isChosen = isSelecting(flags);
  if (flags.prune && !isChosen && !flags.all)
    throw new UsageError('--prune needs -l, or --all for objects with any labels');
  if (!flags.prune && (isChosen || flags.all)) throw new UsageError('-l and --all need --prune');
}

class Writing {
  readonly #io: Io;
  readonly #flags: Flags;
  readonly #change: Change;
  readonly #stop: AbortSignal;
  readonly #client: KindredClient;
  readonly #types: Types;
  readonly #retry: Patience;
  /** What the files name, by the label of its type. */
  readonly #named = new Map<string, { readonly type: ResourceType; readonly names: Set<string> }>();
  /** What the definitions in the files define. */
  readonly #defined = new Set<string>();
  /** For programs, that read one JSON document: an object, or as from kubectl a List. */
  readonly #shown: ExtensionObject[] = [];
  #read = 0;
  #written = 0;
  #refused = 0;

  constructor(io: Io, flags: Flags, change: Change, stop: AbortSignal, cut: AbortSignal) {
    this.#io = io;
    this.#flags = flags;
    this.#change = change;
    this.#stop = stop;
    this.#retry = new Patience({ patience: flags.retryFor, stop, onWait: sayOnce(io) });
    this.#client = connect(flags, io, { signal: cut, retry: this.#retry });
    this.#types = new Types(this.#client);
  }

  /** @throws Exit unless every object that was read is written */
  async run(): Promise<void> {
    try {
      await this.#writeAll();
    } finally {
      const [object, ...more] = this.#shown;
      const list = { apiVersion: 'v1', kind: 'List', items: this.#shown };
      if (object) await write(this.#io.stdout, `${JSON.stringify(more.length > 0 ? list : object, null, 2)}\n`);
    }
  }

  async #writeAll(): Promise<void> {
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
    if (this.#flags.prune) await this.#prune();
  }

  /** Once everything in the files is there. An object of another manager, or in another namespace than the files', stays. */
  async #prune(): Promise<void> {
    const { fieldManager: manager = defaultManager, dryRun } = this.#flags;
    for (const { type, names } of this.#named.values()) {
      const namespaces = new Set([...names].map(namespaceOf));
      for await (const object of this.#client.for(type.model).listAll(selectOf(this.#flags))) {
        const name = fullNameOf(object.metadata);
        if (names.has(name) || !namespaces.has(namespaceOf(name)) || !isAppliedBy(object, manager)) continue;
        this.#stop.throwIfAborted();
        const { version } = object.metadata;
        if (!dryRun) await this.#client.delete(type.model, name, { version });
        await this.#print({ stored: object, label: type.label, what: 'pruned' });
      }
    }
  }

  async #writeOne(document: Document): Promise<void> {
    this.#read++;
    try {
      const done = await this.#put(document);
      if (!this.#flags.dryRun && done.label === definitions) this.#defined.add(definedBy(done.stored));
      await this.#print(done);
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

  /** A type that the files define is there a moment after its definition. */
  async #typeOf(object: Partial<ExtensionObject>): Promise<ResourceType> {
    const deadline = performance.now() + definitionPatience;
    const failed = (error: unknown): void => {
      const kind = `${object.apiVersion?.split('/')[0]}/${object.kind}`;
      if (!isNotFound(error) || !this.#defined.has(kind)) throw error;
      if (performance.now() > deadline) {
        this.#defined.delete(kind);
        throw error;
      }
      this.#types.forget();
    };
    const waiting = { timers: awaitedTimers, signal: this.#stop, ...definitionPauses, failed };
    const type = await retry(waiting, () => this.#types.of(object));
    this.#stop.throwIfAborted();
    return type!;
  }

  /** Creates the object, or changes the one that is there; again when others change it at the same time. */
  async #put(document: Document): Promise<Done> {
    const type = await this.#typeOf((document.value ?? {}) as Partial<ExtensionObject>);
    const { model, label } = type;
    const object = placed(type, document.value as ExtensionObject, this.#flags);
    const version = object.metadata?.version ?? undefined;
    const change = (now: ExtensionObject | undefined) => this.#change(this.#client, model, object, now, this.#flags);
    if (!object.metadata?.name) return { stored: await change(undefined), label, what: 'created' };
    const name = fullNameOf(object.metadata);
    const named = this.#named.get(label) ?? { type, names: new Set() };
    this.#named.set(label, named);
    named.names.add(name);
    /** As it was before this command may have changed it. */
    let before: ExtensionObject | undefined;
    let unknowns = 0;
    for (let races = 0; ; ) {
      const now = await this.#client.fetch(model, name);
      if (unknowns === 0) before = now;
      try {
        const stored = await change(now);
        this.#retry.progress();
        const { version: newest, creationTimestamp: made } = stored.metadata;
        const isNew = newest === 0 && before?.metadata.creationTimestamp !== made;
        const isSame = before?.metadata.version === newest;
        return {
          stored,
          label,
          what: isNew ? 'created' : isSame ? 'unchanged' : 'updated',
        };
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
    const dry = this.#flags.dryRun ? ' (dry run)' : '';
    if (this.#flags.output === 'json') this.#shown.push(withoutManagedFields(stored));
    else await printResult(this.#io, this.#flags.output, stored, { label, done: `${what}${dry}` });
  }

  #end(why: string): never {
    const refused = this.#refused > 0 ? `, ${this.#refused} refused` : '';
    this.#io.stderr.write(`kindred: ${why} (${countOf(this.#written, 'object')} written${refused})\n`);
    throw new Exit(1);
  }
}

function definedBy(definition: ExtensionObject): string {
  const { group, names } = definition.spec as { group: string; names: { kind: string } };
  return `${group}/${names.kind}`;
}

/** Empty of an object that is in none. */
function namespaceOf(fullName: string): string {
  return fullName.slice(0, Math.max(fullName.indexOf('/'), 0));
}

function isAppliedBy({ metadata: { managedFields = [] } }: ExtensionObject, manager: string): boolean {
  return managedFields.some((entry) => entry.manager === manager && entry.operation === 'Apply');
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
