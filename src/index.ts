/** The public names of the package `kindred`, one by one. */

/** TypeBox: `Type` makes JSON Schemas, `Static` gives their TypeScript types. */
export type { Static } from 'typebox';
/** The built-in models, for clients. */
export { ConfigMap, PersonalAccessToken, Role, RoleBinding, Secret, User } from './auth/models.ts';
/** Controllers. */
export {
  type Controller,
  ControllerBuilder,
  type ReconcileRequest,
  type Reconciler,
  Result,
} from './controller/reconciler.ts';
/** The error of the whole service; its code decides the status. */
export { type ErrorCode, KindredError, type Text, type Violation } from './errors.ts';
/** Custom routes. */
export {
  type Action,
  type CustomEndpoint,
  type CustomRequest,
  GroupVersion,
  type Handler,
  type OperationBuilder,
  pageOf,
  type RouteBuilder,
  type RouterFunction,
  route,
} from './http/custom/declaration.ts';
export { SortableRequest } from './http/custom/list.ts';
export {
  ApiVersion,
  DeleteMapping,
  GetMapping,
  type MappingOptions,
  PatchMapping,
  PostMapping,
  PutMapping,
} from './http/custom/mapping.ts';
/** Models: both forms of declaration, and what they give. */
export type {
  Column,
  ModelAttributes,
  Naming,
  Scale,
  Scope,
  Subresources,
  ValidationRule,
} from './model/attributes.ts';
export { GVK, Schema, type SchemaAttributes } from './model/decorators.ts';
export {
  defineModel,
  type ModelDeclaration,
} from './model/define.ts';
export type { Evolution, GroupVersionKind, GVKAttributes } from './model/gvk.ts';
/** Indexes. */
export {
  type IndexAttribute,
  type IndexFactory,
  IndexSpec,
  IndexSpecs,
  type MultiValueBuilder,
  multiValueAttribute,
  type SingleValueBuilder,
  simpleAttribute,
  type ValueIndexSpec,
} from './model/index-spec.ts';
export type { Key, KeyOf, KeyType } from './model/key.ts';
export type { Model, ModelType, New, NewOf, ObjectOf } from './model/model-type.ts';
export {
  AbstractExtension,
  type ExtensionObject,
  type ManagedFieldsEntry,
  type Metadata,
  type OwnerReference,
} from './model/object.ts';
export type { DisplayText, Presentation } from './model/presentation.ts';
export type { SchemeManager } from './model/registry.ts';
export { Scheme } from './model/scheme.ts';
/**
 * Builds JSON Schemas with TypeScript types.
 *
 * @example
 * ```ts
 * Type.Object({ title: Type.String({ minLength: 1 }), tags: Type.Optional(Type.Array(Type.String())) });
 * ```
 */
export * as Type from './model/typebox.ts';
export type { ServiceOptions } from './options.ts';
/** Plugins. */
export { type DefinedPlugin, definePlugin, Plugin, type PluginContext } from './plugin/plugin.ts';
export type { PluginSource } from './plugin/source.ts';
/** Queries and the client. */
export {
  type Condition,
  ListOptions,
  type ListOptionsBuilder,
  PageRequest,
  Queries,
  type Sort,
} from './query/query.ts';
export type { Identity } from './resource/access.ts';
export type { ExtensionClient, ListResult, WatchEvent } from './resource/extension-client.ts';
/** Everything the command line does, in code. */
export { createService, type Service } from './service.ts';
/** For writers of a store: `database` of `createService` takes what opens one, `storeContract` of `kindred/testing` says what it must do. */
export type { StoreOpener, StoreOptions } from './store/options.ts';
export type {
  Activation,
  Change,
  ChangesNarrowing,
  Claim,
  HeldClaim,
  Lease,
  LoadPart,
  ModelRow,
  ReplicaRow,
  Rewrite,
  Row,
  Snapshot,
  Store,
  Tokens,
  Write,
  WriteResult,
} from './store/store.ts';
