/** `/livez` and `/readyz` (docs/reference/command-line.md). */
import type { GroupVersionKind } from '../../model/gvk.ts';

/** What the service says of itself. */
export interface Readiness {
  /** `starting` until every enabled plugin is started or failed, `unavailable` while the database is away. */
  readonly status: 'ready' | 'starting' | 'stopping' | 'unavailable';
  readonly models: readonly (GroupVersionKind & {
    readonly state: 'building' | 'ready' | 'degraded';
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
