interface Operation {
  readonly op: 'add' | 'remove' | 'replace';
  readonly path: string;
  readonly value?: unknown;
}

/** The operations (RFC 6902) that make one value the other; lists are replaced whole. */
export function operationsBetween(before: unknown, after: unknown, path = ''): Operation[] {
  if (!isRecord(before) || !isRecord(after)) {
    return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ op: 'replace', path, value: after }];
  }
  const at = (name: string) => `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  const removed = Object.keys(before)
    .filter((name) => !Object.hasOwn(after, name))
    .map((name): Operation => ({ op: 'remove', path: at(name) }));
  const kept = Object.entries(after).flatMap(([name, value]): Operation[] =>
    Object.hasOwn(before, name)
      ? operationsBetween(before[name], value, at(name))
      : [{ op: 'add', path: at(name), value }],
  );
  return [...removed, ...kept];
}

/** A number kept as it was written (`parseExact`) is no record. */
function isRecord(value: unknown): value is Record<string, unknown> {
  const { isRawJSON } = JSON as unknown as { isRawJSON(value: unknown): boolean };
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawJSON(value);
}
