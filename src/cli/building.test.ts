import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../testing/until.ts';
import { logged, showBuilding } from './building.ts';

test('command-line: a long build of indexes is shown as one, with the number of objects', async () => {
  const shown: string[] = [];
  let state = { done: 0, objects: 0 };
  const end = showBuilding(
    () => state,
    (title) => {
      shown.push(title);
      return { update: (part, text) => shown.push(`${part} ${text}`), stop: (text) => shown.push(text) };
    },
    { look: 1, patience: 0 },
  );
  try {
    state = { done: 33_870, objects: 135_483 };
    await until(() => shown.length >= 2);
    assert.deepEqual(shown.slice(0, 2), [
      'Building the indexes of 135,483 objects…',
      `${33_870 / 135_483} 24 % of the indexes of 135,483 objects`,
    ]);
    state = { done: 135_483, objects: 135_483 };
  } finally {
    end();
  }
  assert.equal(shown.at(-1), 'The indexes of 135,483 objects are built');
});

test('command-line: a short build of indexes, and none at all, are not shown', async () => {
  for (const objects of [0, 10]) {
    let looks = 0;
    const end = showBuilding(
      () => {
        looks++;
        return { done: 0, objects };
      },
      () => assert.fail('it is shown'),
      { look: 1, patience: 60_000 },
    );
    await until(() => looks > 3);
    end();
  }
});

test('command-line: the log has the beginning and the end of a build', () => {
  const lines: string[] = [];
  const progress = logged((text) => lines.push(text))('begins');
  progress.update(0.5, 'half');
  progress.stop('ends');
  assert.deepEqual(lines, ['begins', 'ends']);
});
