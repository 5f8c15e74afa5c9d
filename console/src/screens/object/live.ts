/** The changes of one object as they come, while the page is looked at. */

import type { Ref } from 'vue';
import { onScopeDispose, shallowRef, watch } from 'vue';
import { client } from '../../api/client.ts';
import { problemOf } from '../../api/errors.ts';
import type { ModelDetails } from '../../api/models.ts';
import { clientModelOf } from '../../api/models.ts';
import type { StoredObject } from './save.ts';

/** A page that nobody looks at for so long gives its connection back. */
const hiddenFor = 30_000;
const again = 5_000;

export interface ObjectEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: StoredObject;
  readonly revision: string;
  /** What was stored before the stream began. */
  readonly isInitial: boolean;
}

export function useObjectEvents(
  model: Ref<ModelDetails | undefined>,
  name: Ref<string>,
  onEvent: (event: ObjectEvent) => void,
) {
  const isLive = shallowRef(false);
  let stream: AbortController | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function stop(): void {
    clearTimeout(timer);
    stream?.abort();
    stream = undefined;
    isLive.value = false;
  }

  async function run(): Promise<void> {
    stop();
    const of = model.value;
    if (!of?.verbs.includes('watch') || document.hidden) return;
    const own = new AbortController();
    stream = own;
    try {
      const select = { fields: { 'metadata.name': name.value } };
      const events = client.for(clientModelOf(of)).watch({ select, sendInitial: true, signal: own.signal });
      for await (const event of events) {
        isLive.value = true;
        if (event.type === 'BOOKMARK') continue;
        onEvent({
          type: event.type,
          object: event.object as unknown as StoredObject,
          revision: String(event.revision),
          isInitial: event.initial === true,
        });
      }
    } catch (error) {
      if (own.signal.aborted) return;
      isLive.value = false;
      if (['Forbidden', 'Unauthenticated', 'NotFound'].includes(problemOf(error).code)) return;
      timer = setTimeout(run, again);
    }
  }

  function seen(): void {
    clearTimeout(timer);
    if (!document.hidden && !stream) void run();
    else if (document.hidden) timer = setTimeout(stop, hiddenFor);
  }

  watch([() => model.value && `${model.value.group}/${model.value.plural}`, name], () => void run(), {
    immediate: true,
  });
  document.addEventListener('visibilitychange', seen);
  onScopeDispose(() => {
    document.removeEventListener('visibilitychange', seen);
    stop();
  });
  return { isLive, restart: () => void run() };
}
