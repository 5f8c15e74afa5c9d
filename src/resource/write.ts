/** What is asked of a write, and how it is answered. */

import type { Applying } from '../apply/apply.ts';
import type { Scheme } from '../model/scheme.ts';
import type { Activation, MaybePromise } from '../store/store.ts';
import type { Caller } from './access.ts';
import type { CommitOptions, Fence } from './commits.ts';
import type { LastApplied } from './last-applied.ts';
import type { PatchLimits } from './patch.ts';
import type { Stored } from './registered-model.ts';

export interface Answer {
  /** For a write the revision of that change, for a read or a no-op the revision it reflects. */
  readonly revision: number;
  readonly stored: Stored;
  readonly changed: boolean;
  /** Violations of the stored object that the update left as they were. */
  readonly warning?: string;
  /** What was left out or is better done otherwise, by the rules of Kubernetes. English. */
  readonly warnings?: readonly string[];
  /** An apply made the object. */
  readonly created?: true;
}

export interface WriteOptions extends CommitOptions {
  readonly caller: Caller;
  /** Entity tags of `If-Match` as sent, or `*`. */
  readonly ifMatch?: readonly string[] | '*';
  /** The stored object must be this one, in this state. */
  readonly expect?: {
    /** Of its last change. */
    readonly revision?: number | undefined;
    readonly uid?: string | undefined;
  };
  /** Who sets the fields, for `metadata.managedFields`. Without one the write is recorded on objects that have managers, as by `kindred`. */
  readonly manager?: string;
  /** Of an update: the managers as the client sends them, in place of the stored ones. What is no list of managers has no effect. */
  readonly managedFields?: readonly unknown[];
  /** `status`: the status alone is written. `scale`: the object is, by its number of replicas. */
  readonly subresource?: 'status' | 'scale';
  /** The write fails unless this lease is held. */
  readonly fence?: Fence;
  /** The version of the model in which the write is meant. Default: that in which it is computed. */
  readonly via?: Scheme;
  /** Of an update: a contract that becomes active with it. @throws ActivationRefused */
  readonly activate?: Activation;
}

export interface CreateOptions extends WriteOptions {
  /** Of the path, in which the object is made. */
  readonly namespace?: string;
}

export interface PatchOptions extends WriteOptions {
  readonly kind: 'merge' | 'json';
}

export interface ApplyOptions extends WriteOptions {
  readonly manager: string;
  /** As in `apply/apply.ts`. */
  readonly conflicts: Applying['conflicts'];
  /** As in `apply/apply.ts`. */
  readonly adopts?: Applying['adopts'];
  /** What `kubectl apply` keeps of an object in an annotation: an object that has the annotation gets this one. */
  readonly lastApplied?: LastApplied;
  /** Called before an object that is not there is created. Throws when the caller may not do that. */
  readonly onCreate?: () => MaybePromise<void>;
}

export interface DeleteOptions extends WriteOptions {
  /** `metadata.version` that the object must have. */
  readonly version?: number;
  /** A finalizer that is added, for what is to be done before the object goes. */
  readonly holds?: string;
}

export interface WriteLimits {
  /** Bytes of one object. */
  readonly objectBytes: number;
  readonly patch: PatchLimits;
  /** Milliseconds until a write is answered even when the database does not. */
  readonly writeTimeout: number;
}
