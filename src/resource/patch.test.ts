import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { KindredError } from '../errors.ts';
import { checkExtent, checkMergePatch, JsonPatch, mergePatch } from './patch.ts';

const limits = { operations: 10, growth: 1_000, depth: 20, members: 10, containers: 5 };
/** Objects within one another. */
const nested = (levels: number): object => (levels === 1 ? {} : { a: nested(levels - 1) });
const document = () => ({ spec: { name: 'a', tags: ['x', 'y'], deep: { list: [1, 2, 3] } } });
function patched(target: object, patch: unknown, within = limits): unknown {
  const patching = new JsonPatch(target, patch, within);
  while (patching.step());
  return patching.result;
}
const apply = (patch: unknown) => patched(document(), patch) as ReturnType<typeof document>;

describe('JSON Patch (RFC 6902)', () => {
  const cases: { name: string; patch: unknown; expected: object }[] = [
    {
      name: 'add a member',
      patch: [{ op: 'add', path: '/spec/age', value: 1 }],
      expected: { ...document().spec, age: 1 },
    },
    {
      name: 'add into a list',
      patch: [{ op: 'add', path: '/spec/tags/1', value: 'n' }],
      expected: { ...document().spec, tags: ['x', 'n', 'y'] },
    },
    {
      name: 'append',
      patch: [{ op: 'add', path: '/spec/tags/-', value: 'n' }],
      expected: { ...document().spec, tags: ['x', 'y', 'n'] },
    },
    {
      name: 'remove from a list',
      patch: [{ op: 'remove', path: '/spec/tags/0' }],
      expected: { ...document().spec, tags: ['y'] },
    },
    {
      name: 'replace',
      patch: [{ op: 'replace', path: '/spec/name', value: null }],
      expected: { ...document().spec, name: null },
    },
    {
      name: 'move within a list',
      patch: [{ op: 'move', from: '/spec/tags/0', path: '/spec/tags/1' }],
      expected: { ...document().spec, tags: ['y', 'x'] },
    },
    {
      name: 'copy',
      patch: [{ op: 'copy', from: '/spec/deep/list/2', path: '/spec/tags/0' }],
      expected: { ...document().spec, tags: [3, 'x', 'y'] },
    },
    {
      name: 'test, then remove',
      patch: [
        { op: 'test', path: '/spec/deep', value: { list: [1, 2, 3] } },
        { op: 'remove', path: '/spec/deep' },
      ],
      expected: { name: 'a', tags: ['x', 'y'] },
    },
    {
      name: 'escaped tokens',
      patch: [{ op: 'add', path: '/spec/a~1b~0c', value: 1 }],
      expected: { ...document().spec, 'a/b~c': 1 },
    },
    {
      name: 'unknown members of an operation are ignored',
      patch: [{ op: 'remove', path: '/spec/name', note: 1 }],
      expected: { tags: ['x', 'y'], deep: document().spec.deep },
    },
  ];
  for (const { name, patch, expected } of cases) it(name, () => assert.deepEqual(apply(patch).spec, expected));

  const refusals: { name: string; patch: unknown; code: string; operation?: number }[] = [
    { name: 'no list', patch: {}, code: 'BadRequest' },
    { name: 'no object', patch: [1], code: 'BadRequest', operation: 0 },
    { name: 'unknown op', patch: [{ op: 'increment', path: '/spec/name' }], code: 'BadRequest', operation: 0 },
    { name: 'pointer without a slash', patch: [{ op: 'remove', path: 'spec' }], code: 'BadRequest', operation: 0 },
    { name: 'bad escape', patch: [{ op: 'remove', path: '/spec/~2' }], code: 'BadRequest', operation: 0 },
    { name: 'no value', patch: [{ op: 'add', path: '/spec/x' }], code: 'BadRequest', operation: 0 },
    {
      name: 'move into itself',
      patch: [{ op: 'move', from: '/spec', path: '/spec/x' }],
      code: 'BadRequest',
      operation: 0,
    },
    {
      name: 'token that is no array index',
      patch: [{ op: 'remove', path: '/spec/tags/01' }],
      code: 'BadRequest',
      operation: 0,
    },
    {
      name: 'member that does not exist',
      patch: [
        { op: 'test', path: '/spec/name', value: 'a' },
        { op: 'remove', path: '/spec/nope' },
      ],
      code: 'Invalid',
      operation: 1,
    },
    {
      name: 'index past the end',
      patch: [{ op: 'add', path: '/spec/tags/3', value: 1 }],
      code: 'Invalid',
      operation: 0,
    },
    {
      name: 'parent that does not exist',
      patch: [{ op: 'add', path: '/nope/x', value: 1 }],
      code: 'Invalid',
      operation: 0,
    },
    { name: 'removing the whole', patch: [{ op: 'remove', path: '' }], code: 'Invalid', operation: 0 },
    {
      name: 'failed test',
      patch: [{ op: 'test', path: '/spec/name', value: 'b' }],
      code: 'PatchTestFailed',
      operation: 0,
    },
    {
      name: 'test of an absent path',
      patch: [{ op: 'test', path: '/spec/nope/deeper', value: 1 }],
      code: 'PatchTestFailed',
      operation: 0,
    },
    {
      name: 'test of an absent path with null',
      patch: [{ op: 'test', path: '/spec/nope', value: null }],
      code: 'PatchTestFailed',
      operation: 0,
    },
    {
      name: 'too many operations',
      patch: Array.from({ length: 11 }, () => ({ op: 'test', path: '/spec/name', value: 'a' })),
      code: 'BadRequest',
      operation: 10,
    },
    {
      name: 'an object nested deeper than a body may be',
      patch: [
        { op: 'add', path: '/spec/list', value: [nested(10)] },
        { op: 'add', path: `/spec/list/0${'/a'.repeat(10)}`, value: nested(8) },
      ],
      code: 'Invalid',
      operation: 1,
    },
    {
      name: 'growth over the limit',
      patch: Array.from({ length: 9 }, () => ({ op: 'copy', from: '/spec', path: '/spec/copy' })),
      code: 'PayloadTooLarge',
    },
  ];
  for (const { name, patch, code, operation } of refusals) {
    it(`api: ${name} is ${code}`, () => {
      assert.throws(
        () => apply(patch),
        (error: unknown) => {
          assert.ok(error instanceof KindredError);
          assert.equal(error.code, code);
          if (operation !== undefined) assert.equal(error.operation, operation);
          return true;
        },
      );
    });
  }

  it('limits: a patch adds as many bytes as it may, all operations together', () => {
    // A text is two bytes longer in JSON.
    const adding = (...bytes: number[]) =>
      bytes.map((count, i) => ({ op: 'add', path: `/spec/m${i}`, value: 'x'.repeat(count - 2) }));
    apply(adding(1_000));
    apply(adding(400, 600));
    for (const patch of [adding(1_001), adding(400, 601)])
      assert.throws(() => apply(patch), { code: 'PayloadTooLarge', operation: patch.length - 1 });
  });

  it('api: a copied value is independent of its source', () => {
    const copied = apply([
      { op: 'copy', from: '/spec/deep', path: '/spec/copy' },
      { op: 'add', path: '/spec/copy/list/-', value: 4 },
    ]).spec as unknown as { deep: object; copy: object };
    assert.deepEqual([copied.deep, copied.copy], [{ list: [1, 2, 3] }, { list: [1, 2, 3, 4] }]);
  });

  it('api: an object may be nested by a patch as deeply as by a body', () => {
    assert.deepEqual(apply([{ op: 'replace', path: '/spec', value: nested(19) }]), { spec: nested(19) });
    assert.throws(() => apply([{ op: 'replace', path: '/spec', value: nested(20) }]), { code: 'Invalid' });
  });

  it('objects: __proto__ is a member name like any other', () => {
    const result = apply([{ op: 'add', path: '/spec/__proto__', value: { polluted: true } }]);
    assert.ok(Object.hasOwn(result.spec, '__proto__'));
    assert.equal(({} as { polluted?: boolean }).polluted, undefined);
    assert.equal(JSON.parse(JSON.stringify(result)).spec.name, 'a');
  });
});

describe('the extent of a patched object', () => {
  const members = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`m${i}`, i]));
  const { members: most } = limits;

  it('limits: members of all objects, in lists too', () => {
    checkExtent({ a: [{ b: members(most - 2) }] }, limits);
    assert.throws(() => checkExtent({ a: [{ b: members(most - 1) }] }, limits), { code: 'PayloadTooLarge' });
  });

  it('limits: objects and lists', () => {
    checkExtent({ a: [[], {}, []] }, limits);
    assert.throws(() => checkExtent({ a: [[], {}, [], []] }, limits), { code: 'PayloadTooLarge' });
    assert.throws(() => checkExtent({ a: {}, b: { c: {} }, d: [{}] }, limits), { code: 'PayloadTooLarge' });
  });
});

describe('JSON Merge Patch (RFC 7396)', () => {
  const rows: [target: unknown, patch: unknown, result: unknown][] = [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  ];
  for (const [target, patch, result] of rows) {
    it(`${JSON.stringify(target)} with ${JSON.stringify(patch)}`, () =>
      assert.deepEqual(mergePatch(target, patch), result));
  }

  it('a patch without nulls, applied twice, changes nothing more', () => {
    const json = fc.jsonValue({ noUnicodeString: false }).map((value) => JSON.parse(JSON.stringify(value)) as unknown);
    fc.assert(
      fc.property(json, json, (target, patch) => {
        const once = mergePatch(target, patch);
        assert.deepEqual(mergePatch(once, patch), once);
      }),
    );
  });

  it('api: a merge patch that is no object is 422', () => {
    assert.throws(() => checkMergePatch([1]), { code: 'Invalid' });
  });
});
