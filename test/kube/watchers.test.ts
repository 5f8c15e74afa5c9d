import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, before, mock, test } from 'node:test';
import { fromSources } from '../sources.ts';
import { Facade, gadgets } from './harness.ts';

const facade = new Facade({ watch: { bookmarkInterval: 600_000 } });
before(() => facade.start());
after(() => facade.stop());

const watchers = 1_000;
const lines = 20;

test('1,000 watchers share their lines, and see the same', { timeout: 180_000 }, async () => {
  const put = async (name: string) => {
    const { status } = await facade.kube(gadgets, { body: { metadata: { name }, spec: { note: 'n'.repeat(1_000) } } });
    assert.equal(status, 201);
  };
  const program = join(import.meta.dirname, 'watchers.ts');
  const initial = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan';
  const path = `/kube${gadgets}?watch=true&allowWatchBookmarks=true&${initial}`;
  const child = fork(program, [facade.url, path, String(watchers)], { execArgv: fromSources });
  try {
    await once(child, 'message');
    // Every line is put together of pieces, in this process: a copy for each stream would be so too.
    const concat = mock.method(Buffer, 'concat');
    for (let i = 0; i < lines; i++) await put(`line-${i}`);
    await put('the-end');
    const told = once(child, 'message');
    child.send('read');
    const [digests] = (await told) as [string[]];
    const made = concat.mock.calls.filter(({ arguments: [pieces] }) =>
      Buffer.from(pieces[0] ?? [])
        .toString('latin1')
        .startsWith('{"type":"ADDED"'),
    );
    // Lines that are written together are joined once for all streams that have come as far.
    const copies = watchers * lines;
    assert.ok(made.length >= lines && made.length < copies / 4, `${made.length} times; a copy each is ${copies}`);
    assert.equal(digests.length, 1, 'all streams have the same bytes');
    assert.match(digests[0]!, new RegExp(`${lines + 1}$`));
  } finally {
    mock.restoreAll();
    child.kill();
  }
});
