import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ListParameters } from '../../query/list-parameters.ts';
import { PageCache } from './page-cache.ts';

const list = (): ListParameters => ({}) as ListParameters;

test('a list page is kept from the second request without a change in between, until the model changes', () => {
  const pages = new PageCache(10_000);
  const one = list();
  assert.equal(pages.isRepeated(one, 1), false);
  assert.equal(pages.isRepeated(one, 2), false, 'changed in between');
  assert.equal(pages.isRepeated(one, 2), true);
  assert.equal(pages.get(one, 2), undefined);
  const body = Buffer.from('page');
  pages.keep(one, 2, body);
  assert.equal(pages.get(one, 2), body);
  assert.equal(pages.get(list(), 2), undefined, 'another list');
  assert.equal(pages.get(one, 3), undefined, 'changed');
});

test('kept list pages never have more bytes than allowed, and none with a limit of 0', () => {
  const pages = new PageCache(10_000);
  const lists = Array.from({ length: 20 }, list);
  for (const one of lists) pages.keep(one, 1, Buffer.alloc(1_000));
  const bytes = lists.reduce((sum, one) => sum + (pages.get(one, 1)?.length ?? 0), 0);
  assert.equal(bytes, 8_000);
  pages.keep(lists[0]!, 1, Buffer.alloc(20_000));
  assert.equal(pages.get(lists[0]!, 1), undefined);
  const none = new PageCache(0);
  none.keep(lists[0]!, 1, Buffer.alloc(1));
  assert.equal(none.get(lists[0]!, 1), undefined);
  assert.equal(none.isRepeated(lists[0]!, 1), false);
});
