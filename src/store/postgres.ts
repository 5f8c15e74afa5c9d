import type { StoreOptions } from './open.ts';
import type { Store } from './store.ts';

export async function openPostgres(_url: string, _options: StoreOptions): Promise<Store> {
  throw new Error('not there');
}
