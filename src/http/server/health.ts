/** `/livez` and `/readyz` (docs/reference/command-line.md). */
import type { GroupVersionKind } from '../../model/gvk.ts';

/** What the service says of itself. */
export interface Readiness {
  /**
   * `starting` until every enabled plugin is started or failed, `unavailable` while the (default) database is away, `outdated` while
   * other replicas serve models by contracts that this one cannot serve by.
   */
  readonly status: 'ready' | 'starting' | 'stopping' | 'unavailable' | 'outdated';
  readonly models: readonly (GroupVersionKind & {
    /** With several stores: where its objects are. */
    readonly store?: string;
    readonly state: 'building' | 'ready' | 'degraded' | 'outdated' | 'idle' | 'elsewhere';
    /** From 0 to 1. */
    readonly progress: number;
    readonly problems: readonly { readonly name: string; readonly reason: string }[];
    /** Those that are being built while the model serves; absent without any. */
    readonly indexes?: readonly { readonly name: string; readonly progress: number }[];
    /** Where the indexes came from when the model became ready. */
    readonly start?:
      | {
          readonly from: 'snapshot' | 'build';
          readonly objects: number;
          /** Changes of the log that came on top of a snapshot. */
          readonly replayed: number;
          readonly ms: number;
          /** The snapshot came from the database, not from the disk. */
          readonly via?: 'database';
          /** Why a snapshot was not used, in one word. */
          readonly reason?: string;
        }
      | undefined;
  })[];
  /** With several stores: each of them. One that is away takes its models with it, and the service stays ready with the others. */
  readonly stores?: readonly { readonly name: string; readonly state: 'ready' | 'unavailable' }[];
  readonly plugins: readonly {
    readonly name: string;
    readonly state: string;
    readonly reason?: string;
    readonly message?: string;
  }[];
}
