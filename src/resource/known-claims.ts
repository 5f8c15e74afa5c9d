/**
 * By which declaration, and by which code, the claims of a model were compared with its objects last. Each write keeps the claims, so
 * a start by the same ones need not compare them before the model serves; it does afterwards, as after a start from a snapshot: a
 * replica with another declaration may have written since (docs/decisions/index-snapshots.md).
 */
import { hash } from 'node:crypto';
import { typeNameOf } from '../model/scheme.ts';
import type { Store } from '../store/store.ts';
import { keepsClaims } from './claims.ts';
import { knownMarkNumber, putMark, readMarks } from './marks.ts';
import type { RegisteredModel } from './registered-model.ts';
import type { Identity } from './restore.ts';

interface Mark {
  readonly by: string;
}

export class KnownClaims {
  readonly #store: Store;
  readonly #model: RegisteredModel;
  readonly #identity: Identity | undefined;

  /** @param identity undefined: never known */
  constructor(store: Store, model: RegisteredModel, identity: Identity | undefined) {
    this.#store = store;
    this.#model = model;
    this.#identity = identity;
  }

  async areKnown(): Promise<boolean> {
    return this.#by !== undefined && (await this.#recorded()) === this.#by;
  }

  /** They are as the objects are. */
  async remember(now: number): Promise<void> {
    const by = this.#by;
    // A declaration without unique values takes the claims away that another one made.
    if (!by || (this.#model.rules.uniques.length === 0 && (await this.#recorded()) === undefined)) return;
    await putMark(this.#store, 'claims', typeNameOf(this.#model.scheme), { by } satisfies Mark, { now });
  }

  async #recorded(): Promise<string | undefined> {
    const number = await knownMarkNumber(this.#store, 'claims');
    if (number === undefined) return undefined;
    return (await readMarks<Mark>(this.#store, number)).get(typeNameOf(this.#model.scheme))?.content.by;
  }

  /** Undefined where there are no claims, or where another contract than the declared one decides about them. */
  get #by(): string | undefined {
    const { rules } = this.#model;
    if (!keepsClaims(this.#store) || rules.isBlocked || rules.hasOtherHub || !this.#identity) return undefined;
    return hash('sha256', JSON.stringify([this.#identity, rules.uniques.map(({ name }) => name)]));
  }
}
