/** Articles in a store, put there without a service, and the plugin that declares them. */
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Store } from 'kindred';
import { article, nameOf } from './articles.ts';

const { group, kind } = { group: 'bench.example.com', kind: 'Article' };
const portion = 5_000;

interface Stored {
  /** Further members of the spec. Default: none. */
  readonly more?: (number: number) => object | undefined;
  /** The last 5,000 are in the change log, too. Default: it is empty. */
  readonly inLog?: boolean;
}

/** As the service stores them, from number 0, with revisions from 1. */
export async function storeArticles(store: Store, count: number, { more, inLog = false }: Stored = {}): Promise<void> {
  const model = await store.modelNumber(group, kind);
  const time = Date.now();
  const creationTimestamp = new Date(time).toISOString();
  const rowOf = (id: number) => {
    const { metadata, spec } = article(id - 1);
    const stored = {
      apiVersion: `${group}/v1`,
      kind,
      metadata: { ...metadata, creationTimestamp, version: 1 },
      spec: { ...spec, ...more?.(id - 1) },
    };
    return { id, revision: id, name: nameOf(id - 1), bytes: Buffer.from(JSON.stringify(stored)) };
  };
  let oldest = count;
  for (let at = 1; at <= count; at += portion) {
    const rows = Array.from({ length: Math.min(portion, count - at + 1) }, (_, i) => rowOf(at + i));
    await store.load({ model, rows });
    if (!inLog || at + portion <= count) continue;
    await store.load({ changes: rows.map((row) => ({ ...row, type: 'create' as const, model, time })) });
    oldest = at - 1;
  }
  await store.load({ revision: count, oldest });
}

/** A package folder for `kindred serve --plugin`. */
export function writePlugin(folder: string): void {
  mkdirSync(folder, { recursive: true });
  cpSync(join(import.meta.dirname, 'articles.ts'), join(folder, 'articles.ts'));
  const manifest = { name: 'bench', version: '1.0.0', type: 'module', main: 'index.ts', kindred: {} };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  writeFileSync(
    join(folder, 'index.ts'),
    `import { definePlugin } from 'kindred';
import { Article } from './articles.ts';
export default definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Article) });
`,
  );
}
