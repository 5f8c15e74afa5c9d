/** What the tests of plugins share: plugin folders made on the spot, and Plugin objects read over HTTP. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { ObjectOf } from 'kindred';
import { defineModel, Type } from 'kindred';
import type { Harness, HarnessOptions } from 'kindred/testing';
import { startHarness } from 'kindred/testing';
import pino from 'pino';

const cleanUps: (() => unknown)[] = [];

/** Stops what `harnessOf` started and removes what `folderOf` made: for `after` or `afterEach`. */
export async function cleanUp(): Promise<void> {
  for (const one of cleanUps.splice(0).reverse()) await one();
}

/** Says nothing. */
export const quiet = pino({ level: 'silent' });

export interface PluginStatus {
  state: string;
  reason?: string;
  message?: string;
}

export interface PluginRecord {
  metadata: { name: string; version: number };
  spec: { enabled: boolean; displayName: string; version: string };
  status?: PluginStatus;
}

const plugins = '/apis/plugin.platform.run/v1alpha1/plugins';

export async function pluginOf(harness: Harness, name: string): Promise<PluginRecord> {
  const response = await harness.fetch(`${plugins}/${name}`);
  assert.equal(response.status, 200, `Plugin ${name}`);
  return (await response.json()) as PluginRecord;
}

/** Over the API, as anybody would. */
export async function setEnabled(harness: Harness, name: string, enabled: boolean): Promise<void> {
  const response = await harness.fetch(`${plugins}/${name}`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/merge-patch+json' },
    json: { spec: { enabled } },
  });
  assert.equal(response.status, 200, await response.text());
}

export function untilState(harness: Harness, name: string, state: string): Promise<PluginRecord> {
  return harness.until(
    async () => {
      const plugin = await pluginOf(harness, name);
      return plugin.status?.state === state ? plugin : undefined;
    },
    { what: `plugin ${name} is ${state}` },
  );
}

/** A harness that `cleanUp` stops. */
export async function harnessOf(options: HarnessOptions): Promise<Harness> {
  const harness = await startHarness({ logger: quiet, ...options });
  cleanUps.push(() => harness.stop());
  return harness;
}

/** A folder with these files, which `cleanUp` removes. */
export function folderOf(files: Readonly<Record<string, string | object>>): string {
  const root = mkdtempSync(join(tmpdir(), 'kindred-plugin-'));
  cleanUps.push(() => rmSync(root, { recursive: true, force: true }));
  writeFiles(root, files);
  return root;
}

export function writeFiles(root: string, files: Readonly<Record<string, string | object>>): void {
  for (const [file, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), typeof content === 'string' ? content : JSON.stringify(content));
  }
}

export const Book = defineModel({
  gvk: { group: 'library.example.com', version: 'v1', kind: 'Book', singular: 'book', plural: 'books' },
  spec: Type.Object({ title: Type.String({ minLength: 1 }), pages: Type.Optional(Type.Integer({ minimum: 1 })) }),
  status: Type.Optional(Type.Object({ phase: Type.String() })),
  indexes: (index) => [index.single('spec.title', String, (book) => book.spec.title)],
});
export type Book = ObjectOf<typeof Book>;

export const books = '/apis/library.example.com/v1/books';

/** The same model as source text of a plugin. */
export const bookSource = `import { defineModel, Type } from 'kindred';
export const Book = defineModel({
  gvk: { group: 'library.example.com', version: 'v1', kind: 'Book', singular: 'book', plural: 'books' },
  spec: Type.Object({ title: Type.String({ minLength: 1 }), pages: Type.Optional(Type.Integer({ minimum: 1 })) }),
  status: Type.Optional(Type.Object({ phase: Type.String() })),
  indexes: (index) => [index.single('spec.title', String, (book) => book.spec.title)],
});
`;
