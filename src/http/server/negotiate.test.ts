import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { mediaType, preferredLocale, preferredType } from './negotiate.ts';

describe('errors: messages are localised by Accept-Language, English and Chinese', () => {
  const cases: [string | undefined, 'en' | 'zh'][] = [
    [undefined, 'en'],
    ['', 'en'],
    ['zh', 'zh'],
    ['zh-CN,zh;q=0.9,en;q=0.8', 'zh'],
    ['en-US,en;q=0.9,zh;q=0.8', 'en'],
    ['fr, zh;q=0.5', 'zh'],
    ['fr', 'en'],
    ['*', 'en'],
    ['en;q=0, *', 'zh'],
    ['zh;q=0', 'en'],
    ['en;q=0.5, zh;q=0.7', 'zh'],
    ['ZH-Hans', 'zh'],
    ['zhuang', 'en'],
    [',;q=,;;', 'en'],
  ];
  for (const [header, locale] of cases) {
    test(`${header} is ${locale}`, () => assert.equal(preferredLocale(header), locale));
  }
});

describe('api: Accept: application/x-ndjson on a list', () => {
  const offers = ['application/json', 'application/x-ndjson'] as const;
  const cases: [string | undefined, (typeof offers)[number]][] = [
    [undefined, 'application/json'],
    ['*/*', 'application/json'],
    ['application/*', 'application/json'],
    ['application/x-ndjson', 'application/x-ndjson'],
    ['Application/X-NDJSON; charset=utf-8', 'application/x-ndjson'],
    ['application/x-ndjson, */*', 'application/x-ndjson'],
    ['application/json, application/x-ndjson', 'application/json'],
    ['application/x-ndjson, application/json', 'application/x-ndjson'],
    ['application/json;q=0.5, application/x-ndjson', 'application/x-ndjson'],
    ['application/x-ndjson;q=0, */*', 'application/json'],
    ['text/html', 'application/json'],
  ];
  for (const [header, type] of cases) {
    test(`${header} is ${type}`, () => assert.equal(preferredType(header, offers), type));
  }
});

describe('objects: no or another Content-Type than JSON', () => {
  const cases: [string | undefined, string][] = [
    [undefined, ''],
    ['application/json', 'application/json'],
    ['Application/JSON ; charset="UTF-8"', 'application/json'],
    ['application/json;charset=utf8', 'application/json'],
    ['application/json; charset=latin1', ''],
    ['text/plain', 'text/plain'],
  ];
  for (const [header, type] of cases) test(`${header} is "${type}"`, () => assert.equal(mediaType(header), type));
});
