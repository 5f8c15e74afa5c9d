/** What the replica that answers remembers of who did what (`GET /v3/audit`). */
import { events } from './changes.ts';

export const auditPath = '/v3/audit';

export interface AuditEntry {
  readonly id: string;
  readonly time: string;
  readonly requestId?: string;
  readonly identity: string;
  readonly origin: string;
  readonly plugin?: string;
  readonly credential?: string;
  readonly address?: string;
  readonly verb: string;
  readonly path?: string;
  readonly group?: string;
  readonly resource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly outcome: 'done' | 'refused' | 'failed';
  readonly status?: number;
  readonly code?: string;
  readonly before?: number;
  readonly after?: number;
  readonly revision?: number;
}

export type AuditEvent = { readonly type: 'ENTRY'; readonly entry: AuditEntry } | { readonly type: 'BOOKMARK' };

/** The newest entries that match, oldest first, then each as it is made. */
export const watchAudit = (query: URLSearchParams, signal: AbortSignal, opened: () => void) =>
  events<AuditEvent>(auditPath, query, signal, opened);

/** `plural.group` of what was asked for, without a sub-resource; undefined for a path. */
export function auditType({ resource, group }: AuditEntry): string | undefined {
  const plural = resource?.split('/')[0];
  return plural && group ? `${plural}.${group}` : plural;
}
