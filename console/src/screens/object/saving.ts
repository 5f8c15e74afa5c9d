/** A draft on its way to the service: reviewed first, merged with what others saved meanwhile, looked after when its fate is unknown. */

import type { ComputedRef, ShallowRef } from 'vue';
import { computed, ref, shallowRef, watch } from 'vue';
import { isOnline } from '../../api/client.ts';
import { problemOf } from '../../api/errors.ts';
import { setByService } from '../../api/object.ts';
import { isEqual, valueAt, withValue } from '../../diff/pointer.ts';
import { notify } from '../../parts/notices.ts';
import { f, t } from '../../text/index.ts';
import type { Draft } from './draft.ts';
import type { Answers } from './editing.ts';
import type { StoredObject } from './save.ts';
import { hasBeenStored } from './save.ts';

/** What of an object a draft writes; the rest is as it is stored. */
export interface Written {
  of(object: unknown): unknown;
  /** A stored object with that part of the draft. */
  onto(stored: unknown, draft: unknown): unknown;
}

export const statusOnly: Written = {
  of: (object) => ({ status: valueAt(object, '/status') }),
  onto: (stored, draft) => withValue(stored, '/status', valueAt(draft, '/status')),
};

/** @param hasStatus the status is a sub-resource, which is written by itself */
export function allBut(hasStatus: boolean): Written {
  const theirs = [...setByService, ...(hasStatus ? ['/status'] : [])];
  return {
    of: (object) => theirs.reduce((rest, pointer) => withValue(rest, pointer, undefined), object),
    onto: (stored, draft) =>
      theirs.reduce((object, pointer) => withValue(object, pointer, valueAt(stored, pointer)), draft),
  };
}

export interface SavingOptions {
  readonly draft: Draft;
  readonly answers: Answers;
  readonly stored: ShallowRef<StoredObject | undefined>;
  readonly written: ComputedRef<Written>;
  readonly mayWrite: ComputedRef<boolean | undefined>;
  read(): Promise<StoredObject>;
  /** @param object with the version of the base */
  write(object: unknown, base: unknown): Promise<StoredObject>;
  /** Of a newer stored object. */
  take(object: StoredObject): void;
  /** There is none any more. */
  absent(error: unknown): unknown;
  saved?(): void;
  /** What is said of a write. */
  say(result: StoredObject): string;
}

export type Saving = ReturnType<typeof useSaving>;

export function useSaving(options: SavingOptions) {
  const { draft, answers, stored, written, mayWrite } = options;
  /** The dialog that is open. */
  const step = ref<'review' | 'conflict' | 'newer'>();
  const theirs = shallowRef<StoredObject>();
  /** The conflict is only taken over into the draft. */
  const onlyMerges = ref(false);
  const isBusy = ref(false);

  const isSame = (one: unknown, other: unknown) => isEqual(written.value.of(one), written.value.of(other));
  const versionOf = (object: unknown) => valueAt(object, '/metadata/version');
  const isNewer = computed(
    () =>
      draft.isChanged.value &&
      stored.value !== undefined &&
      versionOf(stored.value) !== versionOf(draft.base.value) &&
      !isSame(stored.value, draft.base.value),
  );
  const isBlocked = computed(() => isBusy.value || answers.wait.value > 0 || !isOnline.value);

  /** Without edits the draft is what is stored; with edits it goes on from there when others changed nothing that it writes. */
  function follow(): void {
    const object = stored.value;
    if (!object || draft.unread.value || isEqual(draft.base.value, object)) return;
    if (draft.base.value === undefined) {
      if (!draft.restore()) draft.start(object);
      else follow();
    } else if (!draft.isChanged.value) draft.follow(object, object);
    else if (isSame(draft.base.value, object)) draft.follow(object, written.value.onto(object, draft.value.value));
  }
  watch(draft.unread, follow);

  function save(): void {
    if (step.value === 'review') {
      void send();
      return;
    }
    if (step.value || !draft.isChanged.value || !mayWrite.value) return;
    if (answers.isReady()) step.value = 'review';
  }

  async function send(): Promise<void> {
    if (isBlocked.value) return;
    isBusy.value = true;
    answers.failure.value = undefined;
    try {
      await attempt();
    } finally {
      isBusy.value = false;
    }
  }

  async function attempt(): Promise<void> {
    const base = draft.base.value;
    try {
      const object = withValue(draft.value.value, '/metadata/version', versionOf(base));
      const result = await options.write(object, base);
      finish(result, options.say(result));
    } catch (error) {
      await failed(error);
    }
  }

  function finish(result: StoredObject, text: string): void {
    step.value = undefined;
    draft.end(result);
    options.take(result);
    // Where a newer one is known already, that one.
    follow();
    options.saved?.();
    notify(text);
  }

  async function failed(error: unknown): Promise<void> {
    switch (problemOf(error).code) {
      case 'VersionConflict':
      case 'PreconditionFailed':
      case 'PatchTestFailed':
        await conflict();
        return;
      case 'NotFound':
        step.value = undefined;
        await options.absent(error);
        return;
      case 'UnknownOutcome':
        await lookAfter();
        return;
      case 'Unauthenticated':
        step.value = undefined;
        break;
      default:
    }
    if (!(await answers.refused(error))) return;
    step.value = undefined;
    await answers.goToFirstProblem();
  }

  /** Nobody knows whether it was stored: look, and say so. A write is never repeated by itself. */
  async function lookAfter(): Promise<void> {
    try {
      const now = await options.read();
      const { of } = written.value;
      if (hasBeenStored(of(now), of(draft.base.value), of(draft.value.value))) {
        finish(now, f(t.value.object.stored, { version: String(now.metadata.version) }));
        return;
      }
      options.take(now);
      notify(t.value.object.notStored, 'failed');
    } catch (error) {
      if (problemOf(error).code === 'NotFound') await failed(error);
      else answers.failure.value = error;
    }
  }

  async function conflict(): Promise<void> {
    try {
      const before = versionOf(draft.base.value);
      const now = await options.read();
      options.take(now);
      // It goes on from the newer version, in which nothing is different that it writes.
      if (versionOf(draft.base.value) !== before) return await attempt();
      theirs.value = now;
      onlyMerges.value = false;
      step.value = 'conflict';
    } catch (error) {
      await failed(error);
    }
  }

  function takeOver(): void {
    theirs.value = stored.value;
    onlyMerges.value = true;
    answers.failure.value = undefined;
    step.value = 'conflict';
  }

  function merged(object: unknown): void {
    draft.base.value = theirs.value;
    draft.change(object);
    if (onlyMerges.value) step.value = undefined;
    else void send();
  }

  function discard(): void {
    step.value = undefined;
    if (stored.value) draft.start(stored.value);
    draft.keep();
  }

  /** The conflict, in what the draft writes. */
  const sides = computed(() => {
    const [base, mine] = [draft.base.value, draft.value.value].map((one) => written.value.onto(theirs.value, one));
    return { base: withValue(base, '/metadata/version', versionOf(draft.base.value)), mine, theirs: theirs.value };
  });

  return {
    draft,
    answers,
    stored,
    written,
    step,
    sides,
    onlyMerges,
    isBusy,
    isBlocked,
    isNewer,
    follow,
    save,
    send,
    finish,
    takeOver,
    merged,
    discard,
  };
}
