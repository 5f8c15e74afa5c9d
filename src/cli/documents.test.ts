import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { documents } from './documents.ts';
import { UsageError } from './io.ts';

async function read(text: string, chunk = 7): Promise<{ place: string; value: unknown; text: string | undefined }[]> {
  const bytes = Buffer.from(text);
  const chunks = Array.from({ length: Math.ceil(bytes.length / chunk) }, (_, i) =>
    bytes.subarray(i * chunk, (i + 1) * chunk),
  );
  const found = [];
  for await (const one of documents(Readable.from(chunks), 'file'))
    found.push({ place: one.place, value: one.value, text: one.text });
  return found;
}

const cases = [
  { name: 'nothing', text: '\n \n', expected: [] },
  {
    name: 'NDJSON, empty lines left out',
    text: '{"a":"ä€"}\n\n{"a":2}',
    expected: [
      { place: 'file:1', value: { a: 'ä€' }, text: '{"a":"ä€"}' },
      { place: 'file:3', value: { a: 2 }, text: '{"a":2}' },
    ],
  },
  {
    name: 'YAML documents',
    text: '# first\na: 1\n---\n---\na: 2\n',
    expected: [
      { place: 'file:2', value: { a: 1 }, text: undefined },
      { place: 'file:5', value: { a: 2 }, text: undefined },
    ],
  },
  {
    name: 'JSON over several lines',
    text: '{\n  "a": 1\n}\n',
    expected: [{ place: 'file:1', value: { a: 1 }, text: undefined }],
  },
  {
    name: 'a list of JSON objects',
    text: '[{"a":1},{"a":2}]',
    expected: [
      { place: 'file:1', value: { a: 1 }, text: undefined },
      { place: 'file:1', value: { a: 2 }, text: undefined },
    ],
  },
  {
    name: 'a page of a list',
    text: 'page: 1\ntotal: 2\nitems:\n  - a: 1\n  - a: 2\n',
    expected: [
      { place: 'file:4', value: { a: 1 }, text: undefined },
      { place: 'file:5', value: { a: 2 }, text: undefined },
    ],
  },
  {
    name: 'a List of kubectl',
    text: 'apiVersion: v1\nitems:\n- a: 1\n- a: 2\nkind: List\n',
    expected: [
      { place: 'file:3', value: { a: 1 }, text: undefined },
      { place: 'file:4', value: { a: 2 }, text: undefined },
    ],
  },
  {
    name: 'an object with items',
    text: 'apiVersion: a.example.com/v1\nkind: List\nitems: [1]\n',
    expected: [
      { place: 'file:1', value: { apiVersion: 'a.example.com/v1', kind: 'List', items: [1] }, text: undefined },
    ],
  },
];

for (const { name, text, expected } of cases) {
  test(`command-line: apply and import read by content - ${name}`, async () => {
    assert.deepEqual(await read(text), expected);
  });
}

const broken = [
  { name: 'a broken line of NDJSON', text: '{"a":1}\n{"a":\n', message: /^file:2 is no JSON/ },
  { name: 'broken YAML', text: 'a: 1\nb: [\n', message: /^file:\d+ is neither YAML nor JSON: .*[^:]$/ },
  {
    name: 'a broken document after a good one',
    text: 'a: 1\n---\n{ a: [ }\n',
    message: /^file:3 is neither YAML nor JSON: [^:]+$/,
  },
  { name: 'a key given twice', text: 'a: 1\na: 2\n', message: /^file:\d+ is neither YAML nor JSON/ },
  { name: 'too many aliases', text: `a: &a x\nb: [${'*a,'.repeat(101)}]\n`, message: /more than 100 aliases/ },
];
for (const { name, text, message } of broken) {
  test(`command-line: apply and import name file and line - ${name}`, async () => {
    await assert.rejects(read(text), (error) => error instanceof UsageError && message.test(error.message));
  });
}
