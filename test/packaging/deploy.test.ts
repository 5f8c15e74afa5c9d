/** The files that run the service elsewhere: valid for what reads them, with the version of this package and settings that exist. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { Ajv } from 'ajv';
import { validate } from 'dockerfile-utils';
import { parse, parseAllDocuments } from 'yaml';
import { applicationFiles } from '../../create-kindred/application.ts';
import { kindred } from '../cli/command.ts';

const deploy = resolve(import.meta.dirname, '../../deploy');
const text = (...path: string[]) => readFileSync(join(deploy, ...path), 'utf8');
const { version } = JSON.parse(text('..', 'package.json')) as { version: string };

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
}

/** @throws when an object is not what its API version says */
async function validObjects(yaml: string): Promise<string[]> {
  const kinds: string[] = [];
  for (const document of parseAllDocuments(yaml)) {
    const object = document.toJS() as Manifest;
    const models = (await import(`kubernetes-models/${object.apiVersion}`)) as Record<
      string,
      new (
        of: Manifest,
      ) => { validate(): void }
    >;
    new models[object.kind]!(object).validate();
    kinds.push(object.kind);
  }
  return kinds;
}

test('packaging: the manifests for Kubernetes are valid, and their image has the version of this package', async () => {
  assert.deepEqual(await validObjects(text('kubernetes/sqlite.yaml')), ['Service', 'StatefulSet', 'NetworkPolicy']);
  assert.deepEqual(await validObjects(text('kubernetes/postgres.yaml')), [
    'Service',
    'Deployment',
    'PodDisruptionBudget',
    'NetworkPolicy',
  ]);
  for (const file of ['sqlite.yaml', 'postgres.yaml']) {
    const images = text('kubernetes', file).match(/(?<=^ +)image: .*/gm);
    assert.deepEqual(images, [`image: kindred:${version}`]);
  }
  await assert.rejects(validObjects(text('kubernetes/sqlite.yaml').replace('replicas: 1', 'replicas: one')), /integer/);
});

test('packaging: the chart has the version of this package, and its values follow their schema', () => {
  const { version: ofChart, appVersion } = parse(text('helm/kindred/Chart.yaml')) as Record<string, string>;
  assert.deepEqual([ofChart, appVersion], [version, version]);
  const isValid = new Ajv({ allowUnionTypes: true }).compile(JSON.parse(text('helm/kindred/values.schema.json')));
  const values = parse(text('helm/kindred/values.yaml')) as { database: object };
  assert.ok(isValid(values), JSON.stringify(isValid.errors));
  assert.ok(!isValid({ ...values, database: { url: 'sqlite:./kindred.db' } }));
  // Every value is used, and every value that is used is there.
  const used = new Set<string>();
  for (const file of globSync('helm/kindred/templates/*', { cwd: deploy })) {
    for (const [, name] of text(file).matchAll(/\.Values\.(\w+)/g)) used.add(name!);
  }
  assert.deepEqual([...used].sort(), Object.keys(values).sort());
});

const dockerfiles = { 'deploy/Dockerfile': text('Dockerfile') };
for (const database of ['sqlite', 'postgres'] as const) {
  Object.assign(dockerfiles, {
    [`an application on ${database}`]: applicationFiles('shop', 'shop.example.com', database).Dockerfile,
  });
}
for (const [what, dockerfile] of Object.entries(dockerfiles)) {
  test(`packaging: the image of ${what} is well-formed and does not run as root`, () => {
    assert.deepEqual(validate(dockerfile), []);
    assert.equal(dockerfile.match(/^USER .*/gm)?.at(-1), 'USER node');
    assert.match(dockerfile, /^HEALTHCHECK .*\/livez/m);
  });
}

test('packaging: the settings that the files name exist', async () => {
  const { stdout } = await kindred(['serve', '--help']);
  const files = globSync('**/*', { cwd: deploy, withFileTypes: true }).filter((entry) => entry.isFile());
  const names = files.flatMap(
    (file) => readFileSync(join(file.parentPath, file.name), 'utf8').match(/KINDRED_[A-Z_]+/g) ?? [],
  );
  // Of the executable itself.
  const own = new Set([...names].filter((name) => name !== 'KINDRED_EXECUTABLE_CACHE'));
  assert.ok(own.size >= 3);
  for (const name of own) assert.ok(stdout.includes(`(${name}`), name);
});

const systemd = existsSync('/usr/bin/systemd-analyze') ? false : 'systemd is not on this machine';
test('packaging: systemd reads the unit, and finds its exposure low', { skip: systemd }, () => {
  const unit = join(deploy, 'systemd/kindred.service');
  const read = spawnSync('systemd-analyze', ['verify', unit], { encoding: 'utf8' });
  const complaints = read.stderr.split('\n').filter((line) => line.includes('kindred.service'));
  // The command is not installed here.
  assert.deepEqual(
    complaints.filter((line) => !line.includes('/usr/local/bin/kindred is not executable')),
    [],
  );
  const rated = spawnSync('systemd-analyze', ['security', '--offline=yes', '--threshold=20', unit]);
  assert.equal(rated.status, 0);
});
