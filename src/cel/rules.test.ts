import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { slowness, threadTime } from '../../test/slowness.ts';
import { Violations } from '../errors.ts';
import { TimeSlice } from '../runtime/time-slice.ts';
import type { RuleParams } from './evaluation.ts';
import { compileRules } from './rules.ts';

const anything = { type: 'object', properties: { a: {}, b: {}, items: { type: 'array', items: { type: 'integer' } } } };

/** What a rule says of a value, in the words of Kubernetes. */
function details(rule: string | object, value: unknown, stored?: unknown, schema: object = anything): string[] {
  const given = typeof rule === 'string' ? { rule } : rule;
  const rules = compileRules({ ...schema, 'x-kubernetes-validations': [given] });
  assert.deepEqual(
    rules.problems.map(({ message }) => message),
    [],
  );
  return rules.check(value, stored).map(({ params }) => (params as RuleParams).detail);
}

function problem(rule: string | object, schema: object = anything): string | undefined {
  const given = typeof rule === 'string' ? { rule } : rule;
  return compileRules({ ...schema, 'x-kubernetes-validations': [given] }).problems[0]?.message;
}

const holding = [
  "'abc'.size() == 3 && size([1, 2]) == 2 && {'a': 1}.size() == 1",
  "'😀b'.indexOf('b') == 1 && '😀b'.charAt(0) == '😀' && '😀b'.substring(1) == 'b'",
  "'a-b-c'.split('-', 2) == ['a', 'b-c'] && ['a', 'b'].join('-') == 'a-b' && 'aXbX'.replace('X', '', 1) == 'abX'",
  "' A '.trim().lowerAscii() == 'a' && 'a'.upperAscii() == 'A' && 'abc'.reverse() == 'cba'",
  "'%s is %d, %.2f, %x'.format(['a', 1, 1.5, 255]) == 'a is 1, 1.50, ff'",
  "'example.com/x'.find('^[^/]+') == 'example.com' && '1a2b'.findAll('[0-9]') == ['1', '2']",
  "'ABC'.matches('(?i)^abc$') && '1a2b3c'.findAll('[0-9]', 2).size() == 2",
  "['http://#%blah$#@', 'http://a#b', 'http://%41/', 'http://%zz/', 'http://a b@c/'].all(u, !isURL(u)) && isURL('http://a%25b@%C3%A9.com/#x')",
  "isURL('https://a:b@example.com:80/p%20q?x=1&x=2') && url('https://example.com:80/p?x=1&x=2').getPort() == '80'",
  "url('https://example.com:80/p?x=1&x=2').getQuery() == {'x': ['1', '2']} && !isURL('a/b')",
  "url('https://[::1]:80/').getHostname() == '::1' && url('/a b').getEscapedPath() == '/a%20b'",
  "isIP('::1') && ip('127.0.0.1').isLoopback() && ip('::ffff').family() == 6 && !isIP('1.2.3.04')",
  "ip.isCanonical('2001:db8::1') && !ip.isCanonical('2001:DB8::1') && ip('10.0.0.1').isGlobalUnicast()",
  "cidr('10.0.0.0/8').containsIP('10.1.2.3') && cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && !isCIDR('10.0.0.0/33')",
  "cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('::/0').prefixLength() == 0",
  "quantity('1.5Gi').isGreaterThan(quantity('1G')) && quantity('200m').add(quantity('0.3')).compareTo(quantity('500m')) == 0",
  "quantity('50k').asInteger() == 50000 && quantity('-1').sign() == -1 && !isQuantity('1 k') && !quantity('0.5').isInteger()",
  "[1, 2, 2].isSorted() && [1, 2].sum() == 3 && [2, 1].min() == 1 && ['a', 'b'].max() == 'b' && [1, 2, 1].lastIndexOf(1) == 2",
  '[1.5].sum() == 1.5 && [1, 2].indexOf(3) == -1 && sets.contains([1, 2], [2])',
  "!format.dns1123Label().validate('a-b').hasValue() && format.named('uuid').value().validate('x').value().size() == 1",
  "optional.of(1).orValue(2) == 1 && optional.none().or(optional.of(3)).value() == 3 && {'a': 1}.?b.orValue(2) == 2",
  "optional.of(2).optMap(x, x * 2).value() == 4 && [1][?5].hasValue() == false && {'a': {'b': 1}}.?a.?b.orValue(0) == 1",
  'cel.bind(x, 3, x * x) == 9 && [1, 2, 3].filter(x, x > 1).map(x, x * 2) == [4, 6] && [1, 2].map(x, x > 1, x) == [2]',
  "[1, 2].exists_one(x, x == 1) && {'a': 1}.all(k, k == 'a') && 'a' in {'a': 1} && !(3 in [1, 2])",
  "duration('1h30m').getMinutes() == 90 && duration('1s') < duration('1.5s') && string(duration('90s')) == '90s'",
  "timestamp('2026-01-02T03:04:05Z').getHours('+02:00') == 5 && timestamp('2026-01-02T03:04:05Z').getDayOfYear() == 1",
  "timestamp('2026-01-02T00:00:00Z') - timestamp('2026-01-01T00:00:00Z') == duration('24h')",
  "dyn(1) == 1.0 && 1 < 1.5 && dyn(2u) == 2 && 7 / 2 == 3 && -7 % 2 == -1 && int('-5') == -5 && double('1e3') == 1000.0",
  "9223372036854775807 - 1 == 9223372036854775806 && -9223372036854775808 < 0 && string(1) == '1' && bool('true')",
  "type(1) == int && type('a') == string && type([1]) == list && dyn(1) != 'a' && b'abc'.size() == 3",
  '(1 / 0 == 1 || true) && !(false && 1 / 0 == 1) && [0, 1].exists(x, 1 / x == 1) && !has({}.a)',
];

describe('rules in CEL', () => {
  it('have the functions of the standard, of strings and of Kubernetes', () => {
    for (const rule of holding) assert.deepEqual(details(rule, {}), [], rule);
  });

  it('are violated where they have no value, and say why', () => {
    const message = { message: 'be well' };
    assert.deepEqual(details({ rule: 'self.a.b == 1', ...message }, { a: {} }), [
      'no such key: b evaluating rule: be well',
    ]);
    assert.deepEqual(details('1 / self.items[0] > 0', { items: [0] }), [
      'division by zero evaluating rule: 1 / self.items[0] > 0',
    ]);
    assert.deepEqual(details({ rule: 'self.items[3] > 0', ...message }, { items: [] }), [
      'index out of bounds: 3 evaluating rule: be well',
    ]);
    assert.deepEqual(details({ rule: 'self.items[0] + 1 > 0', ...message }, { items: [Number.MAX_SAFE_INTEGER] }), []);
    assert.deepEqual(details({ rule: '9223372036854775807 + self.items[0] > 0', ...message }, { items: [1] }), [
      'integer overflow evaluating rule: be well',
    ]);
  });

  it('do not compile against a schema that they do not fit', () => {
    const schema = { type: 'object', properties: { n: { type: 'integer' }, namespace: { type: 'string' } } };
    assert.match(problem('self.x == 1', schema)!, /undefined field 'x'/);
    assert.match(problem("self.n == 'a'", schema)!, /no matching overload for '_==_' applied to '\(int, string\)'/);
    assert.match(problem('self.n', schema)!, /must be true or false, not int/);
    assert.match(problem('self.n == ', schema)!, /Syntax error/);
    assert.match(problem('self.nowhere()', schema)!, /undeclared reference to 'nowhere'/);
    assert.match(problem("self.__namespace__.matches('(')", schema)!, /error parsing regexp/);
    assert.match(problem({ rule: 'true', fieldPath: '.x' }, schema)!, /names no member/);
    assert.match(problem({ rule: 'true', reason: 'Why' }, schema)!, /must be one of/);
    assert.match(problem({ rule: 'true', messageExpression: '1' }, schema)!, /must be a string, not int/);
    assert.match(problem(`${'!'.repeat(15_000)}true`, schema)!, /nested too deeply/);
    assert.equal(problem("self.__namespace__ == 'a'", schema), undefined);
    const { problems } = compileRules({
      type: 'object',
      properties: { a: { type: 'object', properties: {}, 'x-kubernetes-validations': [{ rule: 'self.b' }] } },
    });
    assert.deepEqual(
      problems.map(({ path }) => path),
      ['/properties/a/x-kubernetes-validations/0/rule'],
    );
  });

  it('read values by their schema', () => {
    const schema = {
      type: 'object',
      properties: {
        at: { type: 'string', format: 'date-time' },
        wait: { type: 'string', format: 'duration' },
        port: { 'x-kubernetes-int-or-string': true },
        none: { type: 'string', nullable: true },
        'a-b': { type: 'object', properties: { 'c.d/e': { type: 'integer' }, f__g: { type: 'integer' } } },
        constructor: { type: 'object', additionalProperties: { type: 'number' } },
      },
    };
    const value = {
      at: '2026-01-01T00:00:00Z',
      wait: '90s',
      port: 80,
      none: null,
      'a-b': { 'c.d/e': 1, f__g: 2 },
      constructor: { x: 1 },
    };
    for (const rule of [
      'self.at.getFullYear() == 2026 && self.wait.getSeconds() == 90',
      'self.port == 80 && type(self.port) == int && !has(self.none)',
      'self.a__dash__b.c__dot__d__slash__e == 1 && self.a__dash__b.f__underscores__g == 2',
      "self.constructor['x'] == 1.0 && self.constructor.all(k, k == 'x')",
    ]) {
      assert.deepEqual(details(rule, value, undefined, schema), [], rule);
    }
  });

  it('see the stored value through objects, maps and lists with keys', () => {
    const item = { type: 'object', properties: { name: { type: 'string' }, size: { type: 'integer' } } };
    const rule = { rule: 'self.size >= oldSelf.size', message: 'must not shrink', fieldPath: '.size' };
    const items = { ...item, 'x-kubernetes-validations': [rule] };
    const list = { type: 'array', 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'], items };
    const rules = compileRules({
      type: 'object',
      properties: { list, map: { type: 'object', additionalProperties: items } },
    });
    assert.deepEqual(rules.problems, []);
    const stored = {
      list: [
        { name: 'a', size: 2 },
        { name: 'b', size: 2 },
      ],
      map: { x: { size: 2 } },
    };
    const next = {
      list: [
        { name: 'b', size: 1 },
        { name: 'c', size: 0 },
      ],
      map: { x: { size: 1 }, y: { size: 0 } },
    };
    assert.deepEqual(
      rules.check(next, stored).map(({ pointer }) => pointer),
      ['/list/0/size', '/map/x/size'],
    );
    assert.deepEqual(rules.check(next, undefined), []);
    assert.match(problem({ rule: 'true' }, { type: 'array', items })!, /items of the list around it have no keys/);
    const once = { rule: 'oldSelf.orValue({}) == self || !oldSelf.hasValue()', optionalOldSelf: true };
    assert.deepEqual(details(once, { a: 1 }), []);
    assert.equal(details(once, { a: 1 }, { a: 2 }).length, 1);
  });

  it('say what their message or its expression says', () => {
    const message = 'fixed';
    assert.deepEqual(details({ rule: 'false', message }, {}), ['fixed']);
    assert.deepEqual(details({ rule: 'false', message, messageExpression: "'got %d'.format([self.a])" }, { a: 5 }), [
      'got 5',
    ]);
    assert.deepEqual(details({ rule: 'false', message, messageExpression: 'string(self.b)' }, {}), ['fixed']);
    assert.deepEqual(details({ rule: 'false', message: 'keep {rule}' }, {}), ['keep {rule}']);
    assert.deepEqual(details('false', {}), ['failed rule: false']);
  });

  it('end after a million steps, whatever they do', () => {
    const tries = 5;
    const items = Array.from({ length: 2_000 }, (_, i) => i);
    const doubled = Array.from({ length: 30 }).reduce<string>(
      (text, _, i) => `cel.bind(x${i}, ${text}, x${i} + x${i})`,
      'self.items',
    );
    for (const rule of [
      'self.items.all(a, self.items.all(b, self.items.all(c, a + b + c >= 0)))',
      'self.items.all(a, self.items.all(b, self.items.all(c, a / 0 == 0)))',
      'self.items.map(x, x).all(a, self.items.map(x, x).all(b, self.items.map(x, x) == self.items))',
      `size(${doubled}) > 0`,
      `size(${doubled.replaceAll('self.items', "'abcdefgh'")}) > 0`,
      'self.items.map(a, self.items.map(b, [a, b])).size() > 0',
      "self.items.all(a, self.items.all(b, {'a': a, 'b': b}.a >= 0))",
    ]) {
      const rules = compileRules({ ...anything, 'x-kubernetes-validations': [{ rule }] });
      assert.deepEqual(rules.problems, []);
      rules.check({ items: [1, 2] }, undefined);
      const times: number[] = [];
      while (times.length < tries && !times.some((one) => one < 50)) {
        const before = threadTime();
        const found = rules.check({ items }, undefined);
        times.push(threadTime() - before);
        assert.match(found[0]!.message, /more than 1000000 steps/, rule);
      }
      assert.ok(Math.min(...times) < 50 * slowness(), `${rule.slice(0, 60)}: ${times.join(', ')} ms`);
    }
  });

  it('give the event loop back between two rules', async () => {
    const rule = { rule: 'self.items.all(a, self.items.all(b, self.items.all(c, a + b + c >= 0)))' };
    const rules = compileRules({ ...anything, 'x-kubernetes-validations': Array.from({ length: 20 }, () => rule) });
    let renewed = 0;
    const slice = new TimeSlice(
      () => performance.now(),
      1,
      async () => {
        renewed++;
      },
    );
    const made = new Violations();
    const findings = { made, kept: new Violations() };
    await rules.checkInParts({ items: Array.from({ length: 2_000 }, () => 1) }, undefined, findings, slice);
    // The same violation counts once.
    assert.equal(made.count, 1);
    assert.ok(renewed >= 5, `${renewed} turns`);
  });

  it('end for whatever is written as a rule', () => {
    const part = fc.constantFrom(
      ...'self oldSelf self.a self.items [1,2] {"a":1} 1 -1 1.5 "x" true null b"a" 1u .all( .map( .exists( .filter( x, ) ( ] [ } { ? : && || == != < in + - * / % ! . , has( size( .size() .matches("a+") .split("") .join() optional.of( .orValue(1) .?a [?0] cel.bind( duration("1s") timestamp("2026-01-01T00:00:00Z") quantity("1") ip("1.1.1.1") .replace("","aa") .format([1]) int( string('.split(
        ' ',
      ),
    );
    const value = { a: { b: [1, 'x', null] }, items: [1, 2, 3] };
    const runs = Number(process.env.RULES ?? 5_000);
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 14, size: 'max' }), (parts) => {
        const rules = compileRules({ ...anything, 'x-kubernetes-validations': [{ rule: parts.join('') }] });
        for (const stored of [undefined, value]) {
          for (const { message } of rules.check(value, stored)) assert.ok(message.length > 0);
        }
      }),
      { numRuns: runs },
    );
  });
});
