/**
 * The page `/swagger-ui.html` and its assets, all from the package `swagger-ui-dist` (contract section 11): its files are copied
 * into ours when it is built, so that our users install nothing that runs scripts at installation.
 * They hold no data and are for everybody; the page asks for a token when the service wants one, keeps it in memory and
 * sends it with every request to this service, those for the documents too.
 */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';

export interface SwaggerFile {
  readonly body: Buffer;
  /** Names in lower case: `content-type`, `etag`, `cache-control` and, with the page, `content-security-policy`. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Of the one style element in swagger-ui-dist 5.35: the colours of its logo. */
const logoStyle = "'sha256-RL3ie0nH+Lzz2YNqQN83mnU0J1ot4QL7b99vMdIX99w='";

const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  `style-src 'self' ${logoStyle}`,
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Kindred API</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="/swagger-ui/swagger-ui.css">
    <link rel="stylesheet" href="/swagger-ui/page.css">
  </head>
  <body>
    <form id="login" hidden>
      <label for="token">Token</label>
      <input id="token" type="password" autocomplete="off" spellcheck="false" required>
      <button type="submit">Load the API description</button>
      <output id="refused" for="token"></output>
    </form>
    <div id="swagger-ui"></div>
    <script src="/swagger-ui/swagger-ui-bundle.js"></script>
    <script src="/swagger-ui/swagger-ui-standalone-preset.js"></script>
    <script src="/swagger-ui/page.js"></script>
  </body>
</html>
`;

/** Sources read the development dependency, the built package its own copy. */
function assetOf(name: string): string {
  const isSource = import.meta.url.endsWith('.ts');
  return isSource
    ? import.meta.resolve(`swagger-ui-dist/${name}`)
    : new URL(`swagger-ui/${name}`, import.meta.url).href;
}

const pageStyle = `body { margin: 0; }
[hidden] { display: none !important; }
#login { display: flex; flex-wrap: wrap; gap: 0.75rem; align-items: center; padding: 1.5rem; font: 1rem/1.4 sans-serif; }
#token { width: 24rem; max-width: 100%; padding: 0.4rem 0.6rem; font: inherit; }
#login button { padding: 0.4rem 0.9rem; font: inherit; }
#refused { color: #b00020; }
`;

const pageScript = `'use strict';
let token = '';
const login = document.getElementById('login');
const field = document.getElementById('token');
const refused = document.getElementById('refused');

function authorised(request) {
  const named = Object.keys(request.headers ?? {}).some((name) => name.toLowerCase() === 'authorization');
  if (token && !named && new URL(request.url, location.href).origin === location.origin) {
    request.headers = { ...request.headers, Authorization: 'Bearer ' + token };
  }
  return request;
}

async function load() {
  const request = authorised({ url: '/v3/api-docs', headers: { Accept: 'application/json' } });
  const answer = await fetch(request.url, { headers: request.headers });
  if (!answer.ok) {
    const problem = await answer.json().catch(() => ({}));
    refused.value = token || answer.status !== 401 ? (problem.detail ?? 'HTTP ' + answer.status) : '';
    login.hidden = false;
    field.focus();
    return;
  }
  login.hidden = true;
  const { groups } = await answer.json();
  SwaggerUIBundle({
    dom_id: '#swagger-ui',
    urls: groups.map(({ displayName, url }) => ({ name: displayName, url })),
    presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
    layout: 'StandaloneLayout',
    deepLinking: true,
    docExpansion: 'none',
    validatorUrl: null,
    requestInterceptor: authorised,
  });
}

login.addEventListener('submit', (event) => {
  event.preventDefault();
  token = field.value.trim();
  load();
});
load();
`;

const packageFiles: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'swagger-ui-standalone-preset.js': 'text/javascript; charset=utf-8',
};

const ownFiles = ['/swagger-ui.html', '/swagger-ui/page.css', '/swagger-ui/page.js'];

/** Whether `swaggerFile` has something for the path. */
export function isSwaggerPath(path: string): boolean {
  return ownFiles.includes(path) || packageFile(path) !== undefined;
}

/** The page or an asset of it (`/swagger-ui.html`, `/swagger-ui/<file>`), undefined for any other path. */
export async function swaggerFile(path: string): Promise<SwaggerFile | undefined> {
  if (path === '/swagger-ui.html') {
    const own = { 'content-security-policy': contentSecurityPolicy, 'referrer-policy': 'no-referrer' };
    return file(Buffer.from(page), 'text/html; charset=utf-8', own);
  }
  if (path === '/swagger-ui/page.css') return file(Buffer.from(pageStyle), 'text/css; charset=utf-8');
  if (path === '/swagger-ui/page.js') return file(Buffer.from(pageScript), 'text/javascript; charset=utf-8');
  const name = packageFile(path);
  return name === undefined ? undefined : file(await readFile(new URL(assetOf(name))), packageFiles[name]!);
}

function packageFile(path: string): string | undefined {
  const name = path.startsWith('/swagger-ui/') ? path.slice('/swagger-ui/'.length) : '';
  return Object.hasOwn(packageFiles, name) ? name : undefined;
}

function file(body: Buffer, type: string, own: Record<string, string> = {}): SwaggerFile {
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
  return {
    body,
    headers: { 'content-type': type, 'cache-control': 'no-cache', etag, ...own },
  };
}
