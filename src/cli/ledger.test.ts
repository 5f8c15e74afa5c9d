import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { KindredError } from '../client/client.ts';
import type { Document } from './documents.ts';
import type { Io } from './io.ts';
import { Ledger } from './ledger.ts';

const refusal = new KindredError('Invalid', { en: 'bad', zh: '' });
const document = (line: number): Document => ({ place: `f.ndjson:${line}`, value: {}, offset: 0 });

function reported(ledger: Ledger): string {
  let text = '';
  const stderr = new Writable({
    write(chunk, _encoding, done) {
      text += chunk;
      done();
    },
  });
  ledger.report({ stderr } as unknown as Io);
  return text;
}

test('command-line: every object that was read is in one of the counts, or is named', () => {
  const ledger = new Ledger();
  const lines = Array.from({ length: 12 }, (_, i) => document(i + 1));
  for (const one of lines) ledger.add(one);
  for (const one of lines.slice(0, 10)) ledger.send(one);
  ledger.acknowledge(lines[0]!);
  ledger.skip(lines[1]!);
  ledger.refuse(lines[2]!, refusal);
  ledger.lose(lines[4]!, new KindredError('UnknownOutcome', { en: 'cut', zh: '' }));
  ledger.keep(lines[7]!);
  const { read, acknowledged, skipped, refused, left, isComplete } = ledger;
  assert.deepEqual([read, acknowledged, skipped, refused, left, isComplete], [12, 1, 1, 1, 9, false]);
  assert.equal(
    reported(ledger),
    'f.ndjson:3: bad\nnot stored: f.ndjson:8, 11-12\nstored or not, which is not known: f.ndjson:4-7, 9-10 (cut)\n',
  );
});

test('command-line: an import is complete when every object is acknowledged or skipped', () => {
  const ledger = new Ledger();
  const [a, b] = [document(1), document(2)];
  ledger.add(a);
  ledger.add(b);
  ledger.acknowledge(a);
  assert.equal(ledger.isComplete, false);
  ledger.skip(b);
  assert.equal(ledger.isComplete, true);
  assert.equal(reported(ledger), '');
  const c = document(3);
  ledger.add(c);
  ledger.refuse(c, refusal);
  assert.equal(ledger.isComplete, false);
});

test('command-line: no object is counted twice', () => {
  const ledger = new Ledger();
  const one = document(7);
  ledger.add(one);
  ledger.acknowledge(one);
  assert.throws(() => ledger.refuse(one, refusal), /f\.ndjson:7 was answered twice/);
  assert.throws(() => ledger.acknowledge(document(8)), /answered twice/);
});

test('command-line: the reasons of a hundred refusals are shown, and the places of the others', () => {
  const ledger = new Ledger();
  for (let line = 1; line <= 205; line++) {
    const one = document(line);
    ledger.add(one);
    if (line === 150) ledger.acknowledge(one);
    else ledger.refuse(one, refusal);
  }
  const lines = reported(ledger).split('\n');
  assert.equal(lines.length, 102);
  assert.deepEqual(lines.slice(99), ['f.ndjson:100: bad', 'refused too: f.ndjson:101-149, 151-205', '']);
});
