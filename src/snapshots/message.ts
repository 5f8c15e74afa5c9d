/** What the service and the threads that read and write snapshots tell each other. */
import type { FieldShape } from '../indexes/snapshot/arrange.ts';
import type { Numbers, Piece } from '../indexes/snapshot/piece.ts';

export type Task =
  /** Gives `Listing`, then each file of the folder, or these alone. */
  | { readonly kind: 'read'; readonly folder: string; readonly files?: readonly string[] }
  /** Takes pieces until `Finish`, and replaces the file. */
  | { readonly kind: 'write'; readonly folder: string; readonly file: string }
  /** Gives a `Packed` for each message. */
  | { readonly kind: 'pack'; readonly folder: string; readonly file: string }
  /** Takes what `pack` gave, part by part, and at the end a message without one; replaces the file. */
  | { readonly kind: 'unpack'; readonly folder: string; readonly file: string };

/** A part of a file, compressed; without one: there are no more. */
export interface Packed {
  readonly part?: Uint8Array<ArrayBuffer>;
}

/** `content` is the caller's; `limit` and `size` are added to it. */
export interface Finish {
  readonly finish: {
    readonly content: object;
    readonly fields: readonly FieldShape[];
    readonly touched: Iterable<number>;
  };
}

export type ToWriter = Piece | Finish;

export interface FileRead {
  readonly file: string;
  readonly content: unknown;
  readonly sections: ReadonlyMap<string, Numbers>;
}

export interface FileDamaged {
  readonly file: string;
  readonly damaged: string;
}

interface Listing {
  /** Undefined where a file is asked for alone. */
  readonly runtime: string | undefined;
  /** All that will be given. */
  readonly files: readonly string[];
}

export type FromReader = FileRead | FileDamaged | Listing;

export interface Written {
  readonly bytes: number;
}
