import { KindredError } from '../client/client.ts';
import { describe } from './describe.ts';
import type { Io } from './io.ts';
import type { Target } from './targets.ts';
import type { ResourceType } from './types.ts';

/**
 * Does the same for each object. What is refused of one is told, and the others go on; what every other one would meet too
 * (the service away, an unknown token) is thrown.
 * @returns how many were refused
 */
export async function eachObject(
  io: Io,
  targets: readonly Target[],
  work: (type: ResourceType, name: string) => Promise<void>,
): Promise<number> {
  let refused = 0;
  for (const { type, names } of targets) {
    for (const name of names) {
      try {
        await work(type, name);
      } catch (error) {
        if (!(error instanceof KindredError) || error.status >= 500 || error.status === 401) throw error;
        refused++;
        io.stderr.write(describe(error));
      }
    }
  }
  return refused;
}
