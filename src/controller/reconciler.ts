/**
 * What a plugin author writes (docs/reference/controllers.md): a *reconciler* is the function, the *builder* says when it is
 * called, the *controller* is what the builder gives: plain data, run by `controller.ts`.
 */

import { KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import type { ModelType } from '../model/model-type.ts';
import { isName } from '../model/names.ts';
import type { ListOptions } from '../query/query.ts';

/** What a reconciler is asked. */
export interface ReconcileRequest {
  /** `metadata.name` of the object to look at; the object may be gone. */
  readonly name: string;
  /** Aborted when the controller is stopped or another replica took over. */
  readonly signal: AbortSignal;
}

/**
 * What a reconciler answers; nothing at all is the same as `Result.done()`.
 *
 * @example
 * ```ts
 * return Result.requeue(60_000);
 * ```
 */
export class Result {
  readonly requeue: boolean;
  /** Milliseconds; undefined: by back-off. */
  readonly after: number | undefined;

  private constructor(requeue: boolean, after?: number) {
    this.requeue = requeue;
    this.after = after;
  }

  /** The name is left alone until something changes. */
  static done(): Result {
    return new Result(false);
  }

  /** Called again after so many milliseconds, without a number after the next delay of the back-off. Throws `InvalidPlugin` for a negative number. */
  static requeue(afterMs?: number): Result {
    if (afterMs !== undefined && !(Number.isFinite(afterMs) && afterMs >= 0)) {
      throw new KindredError('InvalidPlugin', delayText, { params: { value: String(afterMs) } });
    }
    return new Result(true, afterMs);
  }
}

const delayText = localized('Result.requeue takes a number of milliseconds of at least 0, not {value}');

/** A function that follows one model, and when it is called (docs/reference/controllers.md). */
export interface Reconciler {
  /** Called once when it is registered; returns what `builder.build()` gives. */
  setupWith(builder: ControllerBuilder): Controller;
  /**
   * Brings the world in line with one object. Called after every create, update and delete of it and at the start;
   * bursts are one call, and for one name there are never two calls at once. A throw is retried with back-off.
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: a reconciler may end without a word.
  reconcile(request: ReconcileRequest): Promise<Result | void>;
}

/** What `ControllerBuilder.build` gives. */
export interface Controller {
  readonly name: string;
}

/** Objects of another model that lead to names of the controller's own. */
export interface Watched {
  readonly type: ModelType;
  readonly toNames: (object: any) => Iterable<string> | Promise<Iterable<string>>;
}

/** A controller with every default filled in. */
export interface ControllerSpec extends Controller {
  /** True when the author gave the name. */
  readonly named: boolean;
  readonly type: ModelType;
  readonly minDelay: number;
  readonly maxDelay: number;
  readonly workerCount: number;
  readonly syncAllOnStart: boolean;
  readonly syncAllListOptions: ListOptions | undefined;
  readonly onAdd: Matchers<any>['one'] | undefined;
  readonly onUpdate: Matchers<any>['change'] | undefined;
  readonly onDelete: Matchers<any>['one'] | undefined;
  readonly watched: readonly Watched[];
}

const texts = {
  noModel: localized('A controller needs a model: call builder.extension(Model) before build()'),
  name: localized(
    'The controller name "{value}" must be at most 253 characters of a-z, 0-9 and "-", beginning and ending with a letter or digit',
  ),
  milliseconds: localized('{member} of a controller must be a number of milliseconds greater than 0, not {value}'),
  delays: localized('minDelay ({minDelay} ms) of a controller must not be greater than its maxDelay ({maxDelay} ms)'),
  workers: localized('workerCount of a controller must be an integer of at least 1, not {value}'),
  method: localized('{member} of a controller takes a function'),
};

const built = Symbol.for('kindred.controller');

/** What matchers are called with. Methods, so that an author may name a narrower type than the model gives. */
interface Matchers<T> {
  one(object: T): boolean;
  change(old: T, now: T): boolean;
}

/**
 * Says when a reconciler is called. Every member returns the builder; `build` throws `InvalidPlugin` naming what is wrong.
 *
 * @example
 * ```ts
 * const reconciler: Reconciler = {
 *   setupWith: (builder) => builder.extension(Book).name('shelf').workerCount(2).build(),
 *   async reconcile({ name }) {
 *     console.log(`reconcile ${name}`);
 *     return Result.done();
 *   },
 * };
 * void reconciler;
 * ```
 */
export class ControllerBuilder<T = any> {
  #type: ModelType | undefined;
  #name: string | undefined;
  #minDelay: number | undefined;
  #maxDelay = 1_000_000;
  #workerCount = 1;
  #syncAllOnStart = true;
  #syncAllListOptions: ListOptions | undefined;
  #onAdd: Matchers<any>['one'] | undefined;
  #onUpdate: Matchers<any>['change'] | undefined;
  #onDelete: Matchers<any>['one'] | undefined;
  readonly #watched: Watched[] = [];

  /** The model whose objects are reconciled; required. */
  extension<U>(type: ModelType<U>): ControllerBuilder<U> {
    this.#type = type;
    return this as ControllerBuilder<any>;
  }

  /** For metrics, logs and the lease; unique in a plugin. Default: the model's plural. */
  name(name: string): this {
    if (typeof name !== 'string' || !isName(name))
      throw new KindredError('InvalidPlugin', texts.name, { params: { value: String(name) } });
    this.#name = name;
    return this;
  }

  /** First wait after a failure, in milliseconds; default 5 (or `maxDelay` when that is less). */
  minDelay(ms: number): this {
    this.#minDelay = milliseconds('minDelay', ms);
    return this;
  }

  /** Longest wait after failures, in milliseconds; default 1,000,000. */
  maxDelay(ms: number): this {
    this.#maxDelay = milliseconds('maxDelay', ms);
    return this;
  }

  /** How many names are worked on at once; default 1. */
  workerCount(n: number): this {
    if (!Number.isInteger(n) || n < 1)
      throw new KindredError('InvalidPlugin', texts.workers, { params: { value: String(n) } });
    this.#workerCount = n;
    return this;
  }

  /** Whether every object is reconciled once when the controller starts; default true. */
  syncAllOnStart(yes: boolean): this {
    this.#syncAllOnStart = yes;
    return this;
  }

  /** Which objects the start reconciles; default all. */
  syncAllListOptions(options: ListOptions): this {
    this.#syncAllListOptions = options;
    return this;
  }

  /** Only created objects that match; default all. A match that throws counts as yes. */
  onAdd(match: Matchers<T>['one']): this {
    this.#onAdd = fn('onAdd', match);
    return this;
  }

  /** Only updates that match (also the one that marks an object with finalizers for deletion); default all. */
  onUpdate(match: Matchers<T>['change']): this {
    this.#onUpdate = fn('onUpdate', match);
    return this;
  }

  /** Only objects that are gone and match; default all. */
  onDelete(match: Matchers<T>['one']): this {
    this.#onDelete = fn('onDelete', match);
    return this;
  }

  /**
   * Changes of another model's objects reconcile the names that `toNames` gives, asked with the object as it was and as
   * it is. At the start (with `syncAllOnStart`) it is asked for every object of that model.
   */
  watches<O>(type: ModelType<O>, toNames: (object: O) => Iterable<string> | Promise<Iterable<string>>): this {
    this.#watched.push({ type, toNames: fn('watches', toNames) });
    return this;
  }

  build(): Controller {
    if (this.#type === undefined) throw new KindredError('InvalidPlugin', texts.noModel);
    const minDelay = this.#minDelay ?? Math.min(5, this.#maxDelay);
    if (minDelay > this.#maxDelay) {
      throw new KindredError('InvalidPlugin', texts.delays, { params: { minDelay, maxDelay: this.#maxDelay } });
    }
    const spec: ControllerSpec = {
      name: this.#name ?? '',
      named: this.#name !== undefined,
      type: this.#type,
      minDelay,
      maxDelay: this.#maxDelay,
      workerCount: this.#workerCount,
      syncAllOnStart: this.#syncAllOnStart,
      syncAllListOptions: this.#syncAllListOptions,
      onAdd: this.#onAdd,
      onUpdate: this.#onUpdate,
      onDelete: this.#onDelete,
      watched: [...this.#watched],
    };
    return Object.freeze(Object.defineProperty(spec, built, { value: true }));
  }
}

function milliseconds(member: string, value: number): number {
  if (Number.isFinite(value) && value > 0) return value;
  throw new KindredError('InvalidPlugin', texts.milliseconds, { params: { member, value: String(value) } });
}

function fn<F>(member: string, value: F): F {
  if (typeof value === 'function') return value;
  throw new KindredError('InvalidPlugin', texts.method, { params: { member } });
}

const noReconciler = localized(
  'registerController takes a Reconciler: an object with setupWith(builder) and reconcile(request)',
);

const notBuilt = localized('setupWith of a reconciler must return what builder.build() gives');

/** Asks a reconciler when it wants to be called. */
export function setUp(reconciler: Reconciler): ControllerSpec {
  const { setupWith, reconcile } = (reconciler ?? {}) as Partial<Reconciler>;
  if (typeof setupWith !== 'function' || typeof reconcile !== 'function')
    throw new KindredError('InvalidPlugin', noReconciler);
  const controller = reconciler.setupWith(new ControllerBuilder()) as ControllerSpec | undefined;
  if (typeof controller === 'object' && controller !== null && built in controller) return controller;
  throw new KindredError('InvalidPlugin', notBuilt);
}
