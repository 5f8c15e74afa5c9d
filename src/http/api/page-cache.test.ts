import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ListParameters } from '../../query/list-parameters.ts';
import { PageCache } from './page-cache.ts';

const list = (): ListParameters => ({}) as ListParameters;
const epoch = Symbol();

/** Objects of which every change up to `revision` after `quiet` concerns every list. */
function listed(revision: number, quiet = revision) {
  return {
    moment: { epoch, changes: revision, revision },
    isUnchanged: (_where: unknown, since: { revision: number }) => since.revision >= quiet,
  };
}

test('a list page is kept from the second request without a change of it in between, until one concerns it', () => {
  const pages = new PageCache(10_000);
  const one = list();
  assert.equal(pages.get(one, listed(1)), undefined);
  assert.equal(pages.isRepeated(one, listed(1)), false);
  assert.equal(pages.get(one, listed(2)), undefined);
  assert.equal(pages.isRepeated(one, listed(2)), false, 'changed in between');
  assert.equal(pages.get(one, listed(3, 2)), undefined);
  assert.equal(pages.isRepeated(one, listed(3, 2)), true);
  const body = Buffer.from('page');
  pages.keep(one, listed(3, 2), body);
  assert.equal(pages.get(one, listed(3)), body);
  assert.equal(pages.get(list(), listed(3)), undefined, 'another list');
  assert.equal(pages.get(one, listed(9, 3)), body, 'other changes');
  assert.equal(pages.get(one, listed(10, 9)), body, 'looked through up to 9 before');
  assert.equal(pages.get(one, listed(11)), undefined, 'changed');
  assert.equal(pages.isRepeated(one, listed(11)), false);
});

test('kept list pages never have more bytes than allowed, and none with a limit of 0', () => {
  const pages = new PageCache(10_000);
  const lists = Array.from({ length: 20 }, list);
  for (const one of lists) pages.keep(one, listed(1), Buffer.alloc(1_000));
  const bytes = lists.reduce((sum, one) => sum + (pages.get(one, listed(1))?.length ?? 0), 0);
  assert.equal(bytes, 8_000);
  pages.keep(lists[0]!, listed(1), Buffer.alloc(20_000));
  assert.equal(pages.get(lists[0]!, listed(1)), undefined);
  const none = new PageCache(0);
  none.keep(lists[0]!, listed(1), Buffer.alloc(1));
  assert.equal(none.get(lists[0]!, listed(1)), undefined);
  assert.equal(none.isRepeated(lists[0]!, listed(1)), false);
});
