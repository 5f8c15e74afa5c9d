/** The watches of all places: each is one of the place of its model. */
import type { KindredError } from '../../errors.ts';
import type { RegisteredModel } from '../registered-model.ts';
import type { ModelResource } from '../resource.ts';
import type { Reader, Sink, WatchRequest } from './events.ts';
import type { OpenWatch } from './watch.ts';
import type { Watches } from './watches.ts';

interface Place {
  readonly name: string;
  readonly watches: Watches;
}

export class PlacedWatches {
  /** The first is that of the default store. */
  readonly #places: readonly Place[];

  constructor(places: readonly Place[]) {
    this.#places = places;
  }

  /** Open watches. */
  get size(): number {
    return this.#places.reduce((sum, { watches }) => sum + watches.size, 0);
  }

  /** As that of `Watches`. */
  open(resource: ModelResource, request: WatchRequest, sink: Sink): Promise<OpenWatch> {
    return this.#of(resource).open(resource, request, sink);
  }

  /** As that of `Watches`. */
  join(resource: ModelResource, reader: Reader): () => void {
    return this.#of(resource).join(resource, reader);
  }

  /** Ends every watch of a model, or all of them. */
  endAll(error: KindredError, model?: RegisteredModel): void {
    for (const { watches } of this.#places) watches.endAll(error, model);
  }

  /** As that of `Watches`. */
  endUnregistered(resource: ModelResource): void {
    this.#of(resource).endUnregistered(resource.model);
  }

  /** Called when the service stops, after every watch was ended. */
  onStop(callback: () => void): () => void {
    return this.#places[0]!.watches.onStop(callback);
  }

  stop(): void {
    for (const { watches } of this.#places.toReversed()) watches.stop();
  }

  #of({ place }: ModelResource): Watches {
    return this.#places.find(({ name }) => name === place.name)!.watches;
  }
}
