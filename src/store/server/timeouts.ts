/** How long the stores on a database server wait, in milliseconds. */

/** After these a database that does not answer counts as away. */
export const connectTimeout = 1_500;
export const shortQuery = 1_800;
export const longQuery = 30_000;
/** For which the server itself keeps up the wait for a lock that nobody may be waiting for any more. */
export const lockWait = 1_500;
export const commitTimeout = 9_000;
/** For learning what became of a batch whose connection broke. */
export const resolveTimeout = 8_000;
/** Between two questions for that. */
export const resolveDelays = { minDelay: 50, maxDelay: 1_000 };
/** That closing a store waits for connections that are in use, or that the server does not let go. */
export const closeTimeout = 5_000;
