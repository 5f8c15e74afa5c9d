import assert from 'node:assert/strict';
import { test } from 'node:test';
import { webPage } from './console.ts';

test('command-line: only pages of the web are opened, whatever the service answers', () => {
  const link = 'https://kindred.example.com/console/#code=AAAA';
  assert.equal(webPage(link), link);
  assert.equal(webPage('http://127.0.0.1:8090/console/'), 'http://127.0.0.1:8090/console/');
  for (const other of ['file:///etc/passwd', 'vscode://x', 'javascript:1', '--help', 'C:\\a.exe', '/bin/sh', ''])
    assert.equal(webPage(other), undefined, other);
});
