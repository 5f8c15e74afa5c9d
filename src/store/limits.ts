/** What the tables of all databases have in common. */

/** How the type of a change is kept: as its place here. */
export const changeTypes = ['create', 'update', 'delete'] as const;

/** Bytes of content that one call of `changes` returns, at most (but at least one change). */
export const changesBytes = 4 * 2 ** 20;

/** Rows that one call of `compact` removes, at most: a few milliseconds. */
export const compactRows = 500;

/** How far `Store.jump` moves the revision: more than two years of 15,000 writes a second, and good for 8,000 restores. */
export const restoreGap = 2 ** 40;

/** Snapshots that one process has open on a server at once, each a connection: one more is refused. */
export const maxSnapshots = 10;
