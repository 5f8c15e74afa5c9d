/** The service over https, and the kubeconfig that leads to it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { get as getPlain } from 'node:http';
import { Agent, request } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import type { Service } from 'kindred';
import { createService } from 'kindred';
import { parse } from 'yaml';
import { kindred } from '../cli/command.ts';

const folder = mkdtempSync(join(tmpdir(), 'kindred-https-'));
after(() => rmSync(folder, { recursive: true }));
const files = { cert: join(folder, 'tls.crt'), key: join(folder, 'tls.key') };
const made = spawnSync(
  'openssl',
  [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
    ...['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,DNS:kindred.example.com,IP:127.0.0.1'],
    ...['-keyout', files.key, '-out', files.cert],
  ],
  { encoding: 'utf8' },
);
const skip = made.error ? 'openssl, which makes certificates, is not here' : false;

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

describe('https', { skip }, () => {
  let service: Service;
  let url: string;
  let token: string;
  const agent = new Agent({ keepAlive: true });

  before(async () => {
    service = await createService({ database: 'sqlite::memory:', port: 0, tls: files });
    const started = await service.start();
    [url, token] = [started.url, started.administratorToken!];
  });
  after(() => {
    agent.destroy();
    return service.stop();
  });

  function send(path: string, options: { method?: string; headers?: Record<string, string>; body?: string } = {}) {
    return new Promise<Answer>((resolve, reject) => {
      const { body, ...rest } = options;
      const sent = request(url + path, { ...rest, agent, ca: readFileSync(files.cert) }, async (response) => {
        resolve({ status: response.statusCode!, headers: response.headers, body: await text(response) });
      });
      sent.on('error', reject).end(body);
    });
  }

  test('the service tells its address with https, and answers there with its certificate', async () => {
    assert.match(url, /^https:\/\/127\.0\.0\.1:\d+$/);
    assert.deepEqual((await send('/livez')).status, 200);
    const list = await send('/api/v1alpha1/users', { headers: { authorization: `Bearer ${token}` } });
    assert.equal(list.status, 200);
    assert.ok(list.body.includes('"total":1'));
    assert.equal((await send('/api/v1alpha1/users')).status, 401);
  });

  test('a browser may sign in under any name, with a cookie that goes over https alone', async () => {
    const headers = { 'content-type': 'application/json', host: 'kindred.example.com' };
    const { status, headers: answered } = await send('/v3/session', {
      method: 'POST',
      headers,
      body: JSON.stringify({ token }),
    });
    assert.equal(status, 201);
    assert.match(String(answered['set-cookie']), /^__Host-kindred=.*; Secure/);
    const codes = await send('/v3/session/codes', { method: 'POST', headers: { authorization: `Bearer ${token}` } });
    assert.equal(new URL(JSON.parse(codes.body).url).protocol, 'https:');
  });

  test('malformed requests and plain http are no danger, and a connection that says nothing holds up no stop', async () => {
    const plain = await new Promise((resolve) => {
      getPlain(url.replace('https', 'http'), () => resolve('answered')).on('error', () => resolve('cut'));
    });
    assert.equal(plain, 'cut');
    assert.equal((await send('/livez')).status, 200);
    const other = await createService({ database: 'sqlite::memory:', port: 0, tls: files, http: { stopTimeout: 200 } });
    const { port } = new URL((await other.start()).url);
    const socket = connect(Number(port), '127.0.0.1');
    await new Promise((resolve) => socket.once('connect', resolve));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    await other.stop();
    await closed;
  });

  test('one of the two files alone is refused, and so is one that is not there, before a database is made', async () => {
    const database = `sqlite:${join(folder, 'none.db')}`;
    await assert.rejects(
      createService({ database, tls: { cert: files.cert } as never }),
      /"tls\.cert" needs "tls\.key"/,
    );
    await assert.rejects(
      createService({ database, tls: { ...files, key: join(folder, 'none') } }),
      /none \(tls\.key\)/,
    );
    assert.equal(statSync(join(folder, 'none.db'), { throwIfNoEntry: false }), undefined);
  });

  test('kubeconfig: address, certificate and token, in a file for its owner alone', async () => {
    const file = join(folder, 'kubeconfig');
    const flags = [
      '--server',
      `${url}/`,
      '--token',
      token,
      '--ca',
      files.cert,
      '--namespace',
      'team',
      '--name',
      'here',
    ];
    const outcome = await kindred(['kubeconfig', ...flags, '-o', file]);
    assert.deepEqual(outcome, { code: 0, stdout: '', stderr: '' });
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.deepEqual(parse(readFileSync(file, 'utf8')), {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        {
          name: 'here',
          cluster: {
            server: `${url}/kube`,
            'certificate-authority-data': readFileSync(files.cert).toString('base64'),
          },
        },
      ],
      users: [{ name: 'here', user: { token } }],
      contexts: [{ name: 'here', context: { cluster: 'here', user: 'here', namespace: 'team' } }],
      'current-context': 'here',
    });
  });
});

test('kubeconfig: over plain http it says what kubectl does not send', async () => {
  const { stdout, stderr } = await kindred(['kubeconfig', '--server', 'http://localhost:8090', '--token', 't']);
  const { clusters, 'current-context': current } = parse(stdout);
  assert.deepEqual(clusters[0].cluster, { server: 'http://localhost:8090/kube', 'insecure-skip-tls-verify': true });
  assert.equal(current, 'localhost:8090');
  assert.match(stderr, /kubectl sends no token over plain http/);
  assert.equal((await kindred(['kubeconfig', '--server', 'http://localhost:8090'])).stderr, '');
});

test('kubeconfig: what cannot be is refused', async () => {
  const refused = async (...flags: string[]) => {
    const { code, stderr } = await kindred(['kubeconfig', ...flags]);
    return [code, stderr];
  };
  const https = ['--server', 'https://kindred.example.com'];
  for (const [flags, says] of [
    [[...https, '--ca', 'x', '--insecure-skip-tls-verify'], /do not go together/],
    [['--server', 'http://localhost', '--ca', 'x'], /--ca is for https/],
    [[...https, '--ca', join(folder, 'none')], /cannot be read/],
    [[...https, '--ca', import.meta.filename], /has no certificate in PEM/],
    [['--server', 'localhost:8090'], /--server needs a URL/],
  ] as const) {
    const [code, stderr] = await refused(...flags);
    assert.equal(code, 2);
    assert.match(String(stderr), says);
  }
});
