/**
 * What is being written of one object: one draft for form, YAML and JSON. It stands beside the version that it began
 * with (*base*); it survives a reload of the tab, unless it may hold secrets.
 */

import type { ComputedRef } from 'vue';
import { computed, onScopeDispose, ref, shallowRef, watch } from 'vue';
import { readJson } from '../../../../src/runtime/read-json.ts';
import type { SchemaDocument } from '../../../../src/schema/document.ts';
import { isEqual, isObject, isWithin, valueAt, withValue } from '../../diff/pointer.ts';
import type { YamlText } from '../../diff/yaml.ts';
import type { FormContext } from '../../form/context.ts';
import type { FieldProblem } from '../../form/errors.ts';
import { problemsOf } from '../../form/errors.ts';
import { Plan } from '../../form/plan.ts';
import { isPressed } from '../../form/pressed.ts';
import { language } from '../../text/index.ts';

/** How long nobody types or leaves a field before the whole object is checked, milliseconds. */
const rest = 150;
/** The same at each key, so that nothing is drawn anew that did not change. */
const none: readonly never[] = [];

export interface TextProblemOfDraft {
  readonly message: string;
  readonly line: number;
  readonly from: number;
  readonly to: number;
}

interface Kept {
  readonly base: unknown;
  readonly value: unknown;
  readonly yaml?: string;
}

export interface DraftOptions {
  readonly document: ComputedRef<SchemaDocument | undefined>;
  readonly readOnly: ComputedRef<boolean>;
  /** Its texts are hidden until they are asked for. */
  readonly isSecret?: () => boolean;
  /** Its form is drawn group by group. */
  readonly isLarge?: () => boolean;
  /** Where it is kept in this tab; undefined: nowhere. */
  readonly key: ComputedRef<string | undefined>;
}

export type Draft = ReturnType<typeof useDraft>;

export function useDraft({ document, readOnly, isSecret, isLarge, key }: DraftOptions) {
  const base = shallowRef<unknown>();
  const value = shallowRef<unknown>();
  /** Of the editors, while it is no value. */
  const textProblems = shallowRef<readonly TextProblemOfDraft[]>([]);
  /** The YAML as it was typed, with its comments. */
  const yaml = shallowRef<YamlText>();
  const json = shallowRef<string>();
  const choices = ref(0);
  const left = ref(new Set<string>());
  /** Fields that were left since the last check. */
  let leaving: string[] = [];
  const isTried = ref(false);
  const found = shallowRef<readonly FieldProblem[]>([]);
  const refused = ref(new Map<string, string>());
  const answered = shallowRef<readonly FieldProblem[]>([]);
  const isRestored = ref(false);

  const plan = computed(() => document.value && new Plan(document.value, () => language.value, isSecret?.()));
  const isChanged = computed(() => textProblems.value.length > 0 || !isEqual(base.value, value.value));

  const problems = computed(() => {
    const own = [...refused.value].map(([pointer, message]): FieldProblem => {
      const at = pointer.replace(/\/$/, '');
      return { pointer: at, field: at.slice(1).replaceAll('/', '.'), message, isCertain: true };
    });
    const shown = found.value.filter(({ pointer, isCertain }) => isTried.value || isCertain || left.value.has(pointer));
    const late = answered.value.filter(
      (one) => !shown.some((other) => other.pointer === one.pointer && other.message === one.message),
    );
    return [...own, ...shown, ...late];
  });
  const byPointer = computed(() => Map.groupBy(problems.value, (one) => one.pointer));

  let timer: ReturnType<typeof setTimeout> | undefined;
  function check(): void {
    clearTimeout(timer);
    timer = undefined;
    for (const pointer of leaving) left.value.add(pointer);
    leaving = [];
    found.value = value.value === undefined ? [] : problemsOf(document.value, value.value, language.value);
  }
  /** What comes and goes moves what is below it: a click that it came between would miss. */
  function checkSoon(): void {
    clearTimeout(timer);
    timer = setTimeout(() => (isPressed() ? checkSoon() : check()), rest);
  }
  watch([document, language], checkSoon);
  onScopeDispose(() => clearTimeout(timer));

  let keeping: ReturnType<typeof setTimeout> | undefined;
  function keep(): void {
    clearTimeout(keeping);
    keeping = undefined;
    const place = key.value;
    if (!place) return;
    if (!isChanged.value) {
      sessionStorage.removeItem(place);
      return;
    }
    const kept: Kept = { base: base.value, value: value.value, ...(yaml.value && { yaml: yaml.value.text }) };
    try {
      sessionStorage.setItem(place, JSON.stringify(kept));
    } catch {
      // The tab's storage is full: the draft then lives as long as the page.
      sessionStorage.removeItem(place);
    }
  }
  function keepSoon(): void {
    clearTimeout(keeping);
    keeping = setTimeout(keep, rest);
  }
  const keepNow = () => {
    if (keeping) keep();
  };
  addEventListener('pagehide', keepNow);
  onScopeDispose(() => {
    removeEventListener('pagehide', keepNow);
    keepNow();
  });

  /** @param from the YAML or JSON that it was typed as */
  function change(next: unknown, from?: { yaml?: YamlText; json?: string }): void {
    value.value = next;
    yaml.value = from?.yaml ?? (from?.json === undefined ? yaml.value : undefined);
    json.value = from?.json;
    textProblems.value = none;
    answered.value = none;
    checkSoon();
    keepSoon();
  }

  function set(pointer: string, next: unknown): void {
    const before = value.value;
    let after = withValue(before, pointer, next);
    // Objects that came with the member have to have their constants.
    for (let at = pointer.lastIndexOf('/'); at > 0; at = pointer.lastIndexOf('/', at - 1)) {
      const around = pointer.slice(0, at);
      const part = plan.value?.partAt(around);
      const now = valueAt(after, around);
      if (!part || valueAt(before, around) !== undefined || !isObject(now)) continue;
      after = withValue(after, around, plan.value!.filled(part, now));
    }
    const stillWrong = answered.value.filter((one) => !isWithin(one.pointer, pointer));
    change(after);
    if (stillWrong.length > 0) answered.value = stillWrong;
  }

  /** Starts again from a stored object, or from the draft that this tab kept. */
  function start(stored: unknown, initial = stored): void {
    base.value = stored;
    value.value = initial;
    yaml.value = undefined;
    json.value = undefined;
    textProblems.value = none;
    answered.value = none;
    isTried.value = false;
    left.value = new Set();
    leaving = [];
    refused.value = new Map();
    isRestored.value = false;
    check();
    keepSoon();
  }

  /** True when there was something. */
  function restore(): boolean {
    const text = key.value && sessionStorage.getItem(key.value);
    if (!text) return false;
    const kept = readJson(text) as Kept;
    start(kept.base, kept.value);
    isRestored.value = isChanged.value;
    if (kept.yaml !== undefined) {
      const wanted = kept.yaml;
      void import('../../diff/yaml.ts').then(({ YamlText }) => {
        const typed = new YamlText(wanted);
        if (typed.problems.length === 0 && isEqual(typed.value, value.value)) yaml.value = typed;
      });
    }
    return isRestored.value;
  }

  const form: ComputedRef<FormContext | undefined> = computed(() => {
    const drawn = plan.value;
    if (!drawn) return undefined;
    return {
      plan: computed(() => drawn),
      readOnly,
      isLarge: isLarge?.() ?? false,
      choices,
      problems,
      byPointer,
      set,
      leave(pointer: string) {
        leaving.push(pointer);
        checkSoon();
      },
      refuse(pointer: string, message: string | undefined) {
        if (refused.value.get(pointer) === message) return;
        if (message === undefined) refused.value.delete(pointer);
        else refused.value.set(pointer, message);
      },
    };
  });

  return {
    base,
    value,
    yaml,
    json,
    textProblems,
    choices,
    problems,
    byPointer,
    answered,
    isChanged,
    isRestored,
    plan,
    form,
    document,
    change,
    set,
    start,
    restore,
    keep,
    /** Checks all, and shows all that is wrong. True when nothing is. */
    tryAll(): boolean {
      check();
      isTried.value = true;
      return found.value.length === 0 && textProblems.value.length === 0 && refused.value.size === 0;
    },
  };
}
