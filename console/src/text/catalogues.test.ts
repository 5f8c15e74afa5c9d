import assert from 'node:assert/strict';
import { test } from 'node:test';
import { en } from './en.ts';
import { fill } from './fill.ts';
import { zhCN } from './zh-CN.ts';

type Tree = { readonly [name: string]: string | Tree };

/** Each text by its path; the forms of a plural together. */
function texts(tree: Tree, path = ''): [string, string][] {
  return Object.entries(tree).flatMap(([name, value]): [string, string][] => {
    const at = name === 'one' || name === 'other' ? path : `${path}.${name}`;
    return typeof value === 'string' ? [[at, value]] : texts(value, at);
  });
}

const placeholders = (tree: Tree) => {
  const found = new Map<string, Set<string>>();
  for (const [path, text] of texts(tree)) {
    const names = found.get(path) ?? new Set();
    for (const [name] of text.matchAll(/\{\w+\}/g)) names.add(name);
    found.set(path, names);
  }
  return found;
};

test('console: every text has the same placeholders in both languages, and is not empty', () => {
  assert.deepEqual(placeholders(zhCN as unknown as Tree), placeholders(en as unknown as Tree));
  for (const [path, text] of [...texts(en as unknown as Tree), ...texts(zhCN as unknown as Tree)])
    assert.ok(text.trim(), path);
});

test('console: numbers choose the plural and are written as the language does', () => {
  assert.equal(fill(en.list.objects, { n: 8836 }, 'en'), '8,836 objects');
  assert.equal(fill(en.list.objects, { n: 1 }, 'en'), '1 object');
  assert.equal(fill(zhCN.list.objects, { n: 1 }, 'zh-CN'), '1 个对象');
  assert.equal(fill('{a} and {b}', { a: 'x' }, 'en'), 'x and {b}');
});
