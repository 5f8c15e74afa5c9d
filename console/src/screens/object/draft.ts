/**
 * What is being written of one object: one draft for form, YAML and JSON. It stands beside the version that it began
 * with (*base*); it survives a reload of the tab, unless it may hold secrets.
 */

import type { ComputedRef } from 'vue';
import { computed, onScopeDispose, ref, shallowReactive, shallowRef, watch } from 'vue';
import { readJson } from '../../../../src/runtime/read-json.ts';
import type { SchemaDocument } from '../../../../src/schema/document.ts';
import { isEqual, isObject, isWithin, valueAt, withValue } from '../../diff/pointer.ts';
import type { YamlText } from '../../diff/yaml.ts';
import type { FormContext, Held } from '../../form/context.ts';
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

/** The text of an editor while it is no value. */
export interface UnreadText {
  readonly language: 'yaml' | 'json';
  readonly text: string;
  readonly problems: readonly TextProblemOfDraft[];
}

interface Kept {
  readonly base: unknown;
  readonly value: unknown;
  readonly yaml?: string;
  readonly unread?: UnreadText;
  readonly held?: readonly (readonly [pointer: string, held: Held])[];
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
  /** Nothing else is edited until it can be read. */
  const unread = shallowRef<UnreadText>();
  const textProblems = computed(() => unread.value?.problems ?? none);
  /** The YAML as it was typed, with its comments. */
  const yaml = shallowRef<YamlText>();
  const json = shallowRef<string>();
  const choices = ref(0);
  const left = ref(new Set<string>());
  /** Fields that were left since the last check. */
  let leaving: string[] = [];
  const isTried = ref(false);
  const found = shallowRef<readonly FieldProblem[]>([]);
  const held = shallowReactive(new Map<string, Held>());
  const answered = shallowRef<readonly FieldProblem[]>([]);
  const isRestored = ref(false);

  const plan = computed(() => document.value && new Plan(document.value, () => language.value, isSecret?.()));
  /** Of what the form has and the object has not. */
  const refused = computed(() => [...held].filter(([, { message }]) => message !== undefined));
  const isUnreadable = computed(() => unread.value !== undefined || refused.value.length > 0);
  const isChanged = computed(() => isUnreadable.value || !isEqual(base.value, value.value));

  const problems = computed(() => {
    const own = refused.value.map(([pointer, { message }]): FieldProblem => {
      const at = placeOf(pointer);
      return { pointer: at, field: at.slice(1).replaceAll('/', '.'), message: message!, isCertain: true };
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
    const kept: Kept = {
      base: base.value,
      value: value.value,
      held: [...held],
      ...(yaml.value && { yaml: yaml.value.text }),
      ...(unread.value && { unread: unread.value }),
    };
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
    unread.value = undefined;
    answered.value = none;
    checkSoon();
    keepSoon();
  }

  /** The YAML with another value: its comments stay. */
  function retold(next: unknown): YamlText | undefined {
    const typed = yaml.value;
    return typed && new (typed.constructor as typeof YamlText)(typed.withValue(next));
  }

  /** The stored object is a newer one, and the draft goes on from it; what is typed stays. */
  function follow(stored: unknown, next: unknown): void {
    const before = value.value;
    base.value = stored;
    value.value = next;
    yaml.value = retold(next);
    json.value = undefined;
    dropHeld('', before);
    checkSoon();
    keepSoon();
  }

  /** What was typed beside a value goes with it. */
  function dropHeld(pointer: string, before: unknown): void {
    for (const place of held.keys()) {
      const at = placeOf(place);
      if (isWithin(at, pointer) && !isEqual(valueAt(before, at), valueAt(value.value, at))) held.delete(place);
    }
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
    dropHeld(pointer, before);
    if (stillWrong.length > 0) answered.value = stillWrong;
  }

  /** Starts again from a stored object, or from the draft that this tab kept. */
  function start(stored: unknown, initial = stored): void {
    base.value = stored;
    value.value = initial;
    yaml.value = undefined;
    json.value = undefined;
    unread.value = undefined;
    answered.value = none;
    isTried.value = false;
    left.value = new Set();
    leaving = [];
    held.clear();
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
    unread.value = kept.unread;
    for (const [pointer, one] of kept.held ?? []) held.set(pointer, one);
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
      readOnly: computed(() => readOnly.value || unread.value !== undefined),
      isLarge: isLarge?.() ?? false,
      choices,
      problems,
      byPointer,
      set,
      leave(pointer: string) {
        leaving.push(pointer);
        checkSoon();
      },
      held,
      hold(pointer: string, one: Held | undefined) {
        if (isEqual(held.get(pointer), one)) return;
        if (one) held.set(pointer, one);
        else held.delete(pointer);
        keepSoon();
      },
    };
  });

  return {
    base,
    value,
    yaml,
    json,
    unread,
    textProblems,
    refused,
    isUnreadable,
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
    follow,
    /** The text of an editor that is no value: the draft stays as it was. */
    leaveUnread(text: UnreadText): void {
      unread.value = text;
      keepSoon();
    },
    start,
    /** It is stored as this object now. */
    end(stored: unknown): void {
      const typed = retold(stored);
      start(stored);
      yaml.value = typed;
      keep();
    },
    restore,
    keep,
    /** Checks all, and shows all that is wrong. True when nothing is. */
    tryAll(): boolean {
      check();
      isTried.value = true;
      return found.value.length === 0 && !isUnreadable.value;
    },
  };
}

/** Rows are held beside the value that they are of, at its pointer with a slash behind it. */
function placeOf(pointer: string): string {
  return pointer.replace(/\/$/, '');
}
