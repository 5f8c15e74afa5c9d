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

const gopath = '/usr/share/gocode';
const sprig = existsSync(join(gopath, 'src/github.com/Masterminds/sprig'))
  ? false
  : 'NO CHART: Go and sprig are missing (Debian: apt-get install golang-go golang-github-masterminds-sprig-dev golang-gopkg-yaml.v3-dev)';
const renderings: { what: string; values: object; kinds: string[]; has: RegExp[] }[] = [
  {
    what: 'as it is',
    values: {},
    kinds: ['Service', 'NetworkPolicy', 'Secret', 'StatefulSet'],
    has: [
      /replicas: 1$/m,
      /storage: 10Gi$/m,
      /kindred\.yaml: \|\n {4}\{\}$/m,
      /secretName: shop-kindred$/m,
      /scheme: HTTP$/m,
    ],
  },
  {
    what: 'with the URL of a database',
    values: { database: { url: 'postgres://a:b@db/kindred' }, replicas: 5, networkPolicy: { enabled: false } },
    kinds: ['Service', 'Secret', 'Secret', 'Deployment', 'PodDisruptionBudget'],
    has: [
      /replicas: 5$/m,
      /url: "postgres:\/\/a:b@db\/kindred"$/m,
      /name: shop-kindred-database$/m,
      /checksum\/database: cb0bc80f/m,
      /preStop:$/m,
    ],
  },
  {
    what: 'with everything',
    values: {
      database: { existingSecret: 'given' },
      image: { tag: '1.2.3', pullPolicy: 'Always' },
      imagePullSecrets: [{ name: 'registry' }],
      settings: { list: { maxSize: 500 }, cors: ['https://app.example.com'], port: 8443, tls: { cert: 'a', key: 'b' } },
      networkPolicy: { from: [{ namespaceSelector: { matchLabels: { app: 'shop' } } }] },
      extraEnv: [{ name: 'KINDRED_LOG_LEVEL', value: 'debug' }],
      extraVolumes: [{ name: 'tls', secret: { secretName: 'shop-tls' } }],
      extraVolumeMounts: [{ name: 'tls', mountPath: '/etc/tls', readOnly: true }],
      podAnnotations: { 'prometheus.io/scrape': 'true' },
      nodeSelector: { disk: 'fast' },
      tolerations: [{ key: 'shop', operator: 'Exists' }],
      affinity: { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
    },
    kinds: ['Service', 'NetworkPolicy', 'Secret', 'Deployment', 'PodDisruptionBudget'],
    has: [
      /image: "kindred:1\.2\.3"$/m,
      /name: given$/m,
      /maxSize: 500$/m,
      /disk: fast$/m,
      /containerPort: 8443$/m,
      /(scheme: HTTPS\n[\s\S]*){3}/,
      /env:\n +- name: KINDRED_DATABASE\n[\s\S]*- name: KINDRED_LOG_LEVEL\n +value: debug$/m,
      /mountPath: \/etc\/tls$/m,
      /secretName: shop-tls$/m,
    ],
  },
];
for (const { what, values, kinds, has } of renderings) {
  test(`packaging: the chart, ${what}, renders to valid objects whose selectors find their pods`, {
    skip: sprig,
  }, async () => {
    const presets = parse(text('helm/kindred/values.yaml')) as Record<string, unknown>;
    const merged = Object.fromEntries(
      Object.entries({ ...presets, ...values }).map(([name, value]) => {
        const preset = presets[name];
        const isMap = [preset, value].every((one) => typeof one === 'object' && one !== null && !Array.isArray(one));
        return [name, isMap ? { ...(preset as object), ...(value as object) } : value];
      }),
    );
    const {
      name: Name,
      version: Version,
      appVersion: AppVersion,
    } = parse(text('helm/kindred/Chart.yaml')) as Record<string, string>;
    const input = {
      Values: merged,
      Release: { Name: 'shop', Namespace: 'shop', Service: 'Helm' },
      Chart: { Name, Version, AppVersion },
    };
    const program = join(import.meta.dirname, 'chart/render.go');
    const { stdout, stderr, status } = spawnSync('go', ['run', program, join(deploy, 'helm/kindred/templates')], {
      input: JSON.stringify(input),
      encoding: 'utf8',
      env: { ...process.env, GO111MODULE: 'off', GOPATH: gopath },
    });
    assert.equal(status, 0, stderr);
    assert.deepEqual((await validObjects(stdout)).sort(), [...kinds].sort());
    for (const wanted of has) assert.match(stdout, wanted);
    const objects = parseAllDocuments(stdout).map((document) => document.toJS() as any);
    const labels = objects.find(({ spec }) => spec?.template)!.spec.template.metadata.labels as Record<string, string>;
    const selectors = objects.flatMap(({ kind, spec }) =>
      kind === 'Service'
        ? [spec.selector]
        : [spec?.selector, spec?.podSelector].flatMap((one) => one?.matchLabels ?? []),
    );
    assert.ok(selectors.length >= 2);
    for (const [key, value] of selectors.flatMap((one) => Object.entries(one))) assert.equal(labels[key], value, key);
  });
}

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

  test(`packaging: the image of ${what} has the settings that keep memory small`, () => {
    const [unit] = /(?<=^Environment=)MALLOC_.*/m.exec(text('systemd/kindred.service'))!;
    for (const setting of [...unit.split(' '), '"--max-semi-space-size=8"'])
      assert.ok(dockerfile.includes(setting), setting);
  });
}

test('packaging: a config file can name the database: no variable does, and SQLite has its file where it is kept', () => {
  const image = text('Dockerfile');
  const unit = text('systemd/kindred.service');
  assert.doesNotMatch(image + unit, /KINDRED_DATABASE=/);
  assert.equal(image.match(/^WORKDIR .*/gm)?.at(-1), 'WORKDIR /data');
  assert.match(unit, /^WorkingDirectory=\/var\/lib\/kindred$/m);
});

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
