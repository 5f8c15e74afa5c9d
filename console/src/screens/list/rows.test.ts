import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ListResult } from 'kindred/client';
import { effectScope } from 'vue';
import type { ApiObject } from '../../api/object.ts';
import { useRows } from './rows.ts';

/** `a1`: the object `a` in version 1. */
function pageOf(...items: string[]): ListResult<ApiObject> {
  const objects = items.map((item): ApiObject => {
    const metadata = { name: item[0]!, version: Number(item.slice(1)) };
    return { apiVersion: 'v1', kind: 'Book', metadata };
  });
  const one = { page: 1, size: 50, total: items.length, totalPages: 1, first: true, last: true };
  return { ...one, hasNext: false, hasPrevious: false, items: objects };
}

test('rows: held, a page that is read again brings new content at once, and moves nothing before it is asked for', () => {
  const scope = effectScope();
  scope.run(() => {
    let isHeld = true;
    const told: number[] = [];
    const { shown, total, changed, waiting, replace, update, release } = useRows(
      () => isHeld,
      (count) => told.push(count),
    );
    const seen = () => shown.value.map(({ metadata }) => `${metadata.name}${metadata.version}`).join(' ');
    replace(pageOf('a1', 'b1', 'c1'));
    assert.deepEqual([seen(), waiting.value, [...changed.value]], ['a1 b1 c1', 0, []]);

    update(pageOf('b2', 'c1', 'd1'));
    assert.deepEqual([seen(), waiting.value, total.value], ['a1 b2 c1', 2, 3]);
    assert.deepEqual([...changed.value].sort(), ['b', 'd']);
    release();
    assert.deepEqual([seen(), waiting.value], ['b2 c1 d1', 0]);

    // One that has changed and moved; the others only make place.
    update(pageOf('c1', 'd1', 'b3'));
    assert.deepEqual([seen(), waiting.value], ['b3 c1 d1', 1]);
    isHeld = false;
    update(pageOf('d1', 'b3'));
    assert.deepEqual([seen(), waiting.value], ['d1 b3', 0]);
    assert.deepEqual(told, [3, 1, 1]);

    replace(pageOf('x1'));
    assert.deepEqual([seen(), [...changed.value]], ['x1', []]);
  });
  scope.stop();
});
