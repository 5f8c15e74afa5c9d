import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeLoader } from './node-loader.ts';
import { compilePattern, PatternError } from './pattern.ts';

const compile = (source: string) => compilePattern(source, nodeLoader.linearEngine);
const runsNatively = (source: string): boolean => compile(source).engine === 'RegExp';

test('objects: patterns whose choices the next character decides run as RegExp', () => {
  for (const source of [
    '^[a-z0-9]+(?:-[a-z0-9]+)*$',
    '^(?=.*[A-Z])(?=.*\\d).{8,}$',
    '^(?:(?!--).)*$',
    '^$|^[a-z]+$',
    '^\\p{Lu}\\p{L}*$',
    'foo',
    '^\\d{4}-\\d\\d$',
  ]) {
    assert.equal(runsNatively(source), true, source);
  }
});

test('objects: patterns that could go back far run in the linear-time engine', () => {
  for (const source of [
    '(a+)+$',
    '^(a|a)*$',
    '\\s+$',
    '^(\\w+\\s?)*$',
    '^[^@\\s]+@[^@\\s]+\\.[^@\\s]+$',
    '(x+x+)+y',
    '(a|a){20}$',
    '^(a?){25}a{25}$',
  ]) {
    assert.equal(runsNatively(source), false, source);
  }
});

test('a pattern costs what its engine needs for each character', () => {
  for (const [source, cost] of [
    // Gone through once.
    ['^[a-z]+$', 0.25],
    ['^(?=.*\\d)[a-z\\d]+$', 0.5],
    // Tried again at every position.
    ['foo', 1],
    ['foo|barbaz', 2.75],
    // An automaton that can be kept.
    ['a{0,31}b', 1.5],
    ['(?:a|aa)+$', 1.5],
    ['^(?:[a-z0-9]+(?:-[a-z0-9]+)*\\.)+[a-z]{2,63}$', 1.5],
    ['\\p{L}+ \\p{L}+$', 1.5],
    // One that cannot: 2^40 sets of places.
    ['a[ab]{40}c', 5 * 43],
  ] as const) {
    assert.equal(compile(source).cost, cost, source);
  }
});

test('objects: no accepted pattern stalls on long texts', () => {
  const texts = ['a'.repeat(50_000), `${' '.repeat(50_000)}x`, 'a@'.repeat(25_000), 'x'.repeat(50_000)];
  for (const source of ['(a+)+$', '^(a|a)*b$', '\\s+$', '^(a?){25}a{25}$', '(x+x+)+y', '^(?=.*[A-Z]).*$']) {
    const pattern = compile(source);
    for (const text of texts) pattern.test(text);
  }
});

test('objects: registration refuses patterns that neither engine runs safely', () => {
  for (const source of ['(a+)+\\1', '(?=(a+)+b)', '^(?<!(a+)+)b', '(a)\\1', '^(?<n>.)\\k<n>']) {
    assert.throws(() => compile(source), PatternError, source);
  }
  for (const source of ['[', '\\a', 'a{2,1}', '(?<n>a)(?<n>b)'])
    assert.throws(() => compile(source), PatternError, source);
  assert.throws(() => compile('^(.{1,300}x){10}$'), /too large/);
});

test('objects: both engines agree with ECMA 262 on what classes, anchors and escapes mean', () => {
  const texts = [
    '',
    'a',
    'A',
    '0',
    '_',
    '-',
    ' ',
    '\u00a0',
    '\ufeff',
    '\n',
    'a\n',
    '\u2028',
    'é',
    '😀',
    'ſ',
    'aa',
    'a b',
    'ab cd',
    '٣',
    '\ud800',
  ];
  const sources = [
    '\\d',
    '\\D',
    '\\w',
    '\\W',
    '\\s',
    '\\S',
    '.',
    '[^a]',
    '\\bb',
    'a\\B',
    '[\\w-]',
    '\\u{1F600}',
    '\\uD83D\\uDE00',
    '\\x41',
    '\\cJ',
    '\\p{L}',
    '\\P{L}',
    '[^\\p{L}\\d]',
    '[]',
    '[^]',
    '$',
    '^',
    'a?',
    '\\/',
  ];
  for (const source of sources) {
    const hard = `(?:${source})*${source}(?:x|x)*$`;
    assert.equal(runsNatively(hard), false, hard);
    const linear = compile(hard);
    const native = new RegExp(hard, 'u');
    for (const text of texts) assert.equal(linear.test(text), native.test(text), `${hard} on ${JSON.stringify(text)}`);
  }
});
