/** What browsers can be made to send: pages of other origins, and names that lead to the own machine (docs/reference/permissions.md, `--insecure-no-auth`). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { GroupVersion, route } from '../../src/http/custom/declaration.ts';
import { definePlugin } from '../../src/plugin/plugin.ts';
import type { Api } from './harness.ts';
import { persons, withApi } from './harness.ts';

const touch = '/apis/api.demo.example.com/v1alpha1/things/-/touch';
let touched = 0;
const plugin = definePlugin({
  start: (context) =>
    context.registerEndpoint({
      groupVersion: () => GroupVersion.parse('api.demo.example.com/v1alpha1'),
      endpoint: () => {
        const count = () => ({ touched: ++touched });
        return route().POST('/things/-/touch', count).GET('/things/-/touch', count).build();
      },
    }),
});
const plugins = [{ name: 'things', plugin }];

interface Case {
  readonly name: string;
  readonly method?: string;
  readonly path?: string;
  /** Default the address of the service; null: none, in HTTP/1.0. */
  readonly host?: string | null;
  readonly headers?: readonly string[];
  readonly status: number;
}

/** Over a raw socket: `fetch` sets these headers itself. `PORT` stands for the port of the service. */
async function send(api: Api, { method = 'GET', path = persons, host, headers = [] }: Case): Promise<string> {
  const lines = [
    `${method} ${path} HTTP/1.${host === null ? 0 : 1}`,
    ...(host === null ? [] : [`Host: ${host ?? '127.0.0.1:PORT'}`]),
    ...headers,
    ...(method === 'POST' ? ['Content-Type: text/plain', 'Content-Length: 0'] : []),
    'Connection: close',
  ];
  return api.raw(`${lines.join('\r\n')}\r\n\r\n`.replaceAll('PORT', String(api.port)));
}

function runs(api: Api, cases: readonly Case[]): void {
  for (const one of cases) {
    test(`permissions: ${one.status}: ${one.name}`, async () => {
      const before = touched;
      const text = await send(api, one);
      assert.match(text, new RegExp(`^HTTP/1\\.1 ${one.status} `));
      if (one.status !== 403) return;
      assert.match(text, /Content-Type: application\/problem\+json\r\n[\s\S]*"code":"Forbidden"/);
      assert.doesNotMatch(text, /Access-Control/);
      assert.equal(touched, before, 'the request was served');
    });
  }
}

const foreign = 'Origin: http://evil.example';
const site = (value: string) => `Sec-Fetch-Site: ${value}`;

describe('without authentication', () => {
  runs(withApi({ plugins }), [
    { name: 'localhost', host: 'localhost:PORT', status: 200 },
    { name: 'localhost with another port, as behind a proxy', host: 'LocalHost:1', status: 200 },
    { name: 'localhost without a port', host: 'localhost', status: 200 },
    { name: 'the IPv6 loopback address', host: '[::1]:PORT', status: 200 },
    { name: 'no Host, which no browser sends', host: null, status: 200 },
    { name: 'another name', host: 'evil.example', status: 403 },
    { name: 'another name with the port', host: 'evil.example:PORT', status: 403 },
    { name: 'a name that begins as localhost does', host: 'localhost.evil.example', status: 403 },
    { name: 'a name that ends as localhost does', host: 'evil.localhost', status: 403 },
    { name: 'another address', host: '192.168.1.5:PORT', status: 403 },
    { name: 'an empty name', host: '', status: 403 },
    { name: 'a user name before the host', host: 'localhost@evil.example', status: 403 },
    { name: 'an absolute target counts, not the Host', path: `http://evil.example${persons}`, status: 403 },
    { name: 'an absolute target', path: `http://localhost${persons}`, host: 'evil.example', status: 200 },
    { name: 'health from another name', path: '/livez', host: 'evil.example', status: 403 },
    { name: 'readiness from another name', path: '/readyz', host: 'evil.example', status: 403 },
    { name: 'the API page from another name', path: '/swagger-ui.html', host: 'evil.example', status: 403 },

    { name: 'the own origin', headers: ['Origin: http://127.0.0.1:PORT', site('same-origin')], status: 200 },
    { name: 'the own origin behind TLS', headers: ['Origin: https://127.0.0.1:PORT'], status: 200 },
    { name: 'another origin', headers: [foreign], status: 403 },
    {
      name: 'another port of the own machine',
      headers: ['Origin: http://127.0.0.1:1', site('same-site')],
      status: 403,
    },
    { name: 'another name of the own machine', headers: ['Origin: http://localhost:PORT'], status: 403 },
    { name: 'an origin that begins as the own does', headers: ['Origin: http://127.0.0.1:PORT0'], status: 403 },
    { name: 'an opaque origin', headers: ['Origin: null'], status: 403 },
    { name: 'two origins', headers: ['Origin: http://127.0.0.1:PORT', foreign], status: 403 },
    { name: 'an origin without a Host', host: null, headers: ['Origin: http://127.0.0.1:PORT'], status: 403 },
    { name: 'a preflight', method: 'OPTIONS', headers: [foreign, 'Access-Control-Request-Method: PUT'], status: 403 },
    { name: 'a form to a custom route', method: 'POST', path: touch, headers: [foreign], status: 403 },
    { name: 'a custom route from the own origin', method: 'POST', path: touch, status: 200 },
    { name: 'an image from a custom route', path: touch, headers: [site('cross-site')], status: 403 },
    { name: 'a watch', path: `${persons}?watch=true`, headers: [foreign, 'Accept: text/event-stream'], status: 403 },

    { name: 'a link or an image elsewhere', headers: [site('cross-site')], status: 403 },
    { name: 'one on another port of the own machine', headers: [site('same-site')], status: 403 },
    { name: 'an address typed in', headers: [site('none')], status: 200 },
    { name: 'metrics from elsewhere', path: '/metrics', headers: [site('cross-site')], status: 403 },
    { name: 'a link to the API page', path: '/swagger-ui.html', headers: [site('cross-site')], status: 200 },
    { name: 'an asset of it', path: '/swagger-ui/page.js', headers: [site('cross-site')], status: 200 },
    { name: 'the API page with another origin', path: '/swagger-ui.html', headers: [foreign], status: 403 },
    {
      name: 'anything but reading it',
      method: 'POST',
      path: '/swagger-ui.html',
      headers: [site('cross-site')],
      status: 403,
    },
  ]);
});

describe('without authentication, with CORS and hosts', () => {
  const origin = 'https://console.example.com';
  const api = withApi({ plugins, cors: [origin], hosts: ['Atlas.test', 'fe80::1'] });
  const named = `Origin: ${origin}`;
  runs(api, [
    { name: 'an origin that CORS names', headers: [named, site('cross-site')], status: 200 },
    { name: 'a form of it', method: 'POST', path: touch, headers: [named], status: 200 },
    { name: 'its preflight', method: 'OPTIONS', headers: [named, 'Access-Control-Request-Method: PUT'], status: 204 },
    { name: 'another origin', headers: [foreign], status: 403 },
    { name: 'an opaque origin', headers: ['Origin: null'], status: 403 },
    { name: 'a link elsewhere: nobody says that it is from that origin', headers: [site('cross-site')], status: 403 },
    { name: 'a name of the option', host: 'atlas.test:PORT', status: 200 },
    { name: 'an IPv6 address of the option', host: '[fe80::1]:PORT', status: 200 },
    { name: 'the own origin under that name', host: 'atlas.test', headers: ['Origin: http://atlas.test'], status: 200 },
    { name: 'another name', host: 'evil.test', status: 403 },
  ]);
});

describe('without authentication, with CORS and hosts for all', () => {
  runs(withApi({ cors: ['*'], hosts: ['*'] }), [
    { name: 'any origin', headers: [foreign], status: 200 },
    { name: 'a link elsewhere', headers: [site('cross-site')], status: 200 },
    { name: 'any name', host: 'evil.example', status: 200 },
  ]);
});

describe('with authentication nobody is refused for this: browsers send no token by themselves', () => {
  runs(withApi({ auth: {} }), [
    { name: 'another name and origin', host: 'evil.example', headers: [foreign, site('cross-site')], status: 401 },
    { name: 'health', path: '/livez', host: 'evil.example', headers: [foreign], status: 200 },
  ]);
});
