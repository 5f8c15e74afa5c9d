import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { startProgress } from './progress.ts';

function terminal(columns?: number) {
  let text = '';
  const output = new Writable({
    write(chunk, _encoding, done) {
      text += chunk;
      done();
    },
  });
  const shown = () => text.split('\n').map((line) => line.split('\r\x1b[2K').at(-1)!);
  return { stderr: Object.assign(output, { isTTY: true, columns }), shown };
}

const bar = (full: number) => '█'.repeat(full) + '░'.repeat(40 - full);

test('a progress bar is one line that is redrawn, and the last text replaces it', () => {
  const { stderr, shown } = terminal(80);
  let now = 0;
  const progress = startProgress({ stderr }, 'Copying', 200, () => now);
  assert.deepEqual(shown(), ['']);
  progress.update(50, '50 of 200');
  assert.deepEqual(shown(), ['Copying', `${bar(0)} `]);
  now = 50;
  progress.update(50, '50 of 200');
  assert.equal(shown().at(-1), `${bar(10)} 50 of 200`);
  progress.update(60, '60 of 200');
  assert.equal(shown().at(-1), `${bar(10)} 50 of 200`);
  progress.notice('waiting');
  assert.equal(shown().at(-1), `${bar(12)} waiting`);
  progress.stop('Copied');
  assert.deepEqual(shown(), ['Copying', 'Copied', '']);
});

test('a bar is never longer than a line, and one without a total stays empty', () => {
  const { stderr, shown } = terminal(60);
  const progress = startProgress({ stderr }, 'Checking', undefined);
  progress.notice('x'.repeat(100));
  assert.equal(shown().at(-1), `${bar(0)} ${'x'.repeat(18)}`);
  progress.abort('Stopped');
  assert.deepEqual(shown(), ['Checking', 'Stopped', '']);
});
