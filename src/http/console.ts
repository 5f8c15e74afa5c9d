/**
 * The web page below `/console/` and its files, which `npm run build` puts into `dist/console/` with a list of them, each text
 * compressed too. They hold no data and are for everybody. A path below that is no file is the page, which finds its way by
 * the address; only a file that its own name tells the content of is kept without asking again.
 */
import { readFile } from 'node:fs/promises';
import { matchesEtag, parseEtags } from '../resource/etag.ts';
import type { Exchange, HeaderList } from './server/exchange.ts';
import { preferredEncoding, preferredType } from './server/negotiate.ts';
import { methodNotAllowed } from './server/problem.ts';

/** As `scripts/build-console.ts` writes it. */
interface ConsoleFile {
  readonly path: string;
  readonly type: string;
  /** In hexadecimal. */
  readonly sha256: string;
  readonly encodings: readonly ('br' | 'gzip')[];
}

const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types vue',
].join('; ');

/** All off that a browser knows without a warning; writing to the clipboard is none of them, because buttons copy. */
const permissionsPolicy = [
  'accelerometer',
  'autoplay',
  'browsing-topics',
  'camera',
  'clipboard-read',
  'display-capture',
  'encrypted-media',
  'fullscreen',
  'gamepad',
  'geolocation',
  'gyroscope',
  'hid',
  'idle-detection',
  'local-fonts',
  'magnetometer',
  'microphone',
  'midi',
  'payment',
  'picture-in-picture',
  'publickey-credentials-get',
  'screen-wake-lock',
  'serial',
  'storage-access',
  'usb',
  'window-management',
  'xr-spatial-tracking',
]
  .map((name) => `${name}=()`)
  .join(', ');

/** Of every answer at the paths of the console, refusals too. */
export const pageHeaders: HeaderList = [
  ['Content-Security-Policy', contentSecurityPolicy],
  ['Referrer-Policy', 'no-referrer'],
  ['Cross-Origin-Opener-Policy', 'same-origin'],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
  ['Permissions-Policy', permissionsPolicy],
].flat();

const root = '/console/';
const assets = 'assets/';
const page = 'index.html';
const extensions = { br: '.br', gzip: '.gz' } as const;
const notBuilt = 'The console is not built: run "npm run build" in the folder of Kindred.\n';
const noFile = 'There is no such file.\n';

/** Whether a path is the console's, or where a browser arrives that was given the address alone. */
export function isConsolePath({ path, request }: Exchange): boolean {
  if (path === '/') return preferredType(request.headers.accept, ['*/*', 'text/html']) === 'text/html';
  return path === '/console' || path.startsWith(root);
}

export class ConsolePage {
  readonly #folder: URL;
  #files: ReadonlyMap<string, ConsoleFile> | undefined;

  /** @param folder of the built page, with a slash at its end; default that of the package */
  constructor(folder: URL = builtFolder()) {
    this.#folder = folder;
  }

  /** @throws KindredError MethodNotAllowed */
  async serve(exchange: Exchange): Promise<void> {
    const { method, path } = exchange;
    exchange.route = root;
    if (method !== 'GET' && method !== 'HEAD') throw methodNotAllowed(method, path, ['GET', 'HEAD']);
    if (path === '/') return exchange.send(302, ['Location', root]);
    if (path === '/console') return exchange.send(308, ['Location', root]);
    const files = await this.#known();
    if (!files) return sendText(exchange, notBuilt);
    const name = path.slice(root.length);
    const file = files.get(name) ?? (name.startsWith(assets) ? undefined : files.get(page));
    if (!file) return sendText(exchange, noFile);
    await this.#send(exchange, file);
  }

  async #send(exchange: Exchange, { path, type, sha256, encodings }: ConsoleFile): Promise<void> {
    const { headers } = exchange.request;
    const encoding = preferredEncoding(headers['accept-encoding'], encodings);
    const etag = `"${sha256.slice(0, 32)}${encoding === 'identity' ? '' : `-${encoding}`}"`;
    const kept = path.startsWith(assets) ? 'public, max-age=31536000, immutable' : 'no-cache';
    const common = ['ETag', etag, 'Cache-Control', kept, 'Vary', 'Accept-Encoding'];
    const known = headers['if-none-match'];
    if (known !== undefined && matchesEtag(parseEtags(known), etag, 'weak')) return exchange.send(304, common);
    const suffix = encoding === 'identity' ? '' : extensions[encoding];
    const body = await readFile(new URL(path + suffix, this.#folder));
    if (encoding !== 'identity') common.push('Content-Encoding', encoding);
    exchange.send(200, [...common, 'Content-Type', type], body);
  }

  /** Undefined while it is not built; looked for again at the next request then. */
  async #known(): Promise<ReadonlyMap<string, ConsoleFile> | undefined> {
    if (this.#files) return this.#files;
    try {
      const text = await readFile(new URL('manifest.json', this.#folder), 'utf8');
      const { files } = JSON.parse(text) as { files: readonly ConsoleFile[] };
      this.#files = new Map(files.map((file) => [file.path, file]));
      return this.#files;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }
}

function sendText(exchange: Exchange, text: string): void {
  exchange.send(404, ['Content-Type', 'text/plain; charset=utf-8'], Buffer.from(text));
}

/** Beside the compiled files; the sources find that of the last build. */
function builtFolder(): URL {
  return new URL(import.meta.url.endsWith('.ts') ? '../../dist/console/' : '../console/', import.meta.url);
}
