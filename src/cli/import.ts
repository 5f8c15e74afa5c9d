import { stat } from 'node:fs/promises';
import { addAbortSignal } from 'node:stream';
import { Command, Option } from 'commander';
import type { ImportResult, KindredClient } from '../client/client.ts';
import { KindredError, Patience } from '../client/client.ts';
import { retrying } from '../client/retry.ts';
import { isWritten } from '../client/written.ts';
import { isNotFound } from '../errors.ts';
import { fullNameOf } from '../model/full-name.ts';
import type { ExtensionObject, OwnerReference } from '../model/object.ts';
import type { ConnectionFlags, RetryFlags } from './connection.ts';
import { connect, withConnection, withRetry } from './connection.ts';
import type { Document } from './documents.ts';
import { documents, filesOf, open } from './documents.ts';
import type { Interrupt } from './interrupt.ts';
import { onInterrupt } from './interrupt.ts';
import type { Io } from './io.ts';
import { Exit, UsageError } from './io.ts';
import { Ledger } from './ledger.ts';
import type { NamespaceFlags } from './namespace.ts';
import { namespaceOf, placed, withNamespace } from './namespace.ts';
import { startProgress } from './progress.ts';
import type { ResourceType } from './types.ts';
import { Types } from './types.ts';

type OnConflict = 'fail' | 'skip' | 'replace';

interface Flags extends ConnectionFlags, RetryFlags, NamespaceFlags {
  onConflict: OnConflict;
}

const batchSize = 1000;
const batchesUnderWay = 3;
const replacesUnderWay = 32;

export function importCommand(io: Io): Command {
  const command = new Command('import')
    .description('create many objects from NDJSON or YAML, told apart by content')
    .argument('<file>', 'file, or - for standard input')
    .addOption(
      new Option('--on-conflict <what>', 'what to do with an object whose name is taken')
        .choices(['fail', 'skip', 'replace'])
        .default('fail'),
    )
    .action(async (file: string, flags: Flags) => {
      const [only, ...more] = await filesOf(file);
      if (more.length > 0 || only === undefined || only !== file)
        throw new UsageError(`${file} is a folder; import takes one file, apply a folder`);
      const size = file === '-' ? undefined : (await stat(file)).size;
      const interrupt = onInterrupt();
      try {
        await run(io, file, size, flags, interrupt);
      } finally {
        interrupt.release();
      }
    });
  return withRetry(withConnection(withNamespace(command), io));
}

/** @throws Exit when not every object was acknowledged or skipped */
async function run(io: Io, file: string, size: number | undefined, flags: Flags, interrupt: Interrupt): Promise<void> {
  const progress = startProgress(io, `Importing ${file === '-' ? 'standard input' : file}`, size);
  const task = new Import(io, flags, interrupt, ({ message }) => progress.notice(`${message}; trying again`));
  const input = addAbortSignal(task.stop, open(file, io));
  try {
    for await (const document of documents(input, file)) {
      await task.add(document);
      progress.update(document.offset, `${task.ledger.acknowledged} imported`);
    }
    await task.finish();
  } catch (error) {
    // What was read before a line that is no JSON is sent all the same.
    if (error instanceof UsageError) await task.finish().catch(() => {});
    await task.end();
    progress.abort(`Stopped: ${task.summary()}; "--on-conflict skip" goes on from there`);
    task.ledger.report(io);
    throw interrupt.stop.aborted ? new Exit(1) : (task.failure ?? error);
  }
  progress.stop(task.summary());
  task.ledger.report(io);
  if (!task.ledger.isComplete) throw new Exit(1);
}

interface Batch {
  readonly type: ResourceType;
  readonly namespace: string | undefined;
  readonly documents: Document[];
}

/** One import: objects gathered by type, a few batches of them under way at once. */
class Import {
  readonly ledger = new Ledger();
  /** Aborts when nothing more is to be read: at an interrupt or a failure. */
  readonly stop: AbortSignal;
  /** What went wrong for all objects: the service away, full, or closed to this caller. */
  failure: unknown;
  readonly #client: KindredClient;
  readonly #types: Types;
  readonly #onConflict: OnConflict;
  readonly #namespace: NamespaceFlags;
  /** Objects that are stored, but for their owners: these may come later. */
  readonly #owned: { readonly type: ResourceType; readonly document: Document }[] = [];
  readonly #retry: Patience;
  readonly #failed = new AbortController();
  readonly #open = new Map<string, Batch>();
  readonly #underWay = new Set<Promise<void>>();
  #replaced = 0;

  constructor(io: Io, flags: Flags, interrupt: Interrupt, onWait: (error: KindredError) => void) {
    this.stop = AbortSignal.any([interrupt.stop, this.#failed.signal]);
    this.#retry = new Patience({ patience: flags.retryFor, stop: this.stop, onWait });
    this.#client = connect(flags, io, { signal: interrupt.cut, retry: this.#retry });
    this.#types = new Types(this.#client);
    this.#onConflict = flags.onConflict;
    this.#namespace = flags;
  }

  async add(read: Document): Promise<void> {
    this.stop.throwIfAborted();
    let type: ResourceType;
    try {
      type = await this.#types.of((read.value ?? {}) as object);
    } catch (error) {
      this.ledger.add(read);
      if (!(error instanceof KindredError) || (error.code !== 'Invalid' && error.code !== 'NotFound')) throw error;
      this.ledger.refuse(read, error);
      return;
    }
    const object = placed(type, read.value as ExtensionObject, this.#namespace);
    const namespace = namespaceOf(type, this.#namespace).namespace && object.metadata?.namespace;
    const document = { ...read, value: object };
    this.ledger.add(document);
    const key = keyOf(type, namespace);
    const batch = this.#open.get(key) ?? { type, namespace, documents: [] };
    this.#open.set(key, batch);
    batch.documents.push(document);
    if (batch.documents.length === batchSize) await this.#start(batch);
  }

  /** Sends what was read and waits for every answer. @throws what went wrong for all objects */
  async finish(): Promise<void> {
    for (const batch of [...this.#open.values()]) await this.#start(batch);
    await this.end();
    if (this.failure) throw this.failure;
    const next = this.#owned.values();
    const setRest = async () => {
      for (const { type, document } of next) await this.#setOwners(type, document);
    };
    await Promise.all(Array.from({ length: replacesUnderWay }, setRest));
    if (this.failure) throw this.failure;
  }

  /** Waits for the answers to what is under way. */
  async end(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  summary(): string {
    const { acknowledged, skipped, refused, left, read } = this.ledger;
    const parts = [
      `${acknowledged} imported`,
      this.#replaced > 0 && `${this.#replaced} of them replaced`,
      skipped > 0 && `${skipped} skipped`,
      refused > 0 && `${refused} refused`,
      left > 0 && `${left} of ${read} without an answer`,
    ];
    return parts.filter((part) => part !== false).join(', ');
  }

  /** Waits while enough is under way. @throws what went wrong for all objects */
  async #start(batch: Batch): Promise<void> {
    if (this.failure) throw this.failure;
    this.stop.throwIfAborted();
    this.#open.delete(keyOf(batch.type, batch.namespace));
    const sent = this.#send(batch)
      .catch((error: unknown) => {
        this.failure ??= error;
        this.#failed.abort();
      })
      .finally(() => this.#underWay.delete(sent));
    this.#underWay.add(sent);
    if (this.#underWay.size >= batchesUnderWay) await Promise.race(this.#underWay);
  }

  async #send({ type, namespace, documents }: Batch): Promise<void> {
    const texts = documents.map((one) => textOf(one));
    const taken: Document[] = [];
    let fatal: KindredError | undefined;
    for (const document of documents) this.ledger.send(document);
    const results = this.#client.import(type.model, texts, { batch: batchSize, retry: this.#retry, namespace });
    for await (const result of results) {
      const document = documents[result.index]!;
      if (result.ok) this.#stored(type, document);
      else if (this.#isForReplace(result, document) || this.#mayLackOwners(result, document)) taken.push(document);
      else fatal = this.#refused(document, result.error) ?? fatal;
    }
    const next = taken.values();
    const settleRest = async () => {
      for (const document of next) fatal = (await this.#settle(type, document)) ?? fatal;
    };
    await Promise.all(Array.from({ length: replacesUnderWay }, settleRest));
    if (fatal) throw fatal;
  }

  /** A name that is taken, or an object that may be stored: put in its place it certainly is. */
  #isForReplace({ error }: Extract<ImportResult, { ok: false }>, { value }: Document): boolean {
    if (this.#onConflict !== 'replace' || !(value as Partial<ExtensionObject>).metadata?.name) return false;
    return error.code === 'AlreadyExists' || error.code === 'UnknownOutcome';
  }

  /** An import that was stopped before it set the owners may have left the object. */
  #mayLackOwners({ error }: Extract<ImportResult, { ok: false }>, document: Document): boolean {
    return this.#onConflict === 'skip' && error.code === 'AlreadyExists' && ownersOf(document) !== undefined;
  }

  /** Enters what became of an object; returns the error when the next object would meet it too. */
  #refused(document: Document, error: KindredError): KindredError | undefined {
    if (error.code === 'UnknownOutcome') {
      this.ledger.lose(document, error);
      return this.#retry.isOver ? error : undefined;
    }
    if (isFatal(error)) {
      this.ledger.keep(document);
      return error;
    } else if (error.code === 'AlreadyExists' && this.#onConflict === 'skip') {
      this.ledger.skip(document);
    } else this.ledger.refuse(document, error);
    return undefined;
  }

  /** Owners are set when all objects are there; until then the object has no answer. */
  #stored(type: ResourceType, document: Document): void {
    if (ownersOf(document)) this.#owned.push({ type, document });
    else this.ledger.acknowledge(document);
  }

  /** With the uids that the owners have now: an import makes new objects. */
  async #setOwners({ model }: ResourceType, document: Document): Promise<void> {
    const { metadata } = document.value as ExtensionObject;
    const ownerReferences = ownersOf(document)!.map(({ uid: _uid, ...reference }) => reference);
    try {
      if (this.failure) return this.ledger.keep(document);
      await this.#client.patch(model, fullNameOf(metadata), { metadata: { ownerReferences } });
      this.ledger.acknowledge(document);
    } catch (error) {
      if (!(error instanceof KindredError)) throw error;
      this.failure ??= this.#refused(document, error);
    }
  }

  /** Of an object whose name is taken. */
  async #settle(type: ResourceType, document: Document): Promise<KindredError | undefined> {
    try {
      await (this.#onConflict === 'replace' ? this.#replace(type, document) : this.#resume(type, document));
      return undefined;
    } catch (error) {
      if (error instanceof KindredError) return this.#refused(document, error);
      throw error;
    }
  }

  /** Only what lacks nothing else than its owners was left by an import; anything else of that name belongs to others. */
  async #resume(type: ResourceType, document: Document): Promise<void> {
    const object = document.value as ExtensionObject;
    const stored = await this.#client.fetch(type.model, fullNameOf(object.metadata));
    const lacksOwners = stored && !stored.metadata.ownerReferences?.length && isWritten(object, stored, undefined);
    if (lacksOwners) this.#stored(type, document);
    else this.ledger.skip(document);
  }

  async #replace(type: ResourceType, document: Document): Promise<void> {
    const { model } = type;
    const { metadata, ...object } = document.value as ExtensionObject;
    const { version, ...rest } = metadata;
    const { ownerReferences: _owners, ...others } = rest;
    const own = { ...object, metadata: others } as ExtensionObject;
    const put = () =>
      this.#client.update(model, own).catch((error: unknown) => {
        // It was deleted meanwhile.
        if (isNotFound(error)) return this.#client.create(model, own);
        throw error;
      });
    // Put there twice, it is the same.
    await retrying(put, ({ code }) => code === 'UnknownOutcome', this.#retry);
    this.#replaced++;
    this.#stored(type, document);
  }
}

function keyOf(type: ResourceType, namespace: string | undefined): string {
  return `${type.label}/${namespace ?? ''}`;
}

/** Undefined without owners, and for an object whose name the service makes: nobody knows it afterwards. */
function ownersOf({ value }: Document): OwnerReference[] | undefined {
  const { name, ownerReferences } = (value as Partial<ExtensionObject>).metadata ?? {};
  return name && Array.isArray(ownerReferences) && ownerReferences.length > 0 ? ownerReferences : undefined;
}

/** As it is sent at first. */
function textOf(document: Document): string {
  if (!ownersOf(document)) return document.text ?? JSON.stringify(document.value);
  const { metadata, ...members } = document.value as ExtensionObject;
  const { ownerReferences: _owners, ...rest } = metadata;
  return JSON.stringify({ ...members, metadata: rest });
}

/** What the next object would meet too: the service away, full, or closed to this caller. */
function isFatal({ code }: KindredError): boolean {
  const codes = ['NotReady', 'TooManyRequests', 'StorageFull', 'Unauthenticated', 'Forbidden'];
  return codes.includes(code);
}
