/**
 * `kindred/model`: declaring models in files that a plugin and a page in a browser share. In Node.js these are the names of
 * `kindred` itself. In a bundle for browsers (the condition `browser`) `defineModel` keeps the types and what `kindred/client`
 * needs, and checks nothing: the service does.
 */
export type { Static } from 'typebox';
export { defineModel } from './define.ts';
export type { Model, New, NewOf, ObjectOf } from './model-type.ts';
export * as Type from './typebox.ts';
