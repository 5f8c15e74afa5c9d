/** `/livez` and `/readyz` (docs/reference/command-line.md). */
import type { GroupVersionKind } from '../../model/gvk.ts';

/** What the service says of itself. */
export interface Readiness {
  /**
   * `starting` until every enabled plugin is started or failed, `unavailable` while the database is away, `outdated` while
   * other replicas serve models by contracts that this one cannot serve by.
   */
  readonly status: 'ready' | 'starting' | 'stopping' | 'unavailable' | 'outdated';
  readonly models: readonly (GroupVersionKind & {
    readonly state: 'building' | 'ready' | 'degraded' | 'outdated';
    /** From 0 to 1. */
    readonly progress: number;
    readonly problems: readonly { readonly name: string; readonly reason: string }[];
  })[];
  readonly plugins: readonly {
    readonly name: string;
    readonly state: string;
    readonly reason?: string;
    readonly message?: string;
  }[];
}
