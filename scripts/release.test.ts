import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { released, withVersion } from './release.ts';

test('a release moves the changes to a dated section and leaves the older ones', () => {
  const log = '# Changelog\n\n## [Unreleased]\n\n### Added\n\n- One.\n\n## [0.1.0] - 2026-01-02\n\n- Zero.\n';
  assert.equal(
    released(log, '0.2.0', '2026-11-22'),
    '# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2026-11-22\n\n### Added\n\n- One.\n\n## [0.1.0] - 2026-01-02\n\n- Zero.\n',
  );
});

test('nothing to release is an error', () => {
  assert.throws(
    () => released('# Changelog\n\n## [Unreleased]\n\n## [0.1.0] - 2026-01-02\n', '0.2.0', ''),
    /nothing under/,
  );
  assert.throws(() => released('# Changelog\n', '0.2.0', ''), /no section/);
});

test('the version changes in the package and in its lock file, and nothing else does', () => {
  for (const file of ['package.json', 'package-lock.json']) {
    const text = readFileSync(resolve(import.meta.dirname, '..', file), 'utf8');
    const { version } = JSON.parse(text) as { version: string };
    assert.equal(withVersion(withVersion(text, '9.9.9'), version), text);
    assert.notEqual(withVersion(text, '9.9.9'), text);
  }
});
