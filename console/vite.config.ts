import { fileURLToPath } from 'node:url';
import vue from '@vitejs/plugin-vue';
import type { Plugin } from 'vite';
import { defineConfig } from 'vite';
import { zh } from '../src/locales/zh.ts';

/** What the service says too (src/http/console.ts); the dev server needs its own socket and inline styles besides. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self' ws://127.0.0.1:8091",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * The texts of the service that the page shows come with their Chinese in place, so that its whole catalogue is not loaded:
 * `localized('…')` becomes what it gives.
 */
const texts: Plugin = {
  name: 'kindred-texts',
  enforce: 'pre',
  transform(code, id) {
    if (!/\/src\/(?:schema|model|client|query|errors)\b.*\.ts$/.test(id) || !code.includes('localized('))
      return undefined;
    const inlined = code
      .replace(/^import \{ localized \} from .*$/m, '')
      .replace(/\blocalized\(\s*('(?:[^'\\]|\\.)*'),?\s*\)/g, (_, en: string) => {
        const text = en.slice(1, -1).replace(/\\(.)/g, '$1');
        return `(${JSON.stringify({ en: text, zh: zh[text as keyof typeof zh] })})`;
      });
    if (/\blocalized\(/.test(inlined)) this.error('localized() of something that is not a text in single quotes');
    return { code: inlined, map: null };
  },
};

const service = { target: process.env.KINDRED_SERVER ?? 'http://127.0.0.1:8090' };

export default defineConfig({
  root: import.meta.dirname,
  base: '/console/',
  plugins: [texts, vue()],
  resolve: {
    alias: { 'kindred/client': fileURLToPath(new URL('../src/client/client.ts', import.meta.url)) },
  },
  define: { __VUE_OPTIONS_API__: 'false', __VUE_PROD_DEVTOOLS__: 'false' },
  build: {
    outDir: fileURLToPath(new URL('../dist/console', import.meta.url)),
    emptyOutDir: true,
    target: 'es2024',
    sourcemap: false,
    // What the page is made of; the screen "About" links to it.
    license: { fileName: 'licenses.txt' },
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // Few files: each costs a round trip, and a browser asks for six at a time.
    rolldownOptions: {
      output: { codeSplitting: { groups: [{ name: 'first', tags: ['$initial'] }] } },
      // On a slow machine, they are most of what a first `npm start` prints.
      checks: { bundlerTimings: false },
    },
  },
  server: {
    host: '127.0.0.1',
    port: 8091,
    strictPort: true,
    headers: { 'content-security-policy': contentSecurityPolicy },
    proxy: { '/apis': service, '/api': service, '/v3': service, '/metrics': service, '/readyz': service },
  },
});
