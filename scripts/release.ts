// Makes a release commit and its tag: `npm run release -- 0.2.0`. It moves what CHANGELOG.md has under "Unreleased" to a dated
// section, sets the version of the packages, of the chart and of the images in the manifests, commits and tags. Nothing is
// pushed or published.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { compare, valid } from 'semver';

/** Files with the version of the packages, and with that of the chart or the image. */
export const packageFiles = ['package.json', 'package-lock.json', 'create-kindred/package.json'];
export const deployFiles = [
  'deploy/helm/kindred/Chart.yaml',
  'deploy/kubernetes/sqlite.yaml',
  'deploy/kubernetes/postgres.yaml',
];

const heading = '## [Unreleased]\n';

/**
 * The change log with a section for the version.
 * @param day `2026-11-22`
 * @throws Error when the log has no section "Unreleased", or nothing in it
 */
export function released(changelog: string, version: string, day: string): string {
  const start = changelog.indexOf(heading);
  if (start < 0) throw new Error('CHANGELOG.md has no section "Unreleased"');
  const after = start + heading.length;
  const next = changelog.indexOf('\n## [', after);
  const changes = changelog.slice(after, next < 0 ? undefined : next).trim();
  if (changes === '') throw new Error('CHANGELOG.md has nothing under "Unreleased"');
  return `${changelog.slice(0, after)}\n## [${version}] - ${day}\n\n${changes}\n${next < 0 ? '' : changelog.slice(next)}`;
}

/** JSON text with another version: of the package itself, in a lock file in every place that names one of the packages. */
export function withVersion(json: string, version: string): string {
  const value = JSON.parse(json) as { version: string; packages?: Record<string, { version?: string }> };
  value.version = version;
  for (const name of ['', 'create-kindred']) {
    const own = value.packages?.[name];
    if (own) own.version = version;
  }
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

/** YAML text of `deploy/` with another version: of the chart, or of the image. */
export function withImage(yaml: string, version: string): string {
  return yaml.replace(/^((?:app)?[vV]ersion: | +image: kindred:)\d.*$/gm, `$1${version}`);
}

if (import.meta.main) {
  const root = resolve(import.meta.dirname, '..');
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
  const edit = (file: string, change: (text: string) => string) => {
    const path = resolve(root, file);
    writeFileSync(path, change(readFileSync(path, 'utf8')));
  };
  try {
    const version = valid(process.argv[2]);
    if (!version) throw new Error('give the version, such as: npm run release -- 0.2.0');
    const current = (JSON.parse(readFileSync(resolve(root, 'package.json'), 'utf8')) as { version: string }).version;
    if (compare(version, current) <= 0)
      throw new Error(`${version} is not greater than the current version ${current}`);
    if (git('status', '--porcelain') !== '') throw new Error('commit or stash your changes first');
    if (git('branch', '--show-current') !== 'main') throw new Error('releases are made on the branch main');
    edit('CHANGELOG.md', (text) => released(text, version, new Date().toISOString().slice(0, 10)));
    for (const file of packageFiles) edit(file, (text) => withVersion(text, version));
    for (const file of deployFiles) edit(file, (text) => withImage(text, version));
    git('commit', '--quiet', '--all', '--message', `release: ${version}`);
    git('tag', '--annotate', `v${version}`, '--message', `Kindred ${version}`);
    console.log(
      `committed and tagged v${version}; check it, then: git push --follow-tags && npm publish --workspace create-kindred --include-workspace-root`,
    );
  } catch (error) {
    console.error(`release: ${(error as Error).message}`);
    process.exitCode = 1;
  }
}
