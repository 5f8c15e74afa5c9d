/** Every match of a list at one revision, read in portions while writes go on. */
import type { TimeSlice, TurnQueue } from '../runtime/time-slice.ts';
import type { MaybePromise, Snapshot } from '../store/store.ts';
import { asBuffer } from './bytes.ts';
import type { RegisteredModel, Stored } from './registered-model.ts';

export interface Export {
  readonly revision: number;
  readonly total: number;
  /** In portions. */
  readonly objects: AsyncGenerator<readonly Stored[]>;
  /** The same as NDJSON; one of the two is read. */
  readonly lines: AsyncGenerator<Iterable<Buffer> | string>;
  /** Gives the snapshot back, whether all, some or none of the objects were read. */
  close(): Promise<void>;
}

export interface ExportSource {
  readonly snapshot: Snapshot;
  readonly model: RegisteredModel;
  /** Of the model in the store of the snapshot. */
  readonly number: number;
  /** Of all matches, in order. */
  readonly ids: Float64Array;
  /** With values that lists leave out (`hidden.ts`). */
  readonly withValues: boolean;
  readonly turns: TurnQueue;
  /** One object's bytes as the lines have them. @throws InternalError when it cannot be converted */
  readonly shown: (bytes: Buffer) => Buffer;
}

/** What the store is asked for at once. */
interface Question<T> {
  readonly read: (ids: readonly number[]) => MaybePromise<T>;
  readonly sizeOf: (portion: T) => { readonly rows: number; readonly bytes: number };
}

/**
 * Rows that are read at once: at first, then at most, of a store that answers at once fewer, and of what size about if they are
 * as large as those before.
 */
const exportPortion = { first: 16, most: 256, atOnce: 32, bytes: 2 ** 20 };

const lineEnd = Buffer.from('\n');

/** Milliseconds of a turn of the event loop that exports take: they take long anyway, and others wait for each turn. */
export const exportSlice = 1;

export function exportOf(source: ExportSource): Export {
  const { snapshot, ids } = source;
  const objects = objectsOf(source);
  const lines = linesOf(source, objects);
  return {
    revision: snapshot.revision,
    total: ids.length,
    objects,
    lines,
    close: async () => {
      // Ends a read that is under way; a generator that never began has no end of its own.
      await Promise.all([lines.return(undefined), objects.return(undefined)]);
      await snapshot.close();
    },
  };
}

async function* objectsOf(source: ExportSource): AsyncGenerator<readonly Stored[]> {
  const { snapshot, model, number, turns, shown } = source;
  const slice = turns.slice();
  const portions = portionsOf(source, slice, {
    read: (wanted) => snapshot.get(number, wanted),
    sizeOf: (rows) => ({ rows: rows.length, bytes: rows.reduce((sum, row) => sum + row.bytes.byteLength, 0) }),
  });
  for await (const rows of portions) {
    const objects: Stored[] = [];
    for (const row of rows) {
      // Conversions are somebody else's code.
      if (model.versions && slice.isOver) await slice.renew();
      objects.push({ ...row, bytes: shown(model.current(asBuffer(row.bytes), row)) });
    }
    yield objects;
  }
}

/** Rows that need no look at stay in one text: buffers of their own make the collection of garbage hold the event loop. */
async function* linesOf(
  source: ExportSource,
  objects: AsyncIterable<readonly Stored[]>,
): AsyncGenerator<Iterable<Buffer> | string> {
  const { snapshot, model, number, withValues, turns } = source;
  if (!snapshot.lines || !model.isShownAsStored(withValues)) {
    for await (const portion of objects) yield portion.flatMap(({ bytes }) => [bytes, lineEnd]);
    return;
  }
  const portions = portionsOf(source, turns.slice(), {
    read: (wanted) => snapshot.lines!(number, wanted),
    sizeOf: ({ rows, length }) => ({ rows, bytes: length }),
  });
  for await (const { text } of portions) yield text;
}

async function* portionsOf<T>(
  { ids, model }: ExportSource,
  slice: TimeSlice,
  { read, sizeOf }: Question<T>,
): AsyncGenerator<T> {
  // A store that answers at once would let a reader who never waits keep the event loop to himself.
  for (let at = 0, count = exportPortion.first; at < ids.length; ) {
    if (slice.isOver) await slice.renew();
    const wanted = [...ids.subarray(at, at + count)];
    const reading = read(wanted);
    const most = reading instanceof Promise ? exportPortion.most : exportPortion.atOnce;
    const portion = await reading;
    const { rows, bytes } = sizeOf(portion);
    if (rows !== wanted.length) throw new Error(`snapshot of ${model.kind}: ${wanted.length - rows} rows missing`);
    yield portion;
    at += rows;
    count = Math.max(1, Math.min(most, Math.floor((exportPortion.bytes * rows) / bytes)));
  }
}
