import type { Text } from '../errors.ts';
import { KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';
import type { Scheme } from './scheme.ts';

const text: Text = localized('The plugin {plugin} is starting: it answers when its start is done');

/**
 * The plugins whose start is under way. Until it is done, their models and routes answer nobody but themselves (contract
 * section 9): a start can fail, and then nothing of it was ever there.
 */
export class Starting {
  /** By name, each with how far its indexes are, from 0 to 1. */
  readonly #plugins = new Map<string, () => number>();
  /** By name, the models of a plugin that is loaded again which go on serving meanwhile. */
  readonly #serving = new Map<string, (scheme: Scheme) => boolean>();

  begin(plugin: string, progress: () => number, isServing: (scheme: Scheme) => boolean = () => false): void {
    this.#plugins.set(plugin, progress);
    this.#serving.set(plugin, isServing);
  }

  end(plugin: string): void {
    this.#plugins.delete(plugin);
    this.#serving.delete(plugin);
  }

  has(plugin: string): boolean {
    return this.#plugins.has(plugin);
  }

  get none(): boolean {
    return this.#plugins.size === 0;
  }

  /** @throws NotReady with the state and the progress */
  assertServing(plugin: string, scheme: Scheme): void {
    if (!this.#serving.get(plugin)?.(scheme)) this.assertDone(plugin);
  }

  /** As `assertServing`, for what is no model. */
  assertDone(plugin: string): void {
    const progress = this.#plugins.get(plugin)?.();
    if (progress === undefined) return;
    throw new KindredError('NotReady', text, {
      params: { plugin },
      progress,
      plugins: [{ name: plugin, state: 'STARTING' }],
      headers: { 'Retry-After': '1' },
    });
  }
}
