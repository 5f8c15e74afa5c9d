import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { isJson, YamlReader } from './yaml-body.ts';

describe('bodies in YAML', () => {
  const reader = new YamlReader();
  after(() => reader.close());
  const read = async (text: string) => (await reader.json(Buffer.from(text))).toString();

  it('http: YAML becomes JSON with its numbers as they are written', async () => {
    const text = 'a: 1.50\nb: [yes, null, 9007199254740993]\nc: |\n  x\n__proto__: {d: 2026-01-02}\n';
    assert.equal(
      await read(text),
      '{"a":1.5,"b":["yes",null,9007199254740993],"c":"x\\n","__proto__":{"d":"2026-01-02"}}',
    );
    assert.equal(await read('# nothing\n'), 'null');
  });

  it('http: where members may be given twice the last one counts, and their paths are told, 100 at most', async () => {
    const duplicated = async (text: string) => reader.read(Buffer.from(text), true);
    assert.deepEqual(await duplicated('a: 1\nb: [{c: {d: 1, d: 2}}]\na: 3\n'), {
      json: '{"a":3,"b":[{"c":{"d":2}}]}',
      duplicates: ['a', 'b.c.d'],
    });
    const many = await duplicated('a: 1\n'.repeat(500));
    assert.equal(many.mistake === undefined && many.duplicates.length, 100);
  });

  const bomb =
    'a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n';
  const refused: { what: string; text: string; says: RegExp }[] = [
    { what: 'no YAML', text: 'a: [1\n', says: /body:\d+:\d+ is neither YAML nor JSON/ },
    { what: 'a member twice', text: 'a: 1\na: 2\n', says: /unique/ },
    { what: 'infinity', text: 'a: .inf\n', says: /Infinity is no number of JSON/ },
    { what: 'too many aliases', text: bomb, says: /alias/i },
    { what: 'a deep text', text: '['.repeat(50_000), says: /call stack|neither YAML/ },
    {
      what: 'aliases of a large value',
      text: `a: &a "${'x'.repeat(50_000)}"\nb: [${Array(90).fill('*a').join()}]\n`,
      says: /with its aliases/,
    },
  ];
  for (const { what, text, says } of refused) {
    it(`http: a body with ${what} is refused`, async () => {
      await assert.rejects(read(text), { code: 'BadRequest', message: says });
    });
  }

  it('http: bodies wait in line for the thread, too many are refused, and bytes that are no UTF-8 are', async () => {
    const all = await Promise.allSettled(Array.from({ length: 70 }, (_, i) => read(`a: ${i}`)));
    assert.deepEqual(
      all.map((one) => (one.status === 'fulfilled' ? one.value : (one.reason as { code: string }).code)),
      Array.from({ length: 70 }, (_, i) => (i < 64 ? `{"a":${i}}` : 'NotReady')),
    );
    await assert.rejects(reader.json(Buffer.from([0x61, 0xff])), { code: 'BadRequest' });
  });

  it('http: what begins with a brace is JSON', () => {
    assert.deepEqual(
      [' \r\n\t{"a":1}', '{', 'a: {}', '', '[1]'].map((text) => isJson(Buffer.from(text))),
      [true, true, false, false, false],
    );
  });
});
