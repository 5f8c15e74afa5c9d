import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { deployFiles, packageFiles, released, withImage, withVersion } from './release.ts';

const { version } = JSON.parse(readFileSync(resolve(import.meta.dirname, '../package.json'), 'utf8')) as {
  version: string;
};

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

for (const [change, files] of [
  [withVersion, packageFiles],
  [withImage, deployFiles],
] as const) {
  for (const file of files) {
    test(`the version changes in ${file}, and nothing else does`, () => {
      const text = readFileSync(resolve(import.meta.dirname, '..', file), 'utf8');
      const changed = change(text, '9.9.9');
      assert.match(changed, /9\.9\.9/);
      assert.equal(change(changed, version), text);
    });
  }
}
