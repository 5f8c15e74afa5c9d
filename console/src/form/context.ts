/** What the controls of one form share. */

import type { ComputedRef, InjectionKey, Ref } from 'vue';
import { computed, inject } from 'vue';
import type { FieldProblem } from './errors.ts';
import type { Plan } from './plan.ts';

/** What is typed at a place while the object cannot have it. */
export interface Held {
  readonly typed: unknown;
  /** What is wrong with it; undefined where it is only not complete. */
  readonly message: string | undefined;
}

export interface FormContext {
  readonly plan: ComputedRef<Plan>;
  readonly readOnly: ComputedRef<boolean>;
  /** Its groups are drawn one by one, as they are opened. */
  readonly isLarge: boolean;
  /** Counts choices of kinds: what is drawn depends on them besides the value. */
  readonly choices: Ref<number>;
  /** Those that are shown: of fields that were left, and all after an attempt to save. */
  readonly problems: ComputedRef<readonly FieldProblem[]>;
  /** By pointer, the same problems. */
  readonly byPointer: ComputedRef<ReadonlyMap<string, readonly FieldProblem[]>>;
  /** The value of a place; `undefined` takes it away. */
  set(pointer: string, value: unknown): void;
  /** A field was left. */
  leave(pointer: string): void;
  /** Of the draft, so that it is there again when the form is: a key that stands twice, a text that is no YAML. */
  readonly held: ReadonlyMap<string, Held>;
  /** @param held undefined: the object has what is typed */
  hold(pointer: string, held: Held | undefined): void;
}

export const formKey: InjectionKey<FormContext> = Symbol('form');

export function useForm(): FormContext {
  return inject(formKey)!;
}

/** What is wrong with one place. */
export function useProblems(pointer: () => string) {
  const form = useForm();
  return computed(() => form.byPointer.value.get(pointer()) ?? []);
}

/** Puts the focus on the field of a pointer, or of the nearest place around it that is drawn. */
export function focusField(root: ParentNode, pointer: string): boolean {
  for (let at = pointer; at !== ''; at = at.slice(0, at.lastIndexOf('/'))) {
    const place = root.querySelector<HTMLElement>(`[data-pointer="${CSS.escape(at)}"]`);
    if (!place) continue;
    for (let around = place.closest('details'); around; around = around.parentElement?.closest('details') ?? null) {
      around.open = true;
    }
    const control = place.matches(focusable) ? place : place.querySelector<HTMLElement>(focusable);
    if (!control) continue;
    control.scrollIntoView({ block: 'center' });
    control.focus();
    return true;
  }
  return false;
}

const focusable = 'input:not([type=hidden]), select, textarea, button';
