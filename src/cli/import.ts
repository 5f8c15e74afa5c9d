import { stat } from 'node:fs/promises';
import { Command, Option } from 'commander';
import type { KindredClient } from '../client/client.ts';
import { KindredError } from '../client/client.ts';
import type { ExtensionObject } from '../model/object.ts';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import { describe } from './describe.ts';
import type { Document } from './documents.ts';
import { documents, filesOf, open } from './documents.ts';
import type { Io } from './io.ts';
import { Exit, UsageError } from './io.ts';
import { startProgress } from './progress.ts';
import type { ResourceType } from './types.ts';
import { Types } from './types.ts';

type OnConflict = 'fail' | 'skip' | 'replace';

interface Flags extends ConnectionFlags {
  onConflict: OnConflict;
}

const batchSize = 1000;
const batchesUnderWay = 3;
const replacesUnderWay = 32;
/** Refused objects that are reported one by one; the rest is counted. */
const reportLimit = 100;

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
      const task = new Import(io, connect(flags, io), flags.onConflict);
      const progress = startProgress(io, `Importing ${file === '-' ? 'standard input' : file}`, size);
      try {
        for await (const document of documents(open(file, io), file)) {
          await task.add(document);
          progress.update(document.offset, `${task.done} imported`);
        }
        await task.finish();
      } catch (error) {
        progress.abort(`Stopped: ${task.summary()}; "--on-conflict skip" goes on from there`);
        task.report();
        throw error;
      }
      progress.stop(task.summary());
      task.report();
      if (task.refused > 0) throw new Exit(1);
    });
  return withConnection(command, io);
}

interface Batch {
  readonly type: ResourceType;
  readonly documents: Document[];
}

/** One import: objects gathered by type, a few batches of them under way at once. */
class Import {
  done = 0;
  refused = 0;
  #skipped = 0;
  #replaced = 0;
  readonly #io: Io;
  readonly #client: KindredClient;
  readonly #types: Types;
  readonly #onConflict: OnConflict;
  readonly #open = new Map<string, Batch>();
  readonly #underWay = new Set<Promise<void>>();
  readonly #reports: string[] = [];

  constructor(io: Io, client: KindredClient, onConflict: OnConflict) {
    this.#io = io;
    this.#client = client;
    this.#types = new Types(client);
    this.#onConflict = onConflict;
  }

  async add(document: Document): Promise<void> {
    let type: ResourceType;
    try {
      type = await this.#types.of((document.value ?? {}) as object);
    } catch (error) {
      if (!(error instanceof KindredError) || (error.code !== 'Invalid' && error.code !== 'NotFound')) throw error;
      this.#refuse(document, error);
      return;
    }
    const batch = this.#open.get(type.label) ?? { type, documents: [] };
    this.#open.set(type.label, batch);
    batch.documents.push(document);
    if (batch.documents.length < batchSize) return;
    this.#open.delete(type.label);
    await this.#start(batch);
  }

  async finish(): Promise<void> {
    for (const batch of this.#open.values()) await this.#start(batch);
    await Promise.all(this.#underWay);
  }

  summary(): string {
    const parts = [
      `${this.done} imported`,
      this.#replaced > 0 && `${this.#replaced} of them replaced`,
      this.#skipped > 0 && `${this.#skipped} skipped`,
      this.refused > 0 && `${this.refused} refused`,
    ];
    return parts.filter((part) => part !== false).join(', ');
  }

  /** Writes why objects were refused. */
  report(): void {
    for (const text of this.#reports) this.#io.stderr.write(text);
    const more = this.refused - this.#reports.length;
    if (more > 0) this.#io.stderr.write(`… and ${more} more\n`);
  }

  /** Waits while enough is under way; what fails there as a whole is thrown here. */
  async #start(batch: Batch): Promise<void> {
    const sent = this.#send(batch).finally(() => this.#underWay.delete(sent));
    sent.catch(() => {});
    this.#underWay.add(sent);
    if (this.#underWay.size >= batchesUnderWay) await Promise.race(this.#underWay);
  }

  async #send({ type, documents }: Batch): Promise<void> {
    const texts = documents.map(({ text, value }) => text ?? JSON.stringify(value));
    const taken: Document[] = [];
    let fatal: KindredError | undefined;
    const results = this.#client.import(type.model, texts, { batch: batchSize });
    for await (const result of results) {
      const document = documents[result.index]!;
      if (result.ok) this.done++;
      else if (isFatal(result.error)) fatal = result.error;
      else if (result.error.code !== 'AlreadyExists' || this.#onConflict === 'fail')
        this.#refuse(document, result.error);
      else if (this.#onConflict === 'skip') this.#skipped++;
      else taken.push(document);
    }
    const next = taken.values();
    const replaceRest = async () => {
      for (const document of next) await this.#replace(type, document);
    };
    await Promise.all(Array.from({ length: replacesUnderWay }, replaceRest));
    if (fatal) throw fatal;
  }

  async #replace({ model }: ResourceType, document: Document): Promise<void> {
    const { metadata, ...object } = document.value as ExtensionObject;
    const { version, ...rest } = metadata;
    try {
      await this.#client.update(model, { ...object, metadata: rest } as ExtensionObject);
      this.done++;
      this.#replaced++;
    } catch (error) {
      if (!(error instanceof KindredError) || isFatal(error)) throw error;
      this.#refuse(document, error);
    }
  }

  #refuse(document: Document, error: KindredError): void {
    this.refused++;
    if (this.#reports.length < reportLimit) this.#reports.push(describe(error, document.place));
  }
}

/** What the next object would meet too: the service away, full, or closed to this caller. */
function isFatal({ status }: KindredError): boolean {
  return status >= 500 || status === 401 || status === 403 || status === 429;
}
