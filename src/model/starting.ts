import type { Text } from '../errors.ts';
import { KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';

const text: Text = localized('The plugin {plugin} is starting: it answers when its start is done');

/**
 * The plugins whose start is under way. Until it is done, their models and routes answer nobody but themselves (contract
 * section 9): a start can fail, and then nothing of it was ever there.
 */
export class Starting {
  /** By name, each with how far its indexes are, from 0 to 1. */
  readonly #plugins = new Map<string, () => number>();

  begin(plugin: string, progress: () => number): void {
    this.#plugins.set(plugin, progress);
  }

  end(plugin: string): void {
    this.#plugins.delete(plugin);
  }

  has(plugin: string): boolean {
    return this.#plugins.has(plugin);
  }

  get none(): boolean {
    return this.#plugins.size === 0;
  }

  /** @throws NotReady with the state and the progress */
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
