/** What the service and the threads that read and write snapshots tell each other. */
import type { FieldShape } from '../indexes/snapshot/arrange.ts';
import type { Numbers, Piece } from '../indexes/snapshot/piece.ts';

export type Task =
  /** Gives `Listing`, then each file of the folder, or this one alone. */
  | { readonly kind: 'read'; readonly folder: string; readonly file?: string }
  /** Takes pieces until `Finish`, and replaces the file. */
  | { readonly kind: 'write'; readonly folder: string; readonly file: string };

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
  readonly runtime: string;
  /** All that will be given. */
  readonly files: readonly string[];
}

export type FromReader = FileRead | FileDamaged | Listing;

export interface Written {
  readonly bytes: number;
}
