/** However a path is spelled, it tells nobody more than they may know (docs/reference/permissions.md), and names one thing (section 3). */
import assert from 'node:assert/strict';
import { Agent, request as httpRequest } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { check, withApi } from './harness.ts';

const methods = [
  ...['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'PROPPATCH', 'MKCOL', 'COPY'],
  ...['MOVE', 'LOCK', 'UNLOCK', 'SEARCH', 'REPORT', 'PURGE'],
];

/** Spellings of the path of one Secret; most are no path of it at all. */
const spellings: readonly ((name: string) => string)[] = [
  (name) => `/api/v1alpha1/secrets/${name}`,
  (name) => `/api/v1alpha1/secrets/${name}/`,
  (name) => `/api/v1alpha1/secrets/${name}/status`,
  (name) => `/api/v1alpha1/secrets/${name}?watch=true`,
  (name) => `/api/v1alpha1/secrets?fieldSelector=name=${name}`,
  (name) => `/api/v1alpha1/secrets/-/${name}`,
  (name) => `/api/v1alpha1/secrets%2F${name}`,
  (name) => `/api/v1alpha1/%73ecrets/${name}`,
  (name) => `/api/v1alpha1/secrets/${name.replace('a', '%61')}`,
  (name) => `/api/v1alpha1/secrets/${name}%00`,
  (name) => `/api/v1alpha1/secrets/${name};x=1`,
  (name) => `/api/v1alpha1/secrets/${name.toUpperCase()}`,
  (name) => `/api/v1alpha1/secrets/./${name}`,
  (name) => `/api/v1alpha1/secrets/x/../${name}`,
  (name) => `/api/v1alpha1/secrets/x/%2e%2e/${name}`,
  (name) => `/api/v1alpha1/../v1alpha1/secrets/${name}`,
  (name) => `/api/v1alpha1//secrets/${name}`,
  (name) => `/api//v1alpha1/secrets/${name}`,
  (name) => `//api/v1alpha1/secrets/${name}`,
  (name) => `/api/V1ALPHA1/secrets/${name}`,
  (name) => `/API/v1alpha1/secrets/${name}`,
  (name) => `/apis//v1alpha1/secrets/${name}`,
  (name) => `/apis/%20/v1alpha1/secrets/${name}`,
  (name) => `/apis/v1alpha1/secrets/${name}`,
  (name) => `http://localhost/api/v1alpha1/secrets/${name}`,
  (name) => `/livez/../api/v1alpha1/secrets/${name}`,
  (name) => `/swagger-ui.html/../api/v1alpha1/secrets/${name}`,
];

interface Answer {
  readonly status: number;
  readonly text: string;
}

describe('spellings of a path', () => {
  const api = withApi({ auth: {} });
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  const value = Buffer.from('the value of the secret').toString('base64');
  let nobody: Readonly<Record<string, string>>;
  const admin = () => ({ authorization: `Bearer ${api.token}` });

  before(async () => {
    const create = (plural: string, body: object) =>
      api.send({ path: `/api/v1alpha1/${plural}`, headers: admin(), body });
    check(await create('secrets', { metadata: { name: 'adept' }, data: { key: value } }), { status: 201 });
    check(await create('users', { metadata: { name: 'nobody' }, spec: {} }), { status: 201 });
    const token = await create('personalaccesstokens', { metadata: { name: 'nobody' }, spec: { user: 'nobody' } });
    nobody = { authorization: `Bearer ${token.json.status.token}` };
  });
  after(() => agent.destroy());

  /** As it is: `fetch` would tidy the path. */
  function ask(method: string, path: string, headers: Readonly<Record<string, string>>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const request = httpRequest({ port: api.port, host: '127.0.0.1', method, path, headers, agent }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode!, text }));
      });
      request.on('error', reject).end();
    });
  }

  const callers = [
    { who: 'without a token', headers: () => ({}), expected: [401] },
    { who: 'without a role', headers: () => nobody, expected: [403, 404, 405] },
  ];
  for (const { who, headers, expected } of callers) {
    for (const spelling of spellings) {
      test(`permissions: ${who}, an existing and an absent object are the same: ${spelling('adept')}`, async () => {
        const asked = methods.map(async (method) => {
          const [there, absent] = await Promise.all(
            ['adept', 'amigo'].map((name) => ask(method, spelling(name), headers())),
          );
          const about = `${method} ${there!.status} ${there!.text}`;
          assert.ok(expected.includes(there!.status), about);
          assert.ok(!there!.text.includes(value) && !there!.text.includes('the value'), about);
          assert.deepEqual(plain(there!, 'adept'), plain(absent!, 'amigo'), method);
        });
        await Promise.all(asked);
      });
    }
  }

  test('api: an empty group segment is no group', async () => {
    for (const path of [
      '/apis//v1alpha1/users',
      '/apis//v1alpha1/users/admin',
      '/apis//%761alpha1/users',
      '/apis//v1alpha1',
    ]) {
      for (const method of ['GET', 'POST', 'DELETE']) {
        const { status, text } = await ask(method, path, admin());
        assert.equal(status, 404, `${method} ${path}: ${text}`);
      }
    }
    assert.equal((await ask('GET', '/api/v1alpha1/users', admin())).status, 200);
    assert.equal((await ask('GET', '/%61pi/v1alpha1/users', admin())).status, 404);
    assert.equal((await ask('GET', '/api/v1alpha1/%75sers', admin())).status, 200);
  });

  test('permissions: rights to a model of the empty group are none to its other spelling', async () => {
    const { text } = await ask('GET', '/apis//v1alpha1/users', nobody);
    assert.match(JSON.parse(text).detail, /\/apis\/\/v1alpha1\/users/);
  });
});

/** Without what is another for each request, and without the name. */
function plain({ status, text }: Answer, name: string): unknown {
  if (text === '') return { status };
  const { requestId: _id, timestamp: _time, ...problem } = JSON.parse(text) as Record<string, unknown>;
  const spelled = [name, name.toUpperCase(), name.replace('a', '%61')];
  return spelled.reduce((all, one) => all.replaceAll(one, 'NAME'), JSON.stringify(problem));
}
