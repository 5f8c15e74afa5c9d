import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KindredError } from '../errors.ts';
import { checkEngine, parseManifest, satisfies } from './manifest.ts';

const parse = (content: unknown) => parseManifest(content, 'package.json');

describe('manifest', () => {
  it('plugins: reads name, displayName, version, dependencies, engine and enabled of package.json', () => {
    const manifest = parse({
      name: '@acme/library',
      version: '1.2.3',
      engines: { node: '>=24', kindred: '>=0.1.0' },
      exports: './index.js',
      kindred: { name: 'library', displayName: 'Library', dependencies: { people: '^2.0.0' }, enabled: false },
    });
    assert.deepEqual(manifest, {
      name: 'library',
      displayName: 'Library',
      version: '1.2.3',
      engine: '>=0.1.0',
      dependencies: { people: '^2.0.0' },
      enabled: false,
      packageName: '@acme/library',
      hasExports: true,
    });
  });

  it('plugins: without kindred.name the npm name in lower case, "@" dropped, other characters "-"', () => {
    assert.equal(parse({ name: '@Acme/my.Plugin_2', version: '1.0.0' }).name, 'acme-my-plugin-2');
    const { name, displayName, enabled, dependencies } = parse({ name: 'people' });
    assert.deepEqual(
      { name, displayName, enabled, dependencies },
      { name: 'people', displayName: 'people', enabled: true, dependencies: {} },
    );
  });

  const refused: { what: string; content: unknown; member: string }[] = [
    { what: 'no object', content: [], member: 'an object' },
    { what: 'no name', content: { version: '1.0.0' }, member: '"name"' },
    { what: 'a bad version', content: { name: 'a', version: 'one' }, member: '"version"' },
    {
      what: 'a member of another type',
      content: { name: 'a', kindred: { enabled: 'yes' } },
      member: 'kindred.enabled',
    },
    {
      what: 'a display name that is no text',
      content: { name: 'a', kindred: { displayName: 1 } },
      member: 'kindred.displayName',
    },
    {
      what: 'a bad range',
      content: { name: 'a', kindred: { dependencies: { b: 'latest' } } },
      member: 'kindred.dependencies.b',
    },
    { what: 'a bad engine', content: { name: 'a', engines: { kindred: '?' } }, member: 'engines.kindred' },
    { what: 'capitals', content: { name: 'a', kindred: { name: 'Library' } }, member: '"Library"' },
    { what: 'a hyphen at the end', content: { name: 'a-' }, member: '"a-"' },
    { what: '64 characters', content: { name: 'a'.repeat(64) }, member: 'at most 63' },
  ];
  for (const { what, content, member } of refused) {
    it(`plugins: a manifest with ${what} is refused, naming the file and the member`, () => {
      assert.throws(
        () => parse(content),
        (error) =>
          error instanceof KindredError &&
          error.code === 'InvalidPlugin' &&
          error.message.includes(member) &&
          error.message.includes('package.json'),
      );
    });
  }

  it('plugins: a name of 63 characters is accepted', () => {
    assert.equal(parse({ name: 'a'.repeat(63) }).name.length, 63);
  });

  it('plugins: engines.kindred is a range of versions of the service', () => {
    const manifest = parse({ name: 'a', engines: { kindred: '^2.0.0' } });
    checkEngine(manifest, '2.1.0');
    assert.throws(() => checkEngine(manifest, '1.9.0'), /needs Kindred \^2\.0\.0; this is 1\.9\.0/);
    assert.ok(satisfies('2.1.0-beta.1', '^2.0.0'));
  });
});
