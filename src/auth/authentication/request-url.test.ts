import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestUrl } from './request-url.ts';

for (const [target, host, url] of [
  ['/apis?a=b', 'example.com:8090', 'http://example.com:8090/apis?a=b'],
  ['/apis', undefined, 'http://localhost/apis'],
  ['/apis', 'a b', 'http://localhost/apis'],
  ['/apis', 'ada:secret@example.com', 'http://example.com/apis'],
  ['//', 'example.com', 'http://example.com//'],
  ['//elsewhere/x', 'example.com', 'http://example.com//elsewhere/x'],
  ['/\\', 'example.com', 'http://example.com//'],
  ['*', 'example.com', 'http://example.com/*'],
  ['http://ada:secret@other.example/x?y', 'example.com', 'http://other.example/x?y'],
  ['http://[/x', 'example.com', 'http://localhost/x'],
  ['http://other.example?y', 'example.com', 'http://other.example/?y'],
] as const) {
  test(`custom-routes: the target ${target} sent to ${host ?? 'no host'} is the URL ${url}`, () => {
    assert.equal(requestUrl(target, host).href, url);
  });
}
