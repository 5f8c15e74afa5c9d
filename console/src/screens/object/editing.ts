/** What the screens of a stored and of a new object share: the model, its draft, and what a refusal means for both. */

import type { ComputedRef } from 'vue';
import { computed, nextTick, onScopeDispose, ref, shallowRef, useTemplateRef, watch } from 'vue';
import { isNotApplied } from '../../../../src/client/retry.ts';
import type { SchemaDocument } from '../../../../src/schema/document.ts';
import type { JsonSchema } from '../../../../src/schema/keywords.ts';
import { problemOf } from '../../api/errors.ts';
import type { ModelDetails } from '../../api/models.ts';
import { useModel } from '../../api/models.ts';
import { isEqual } from '../../diff/pointer.ts';
import { openDocument } from '../../form/document.ts';
import { notify } from '../../parts/notices.ts';
import { t } from '../../text/index.ts';
import type { Draft } from './draft.ts';
import { useDraft } from './draft.ts';
import { answeredProblems, holdsSecrets, isSecret } from './save.ts';

export interface EditingOptions {
  readonly type: () => string;
  /** What the draft is kept under in this tab. */
  readonly key: () => string;
  readonly readOnly: ComputedRef<boolean>;
  readonly isLarge?: () => boolean;
  /** Of Ctrl+S. */
  save(): unknown;
}

export function useEditing({ type, key, readOnly, isLarge, save }: EditingOptions) {
  const query = useModel(type);
  const model = computed(() => query.data.value);
  const document_ = shallowRef<SchemaDocument>();
  const unopened = shallowRef<unknown>();

  watch(
    () => model.value?.schema,
    async (schema, before) => {
      if (schema === undefined || isEqual(schema, before)) return;
      try {
        document_.value = await openDocument(schema as JsonSchema, model.value!.kind);
      } catch (error) {
        unopened.value = error;
      }
    },
    { immediate: true },
  );

  const masked = computed(() => model.value !== undefined && isSecret(model.value));
  const draft = useDraft({
    document: computed(() => document_.value),
    readOnly,
    isSecret: () => masked.value,
    ...(isLarge && { isLarge }),
    key: computed(() => (model.value && !holdsSecrets(model.value) ? key() : undefined)),
  });

  const view = useTemplateRef<{ goToFirstProblem(): Promise<void> }>('draftTabs');
  const answers = useAnswers(model, draft, () => view.value?.goToFirstProblem());
  watch(unopened, (error) => {
    answers.failure.value = error;
  });

  function onKey(event: KeyboardEvent): void {
    if (!(event.ctrlKey || event.metaKey) || event.shiftKey || event.key.toLowerCase() !== 's') return;
    event.preventDefault();
    save();
  }
  addEventListener('keydown', onKey);
  onScopeDispose(() => removeEventListener('keydown', onKey));

  return {
    query,
    model,
    document: document_,
    draft,
    masked,
    answers,
    hasStatus: computed(() => model.value?.subresources.status ?? false),
  };
}

export type Answers = ReturnType<typeof useAnswers>;

/** What the service said of a draft, and when it wants to be asked again. */
export function useAnswers(
  model: ComputedRef<ModelDetails | undefined>,
  draft: Draft,
  showFirstProblem: () => unknown,
) {
  const failure = shallowRef<unknown>();

  /** Seconds until the service wants to be asked again. */
  const wait = ref(0);
  let ticking: ReturnType<typeof setInterval> | undefined;
  function waitFor(seconds: number): void {
    clearInterval(ticking);
    wait.value = Math.ceil(seconds);
    ticking = setInterval(() => {
      if (--wait.value <= 0) clearInterval(ticking);
    }, 1_000);
  }
  onScopeDispose(() => clearInterval(ticking));

  async function goToFirstProblem(): Promise<void> {
    await nextTick();
    await showFirstProblem();
  }

  return {
    failure,
    wait,
    goToFirstProblem,
    /** True when the draft may be sent; else what is wrong is shown. */
    isReady(): boolean {
      failure.value = undefined;
      if (draft.tryAll()) return true;
      void goToFirstProblem();
      return false;
    },
    /** True when what the service refused is about fields, and shown there. */
    async refused(error: unknown): Promise<boolean> {
      const problem = problemOf(error);
      draft.answered.value = await answeredProblems(model.value!, problem, draft.value.value);
      if (draft.answered.value.length > 0) return true;
      if (problem.code === 'Unauthenticated') {
        notify(t.value.object.signInAgain, 'failed');
        return false;
      }
      if (isNotApplied(error)) waitFor(problem.retryAfter ?? 1);
      failure.value = error;
      return false;
    },
  };
}
