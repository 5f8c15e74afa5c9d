/** Reads and writes of one object. */
import { authorise } from '../http/api/authorise.ts';
import type { Exchange } from '../http/server/exchange.ts';
import { json } from '../http/server/exchange.ts';
import type { Authorizer } from '../resource/access.ts';
import { andThen } from '../runtime/and-then.ts';
import type { MaybePromise } from '../store/store.ts';
import { shownBytes } from './metadata.ts';
import { noResource } from './status.ts';
import type { ResourceTarget } from './target.ts';

export interface ObjectsDependencies {
  readonly authorizer: Authorizer;
}

export class KubeObjects {
  readonly #dependencies: ObjectsDependencies;

  constructor(dependencies: ObjectsDependencies) {
    this.#dependencies = dependencies;
  }

  serve(exchange: Exchange, { model, name, access }: ResourceTarget): MaybePromise<void> {
    authorise(this.#dependencies.authorizer, exchange, access);
    if (name === undefined) throw noResource();
    return andThen(model.resource.get(name), ({ stored }) => {
      exchange.send(200, ['Content-Type', json], shownBytes(model, stored));
    });
  }
}
