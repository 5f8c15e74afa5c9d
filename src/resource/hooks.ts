/** What a built-in model adds to the one write path and to the answers (Secret, PersonalAccessToken, Role …). */
import type { ExtensionObject } from '../model/object.ts';
import type { MaybePromise } from '../store/store.ts';
import type { Caller } from './access.ts';

/** `get` one object, `list` any place that shows many (lists, exports, watches), `created` the answer to the POST that made it. */
export type Projection = 'get' | 'list' | 'created';

export interface ModelHooks {
  /** Lists leave values out, and writes do not show them to who may not `get` the object (`hidden.ts`). */
  readonly hidesValues?: true;
  /**
   * Called with the valid object about to be written, before the comparison that finds out whether anything changes;
   * `before` is the stored object, absent on creation. Gives the object to store (the same one when nothing is to be
   * added) and throws KindredError to refuse the write. Never changes its arguments.
   */
  prepareWrite?(
    object: ExtensionObject,
    before: ExtensionObject | undefined,
    caller: Caller,
  ): MaybePromise<ExtensionObject>;
  /** Bytes that one object may have, instead of those that the service allows all. */
  readonly objectBytes?: number;
  /** Bytes of a body in which one is sent natively, likewise. */
  readonly bodyBytes?: number;
  /** Members of one object, likewise. */
  readonly members?: number;
  /** A finalizer that every object gets with its deletion. */
  readonly deletionFinalizer?: string;
  /** What whoever writes the object is told of it. English. */
  warnings?(object: ExtensionObject): readonly string[];
  /**
   * Called before an object is marked as deleted. Gives the object to mark (the same one when nothing is to be changed) and
   * throws KindredError to refuse the deletion. Never changes its arguments.
   */
  prepareDelete?(object: ExtensionObject, caller: Caller): ExtensionObject;
  /** The object as a caller sees it. Never changes its argument. */
  show?(object: ExtensionObject, projection: Projection): ExtensionObject;
}
