// `npm run docs`: the documentation as static files in build/site. The generator is installed beside it at the first run.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '..');
const site = join(root, 'site');
const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';

export const siteFolder = join(root, 'build', 'site');

export function buildSite(): void {
  const run = (...args: string[]) =>
    execFileSync(npm, args, {
      cwd: site,
      stdio: ['ignore', 'inherit', 'inherit'],
      shell: process.platform === 'win32',
    });
  if (!existsSync(join(site, 'node_modules/vitepress'))) run('ci', '--no-fund', '--no-audit');
  run('run', '--silent', 'build');
}

if (import.meta.main) {
  buildSite();
  console.log(`The site is in ${siteFolder}. Any server of files can serve it, from the root of a host.`);
}
