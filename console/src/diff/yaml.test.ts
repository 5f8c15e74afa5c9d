import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { below, ExactNumber, isEqual, valueAt } from './pointer.ts';
import { printJson, printYaml, YamlText, yamlDocuments } from './yaml.ts';

const text = `# a book
metadata:
  name: emma # fixed
spec:
  title: "Emma" # as printed
  tags:
    - classic
    # loved
    - novel
  cover: { kind: image, url: 'https://example.com' }
`;

test('yaml: a pointer leads to its text, and the text back to it', () => {
  const yaml = new YamlText(text);
  const at = (pointer: string) => {
    const { from, to } = yaml.rangeOf(pointer);
    return text.slice(from, to);
  };
  assert.equal(at('/metadata/name'), 'emma');
  assert.equal(at('/spec/tags/1'), 'novel');
  assert.equal(at('/spec/cover/url'), "'https://example.com'");
  assert.equal(yaml.pointerAt(text.indexOf('novel')), '/spec/tags/1');
  assert.equal(yaml.pointerAt(text.indexOf('url')), '/spec/cover/url');
  assert.equal(yaml.lineOf(yaml.rangeOf('/spec/title').from), 5);
  const absent = yaml.rangeOf('/spec/cover/size');
  assert.equal(text.slice(absent.from, absent.to), "{ kind: image, url: 'https://example.com' }");
});

test('yaml: comments and style stay when the value changes', () => {
  const value = {
    metadata: { name: 'emma' },
    spec: { title: 'EMMA', tags: ['novel', 'new'], cover: { kind: 'image', url: 'https://example.com' }, year: 1815 },
  };
  const next = new YamlText(text).withValue(value);
  assert.deepEqual(new YamlText(next).value, value);
  for (const kept of ['# a book', '# fixed', 'title: "EMMA" # as printed', '# loved', 'year: 1815']) {
    assert.ok(next.includes(kept), `${kept} is not in\n${next}`);
  }
});

test('yaml: an unchanged value leaves the text as it is', () => {
  const strange = 'a:   1\n\n\n# end\nb: [ 1,2 ]';
  assert.equal(new YamlText(strange).withValue({ a: 1, b: [1, 2] }), strange);
});

test('yaml: a value that cannot be changed in place is printed again', () => {
  const aliases = 'a: &x { v: 1 }\nb: *x\n';
  assert.deepEqual(new YamlText(new YamlText(aliases).withValue({ a: { v: 1 }, b: { v: 2 } })).value, {
    a: { v: 1 },
    b: { v: 2 },
  });
});

test('yaml: problems have a place', () => {
  const [problem] = new YamlText('a: 1\nb: "open\n').problems;
  assert.equal(problem?.line, 3);
  assert.equal(new YamlText('a: 1\na: 2\n').problems[0]?.message, 'Map keys must be unique');
  const bomb = [
    'a: &a [x,x,x,x,x,x,x,x,x]',
    ...'bcdefgh'.split('').map((c, i) => `${c}: &${c} [${`*${'abcdefg'[i]},`.repeat(9)}x]`),
  ];
  assert.equal(new YamlText(bomb.join('\n')).problems.length, 1);
});

test('yaml: numbers that JavaScript has not stay as they are written', () => {
  const value = new YamlText('a: 12345678901234567890\nb: 1.0\nc: 0.1\n').value as Record<string, unknown>;
  assert.ok(value.a instanceof ExactNumber);
  assert.deepEqual([value.b, value.c], [1, 0.1]);
  assert.equal(printYaml({ a: new ExactNumber('12345678901234567890') }), 'a: 12345678901234567890\n');
  assert.equal(printJson({ a: new ExactNumber('12345678901234567890') }), '{\n  "a": 12345678901234567890\n}\n');
});

test('yaml: several documents, each with its line', () => {
  const found = yamlDocuments('a: 1\n---\n# nothing\n---\nb: 2\n---\nc: "x\n');
  assert.deepEqual(
    found.map(({ value, line, problem }) => [value, line, problem !== undefined]),
    [
      [{ a: 1 }, 1, false],
      [{ b: 2 }, 5, false],
      [undefined, 8, true],
    ],
  );
});

const json = fc.jsonValue({ maxDepth: 3, noUnicodeString: false });
const object = fc.dictionary(fc.string({ maxLength: 4 }), json, { maxKeys: 4 });

test('yaml: property - printing and reading give the value, in place too', () => {
  fc.assert(
    fc.property(object, object, (before, after) => {
      const yaml = new YamlText(printYaml(before));
      assert.ok(isEqual(yaml.value ?? {}, before));
      assert.ok(isEqual(new YamlText(yaml.withValue(after)).value ?? {}, after));
    }),
  );
});

test('yaml: property - a pointer and its position lead to each other', () => {
  const leaves = (value: unknown, pointer: string): string[] =>
    typeof value === 'object' && value !== null && Object.keys(value).length > 0
      ? Object.entries(value).flatMap(([name, member]) => leaves(member, below(pointer, name)))
      : [pointer];
  fc.assert(
    fc.property(object, (value) => {
      const yaml = new YamlText(printYaml(value));
      for (const pointer of leaves(value, '')) {
        if (pointer === '') continue;
        assert.equal(yaml.pointerAt(yaml.rangeOf(pointer).from), pointer);
        assert.equal(JSON.stringify(valueAt(value, pointer)) === undefined, false);
      }
    }),
  );
});
