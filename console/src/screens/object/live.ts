/** The changes of one object as they come: what is stored first, then each change. */

import type { WatchEvent } from 'kindred/client';
import type { ComputedRef } from 'vue';
import { client } from '../../api/client.ts';
import { problemOf } from '../../api/errors.ts';
import type { ModelDetails } from '../../api/models.ts';
import { clientModelOf } from '../../api/models.ts';
import { partsOf } from '../../api/object.ts';
import { useStream } from '../../api/stream.ts';
import type { StoredObject } from './save.ts';

export interface ObjectEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: StoredObject;
  readonly revision: string;
}

export interface Follow {
  readonly model: ModelDetails;
  readonly name: string;
  /** From the start of the change log, as far as it is kept; else from what is stored. */
  readonly past: boolean;
}

/**
 * @param of undefined: nothing to follow now
 * `begin`: with `past`, all events come again; `isCut`: those before what is stored are no longer kept.
 */
export function useObjectEvents(
  of: ComputedRef<Follow | undefined>,
  on: {
    event(event: ObjectEvent): void;
    begin?(isCut: boolean): void;
    poll?(): unknown;
    failed?(error: unknown): void;
  },
): void {
  useStream<WatchEvent<unknown> | 'begin' | 'cut'>({
    open: () => {
      const follow = of.value;
      if (!follow || !['list', 'watch'].every((verb) => follow.model.verbs.includes(verb))) return undefined;
      const { model, name, past } = follow;
      return async function* (signal: AbortSignal, opened: () => void) {
        const parts = partsOf(name);
        const select = {
          fields: {
            'metadata.name': parts.name,
            ...(parts.namespace !== undefined && { 'metadata.namespace': parts.namespace }),
          },
        };
        const watch = async function* (from: { since: string } | { sendInitial: true }) {
          const events = client.for(clientModelOf(model)).watch({ select, signal, resume: false, ...from });
          for await (const event of events) {
            opened();
            yield event;
          }
        };
        if (past) {
          try {
            yield 'begin' as const;
            yield* watch({ since: '0' });
            return;
          } catch (error) {
            if (problemOf(error).code !== 'Expired') throw error;
          }
          // The change log no longer begins with the first write.
          yield 'cut' as const;
        }
        yield* watch({ sendInitial: true });
      };
    },
    apply(events) {
      for (const event of events) {
        if (event === 'begin' || event === 'cut') on.begin?.(event === 'cut');
        else if (event.type !== 'BOOKMARK') {
          on.event({ type: event.type, object: event.object as StoredObject, revision: event.revision });
        }
      }
    },
    ...(on.poll && { poll: on.poll }),
    failed: (error) => on.failed?.(error),
  });
}
