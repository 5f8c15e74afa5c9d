/** What every store is opened with. */
import type { Store } from './store.ts';

export interface StoreOptions {
  /** Accept a server whose settings can lose acknowledged writes. Default false. */
  readonly allowUnsafeDurability?: boolean;
  /** Connections to a server, at most. Default 10. */
  readonly poolSize?: number;
  /** Told in one line each what an operator should know: a connection lost and found again, settings that are unsafe. */
  readonly warn?: (message: string) => void;
}

/** Opens a store from elsewhere, which passes `storeContract` of `kindred/testing`. What it throws should be an error of one line. */
export type StoreOpener = (options: StoreOptions) => Promise<Store>;

/** Which store a model, or every model of a group, is in. */
export interface PlacementRule {
  /** `<plural>.<group>`, or `*.<group>` for every model of a group. */
  readonly model: string;
  /** The name of a store. */
  readonly store: string;
}

/** The name of the store of everything that is placed nowhere else. */
export const defaultStore = 'default';
