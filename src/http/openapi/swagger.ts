/**
 * The page `/swagger-ui.html` and its assets, all from the package `swagger-ui-dist` (docs/reference/api-description.md): its files are copied
 * into ours when it is built, so that our users install nothing that runs scripts at installation.
 * They hold no data and are for everybody; the page uses the session of the browser. Without one it asks for a token when
 * the service wants one, keeps it as long as the tab is open and sends it with every request to this service, those for
 * the documents too.
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
      <p>
        This service answers with an access token only: the administrator token that its first start printed, or one that
        <code>kindred token create --user NAME</code> makes. The page keeps it until the tab is closed.
      </p>
      <label for="token">Token</label>
      <input id="token" type="password" autocomplete="off" spellcheck="false" required>
      <button type="submit">Load the API description</button>
      <output id="refused" for="token"></output>
    </form>
    <button id="forget" type="button" hidden>Forget the token</button>
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
#login p { flex-basis: 100%; max-width: 44rem; margin: 0; }
#forget { position: absolute; right: 1rem; top: 4.5rem; z-index: 1; padding: 0.3rem 0.7rem; font: 0.875rem sans-serif; }
.swagger-ui .opblock-tag, .swagger-ui .opblock-summary-path, .swagger-ui .info .title { overflow-wrap: anywhere; }
.swagger-ui .opblock-tag { flex-wrap: wrap; }
@media (max-width: 640px) {
  .swagger-ui .opblock-tag small, .swagger-ui .opblock .opblock-summary-path { padding: 0; max-width: 100%; }
  .swagger-ui .wrapper, .swagger-ui .information-container { padding: 0 0.75rem; box-sizing: border-box; }
  .swagger-ui .opblock .opblock-summary { flex-wrap: wrap; }
  .swagger-ui .response-col_links { display: none; }
  .swagger-ui .opblock-body { overflow-x: auto; }
  .swagger-ui .topbar-wrapper, .swagger-ui .topbar .download-url-wrapper { flex-wrap: wrap; max-width: 100%; }
}
#token { width: 24rem; max-width: 100%; padding: 0.4rem 0.6rem; font: inherit; }
#login button { padding: 0.4rem 0.9rem; font: inherit; }
#refused { color: #b00020; }
`;

const pageScript = `'use strict';
const kept = 'kindred-token';
let token = sessionStorage.getItem(kept) ?? '';
const login = document.getElementById('login');
const field = document.getElementById('token');
const refused = document.getElementById('refused');
const forget = document.getElementById('forget');

function authorised(request) {
  const named = Object.keys(request.headers ?? {}).some((name) => name.toLowerCase() === 'authorization');
  if (!named && new URL(request.url, location.href).origin === location.origin) {
    // Without a token the session of the browser counts, for writes with this header only.
    const shown = token ? { Authorization: 'Bearer ' + token } : { 'Kindred-Console': '1' };
    request.headers = { ...request.headers, ...shown };
  }
  return request;
}

async function load() {
  const request = authorised({ url: '/v3/api-docs', headers: { Accept: 'application/json' } });
  const answer = await fetch(request.url, { headers: request.headers });
  if (!answer.ok) {
    if (answer.status === 401) sessionStorage.removeItem(kept);
    const problem = await answer.json().catch(() => ({}));
    refused.value = token || answer.status !== 401 ? (problem.detail ?? 'HTTP ' + answer.status) : '';
    login.hidden = false;
    field.focus();
    return;
  }
  login.hidden = true;
  if (token) sessionStorage.setItem(kept, token);
  forget.hidden = !token;
  const { groups } = await answer.json();
  const ui = SwaggerUIBundle({
    dom_id: '#swagger-ui',
    urls: groups.map(({ displayName, url }) => ({ name: displayName, url })),
    presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
    layout: 'StandaloneLayout',
    deepLinking: true,
    docExpansion: 'none',
    validatorUrl: null,
    requestInterceptor: authorised,
    // The locks of the operations are closed with the token that is sent anyway.
    onComplete: () => {
      if (token) ui.preauthorizeApiKey('bearer', token);
    },
  });
}
forget.addEventListener('click', () => {
  sessionStorage.removeItem(kept);
  location.reload();
});

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
