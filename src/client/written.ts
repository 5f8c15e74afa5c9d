/** Whether a stored object is the one that was sent, when the answer to it was lost. */

/** As much of an object as is looked at here. */
export interface Stored {
  metadata?: {
    name?: string;
    generateName?: string;
    creationTimestamp?: string;
    version?: number;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    finalizers?: string[];
  };
  [member: string]: unknown;
}

/** Milliseconds by which clocks of replicas, and a time that is known to the second, may differ. */
const tolerance = 2_000;

/** Of a plugin's bundled object; dropped when others send it. */
const pluginName = /^plugin\..*\/plugin-name$/;

/**
 * True when `stored` holds all that `sent` says and is not older than `began` (milliseconds of the service's clock;
 * undefined when that is not known). Members beyond that may be defaults, or what controllers put there since; `status`
 * is theirs, and members that the service never shows (such as `stringData` of a Secret) cannot be compared.
 */
export function isWritten(sent: Stored, stored: Stored, began: number | undefined): boolean {
  if (began !== undefined && Date.parse(stored.metadata?.creationTimestamp ?? '') < began - tolerance) return false;
  const { labels, annotations, finalizers } = { ...sent.metadata };
  const kept = stored.metadata ?? {};
  for (const [key, value] of Object.entries(labels ?? {})) {
    if (!pluginName.test(key) && kept.labels?.[key] !== value) return false;
  }
  for (const [key, value] of Object.entries(annotations ?? {})) if (kept.annotations?.[key] !== value) return false;
  for (const one of finalizers ?? []) if (!kept.finalizers?.includes(one)) return false;
  return Object.entries(sent).every(
    ([member, value]) =>
      member === 'metadata' || member === 'status' || !Object.hasOwn(stored, member) || holds(stored[member], value),
  );
}

/** Objects may have more members than `part`, lists have the same items. */
function holds(whole: unknown, part: unknown): boolean {
  if (typeof part !== 'object' || part === null) return whole === part;
  if (typeof whole !== 'object' || whole === null || Array.isArray(whole) !== Array.isArray(part)) return false;
  if (Array.isArray(part) && part.length !== (whole as unknown[]).length) return false;
  return Object.entries(part).every(
    ([member, value]) => Object.hasOwn(whole, member) && holds((whole as Record<string, unknown>)[member], value),
  );
}
