import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { framesOf, openLog } from './log.ts';

const root = dirname(import.meta.dirname);
const own = (file: string) => `at ${file} (${pathToFileURL(join(root, file)).href}:1:2)`;
const foreign = (name: string) => `at ${name} (file:///plugins/shop/${name}.js:1:2)`;
const node = 'at process.processTicksAndRejections (node:internal/process/task_queues:104:5)';
const stackOf = (...frames: string[]) => ['Error: two\nlines', ...frames.map((frame) => `    ${frame}`)].join('\n');

const stacks: { name: string; frames: string[]; shown: string[] }[] = [
  {
    name: 'an error in a plugin, with the frame that called it',
    frames: [
      foreign('a'),
      foreign('b'),
      node,
      own('http/custom/routes.ts'),
      own('http/app.ts'),
      foreign('router'),
      own('z.ts'),
    ],
    shown: [foreign('a'), foreign('b'), own('http/custom/routes.ts')],
  },
  {
    name: 'an error of the service about what a plugin did',
    frames: [own('model/names.ts'), own('model/define.ts'), foreign('a'), node, own('plugin/instance.ts')],
    shown: [own('model/define.ts'), foreign('a')],
  },
  { name: 'an error in a timer of a plugin', frames: [foreign('a'), node], shown: [foreign('a')] },
  {
    name: 'an error of the service alone',
    frames: [own('a.ts'), own('b.ts'), node],
    shown: [own('a.ts'), own('b.ts')],
  },
  { name: 'no frames at all', frames: [], shown: [] },
];
for (const { name, frames, shown } of stacks) {
  test(`command-line: of a stack the log shows what helps - ${name}`, () => {
    assert.deepEqual(framesOf(stackOf(...frames), false), shown);
  });
}

test('command-line: the frames of the service alone say nothing about a plugin', () => {
  assert.deepEqual(framesOf(stackOf(own('plugin/loader.ts'), own('plugin/host.ts')), true), []);
  assert.deepEqual(framesOf(stackOf(own('a.ts'), foreign('a')), true), [own('a.ts'), foreign('a')]);
});

function shownOnTerminal(log: (logger: ReturnType<typeof openLog>) => void): string {
  let shown = '';
  const terminal = Object.assign(
    new Writable({
      write(chunk, _encoding, done) {
        shown += chunk;
        done();
      },
    }),
    { isTTY: true },
  );
  log(openLog(terminal, 'info'));
  return shown.replace(/^\d\d:\d\d:\d\d /gm, '');
}

test('command-line: on a terminal the log is one line for each entry, without control characters', () => {
  const shown = shownOnTerminal((logger) => logger.warn({ path: '/\u009b2J' }, 'a\n12:00:00 INFO  b\u001b[2J'));
  assert.equal(shown, 'WARN  a 12:00:00 INFO  b\u{fffd}[2J path=/\u{fffd}2J\n');
});

test('command-line: on a terminal an error has its place below it, indented; a warning only when it is of a plugin', () => {
  const err = Object.assign(new Error('no'), { stack: stackOf(foreign('a')) });
  assert.equal(
    shownOnTerminal((logger) => logger.error({ err, path: '/x' }, 'unexpected error')),
    `ERROR unexpected error path=/x error=no\n    ${foreign('a')}\n`,
  );
  assert.equal(
    shownOnTerminal((logger) => logger.warn({ err, plugin: 'shop' }, 'reconcile failed')),
    `WARN  reconcile failed plugin=shop error=no\n    ${foreign('a')}\n`,
  );
  assert.equal(
    shownOnTerminal((logger) => logger.warn({ err }, 'The database cannot be reached')),
    'WARN  The database cannot be reached error=no\n',
  );
});

test('command-line: the causes of an error follow with their frames, and no text is there twice', () => {
  const failing = (message: string, frame: string, cause?: Error) =>
    Object.assign(new Error(message, { cause }), { stack: stackOf(frame, own('a.ts')) });
  const told = failing('no file: Cannot find x', foreign('a'), failing('Cannot find x\nRequire stack', foreign('b')));
  assert.equal(
    shownOnTerminal((logger) => logger.error({ err: told }, 'not started')),
    [
      'ERROR not started error=no file: Cannot find x',
      ...[foreign('a'), own('a.ts'), 'caused by: Cannot find x', foreign('b'), own('a.ts')].map(
        (line) => `    ${line}`,
      ),
      '',
    ].join('\n'),
  );
  const untold = failing('cannot do a', foreign('a'), failing('the disk is full', foreign('b')));
  assert.match(
    shownOnTerminal((logger) => logger.warn({ err: untold }, 'reconcile failed')),
    /^WARN {2}reconcile failed error=cannot do a: the disk is full\n$/,
  );
});
