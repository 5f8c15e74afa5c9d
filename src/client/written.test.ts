import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Stored } from './written.ts';
import { isWritten } from './written.ts';

const sent = { metadata: { name: 'a', labels: { x: '1' } }, spec: { n: 1, list: [{ id: 1 }], on: null } };
const creationTimestamp = '2026-05-01T00:00:00.000Z';
const began = Date.parse(creationTimestamp);
const stored = { ...sent, apiVersion: 'v1', kind: 'T', metadata: { ...sent.metadata, version: 0, creationTimestamp } };

const cases: { name: string; sent?: Stored; stored: Stored; began?: number; expected: boolean }[] = [
  { name: 'as it was sent', stored, expected: true },
  {
    name: 'with defaults',
    stored: { ...stored, spec: { ...sent.spec, list: [{ id: 1, on: true }], y: 2 } },
    expected: true,
  },
  { name: 'with labels of others', stored: labelled({ x: '1', y: '2' }), expected: true },
  { name: 'without a label', stored: labelled({ y: '1' }), expected: false },
  { name: 'with another label', stored: labelled({ x: '2' }), expected: false },
  { name: 'with another value', stored: { ...stored, spec: { ...sent.spec, n: 2 } }, expected: false },
  { name: 'without a member', stored: { ...stored, spec: { n: 1, on: null } }, expected: false },
  { name: 'with a value in the place of null', stored: { ...stored, spec: { ...sent.spec, on: 1 } }, expected: false },
  { name: 'with a longer list', stored: { ...stored, spec: { ...sent.spec, list: [{ id: 1 }, 2] } }, expected: false },
  {
    name: 'with an object in the place of a list',
    stored: { ...stored, spec: { ...sent.spec, list: {} } },
    expected: false,
  },
  { name: 'created before', stored, began: began + 60_000, expected: false },
  { name: 'created before, by clocks that differ a little', stored, began: began + 1_500, expected: true },
  {
    name: 'with another status',
    sent: { ...sent, status: { a: 1 } },
    stored: { ...stored, status: { a: 2 } },
    expected: true,
  },
  { name: 'what is never shown', sent: { ...sent, stringData: { a: 'b' } }, stored, expected: true },
  {
    name: 'the label that the service drops',
    sent: { ...sent, metadata: { name: 'a', labels: { x: '1', 'plugin.platform.run/plugin-name': 'p' } } },
    stored,
    expected: true,
  },
  {
    name: 'without a finalizer',
    sent: { ...sent, metadata: { name: 'a', finalizers: ['f'] } },
    stored,
    expected: false,
  },
  {
    name: 'without an annotation',
    sent: { ...sent, metadata: { name: 'a', annotations: { a: 'b' } } },
    stored,
    expected: false,
  },
];

function labelled(labels: Record<string, string>): Stored {
  return { ...stored, metadata: { ...stored.metadata, labels } };
}

for (const one of cases) {
  test(`command-line: what an import finds under its name is its own, or not - ${one.name}`, () => {
    assert.equal(isWritten(one.sent ?? sent, one.stored, one.began ?? began), one.expected);
  });
}

test('command-line: what an import finds under its name is compared alone when the clock of the service is not known', () => {
  assert.equal(isWritten(sent, stored, undefined), true);
});
