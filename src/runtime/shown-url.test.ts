import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shownUrl } from './shown-url.ts';

const urls: [string, string][] = [
  ['sqlite:./kindred.db', 'sqlite:./kindred.db'],
  ['postgres://me:secret@db.example.com/x', 'postgres://me:…@db.example.com/x'],
  ['postgres://:secret@db.example.com/x', 'postgres://:…@db.example.com/x'],
  ['mysql://me:s@cret@db.example.com:3306/x', 'mysql://me:…@db.example.com:3306/x'],
  ['mysql://me:sec:ret/@db.example.com/x', 'mysql://me:…@db.example.com/x'],
  ['postgres://db.example.com/x?user=me&password=secret&ssl=1', 'postgres://db.example.com/x?user=me&password=…&ssl=1'],
  ['postgres://me@db.example.com:5432/x?sslpassword=secret', 'postgres://me@db.example.com:5432/x?sslpassword=…'],
];
for (const [url, shown] of urls) {
  test(`command-line: a database URL is shown without its password - ${shown}`, () => {
    assert.equal(shownUrl(url), shown);
  });
}
