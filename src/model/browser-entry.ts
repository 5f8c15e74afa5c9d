/** `kindred/model` in a bundle for browsers. */
import type { defineModel as declare, ModelDeclaration } from './define.ts';

export type { Static } from 'typebox';
export type { Model, New, NewOf, ObjectOf } from './model-type.ts';
export * as Type from './typebox.ts';

/** The model for `kindred/client`: its group, version and kind. `schema` is empty, and nothing is checked. */
export const defineModel = ((declaration: ModelDeclaration) =>
  Object.freeze({ gvk: Object.freeze({ ...declaration.gvk }), schema: {} })) as typeof declare;
