// `npm start`: the built service with the atlas example on a SQLite file in .atlas/, its data set imported at the first start.
// An import that was interrupted goes on at the next start. What stands here uses the command, its progress bar and the public API.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { KindredClient } from 'kindred/client';
import { createClient, KindredError, modelOf } from 'kindred/client';
import { cities, cityCount, countries, countryCount } from '../examples/atlas/data.ts';
import { startProgress } from '../src/cli/progress.ts';
import { whenParentIsGone } from './parent.ts';

const root = resolve(import.meta.dirname, '..');
const folder = join(root, '.atlas');
const tokenFile = join(folder, 'token');
const importedFile = join(folder, 'imported');
const own = { group: 'atlas.example.com', version: 'v1alpha1' };
const cityModel = modelOf({ ...own, kind: 'City', singular: 'city', plural: 'cities' });
const countryModel = modelOf({ ...own, kind: 'Country', singular: 'country', plural: 'countries' });

mkdirSync(folder, { recursive: true, mode: 0o700 });
const service = spawn(
  process.execPath,
  [
    join(root, 'dist', 'cli', 'main.js'),
    'serve',
    '--database',
    `sqlite:${join(folder, 'atlas.db')}`,
    '--plugin',
    join(root, 'examples', 'atlas'),
    ...process.argv.slice(2),
  ],
  { stdio: ['inherit', 'pipe', 'inherit'], env: { KINDRED_LOG_LEVEL: 'warn', ...process.env } },
);
const building = `Building the indexes of ${(cityCount + countryCount).toLocaleString('en')} objects…`;
// On a terminal the service shows a bar. A start that fails does so sooner.
const isShown = existsSync(importedFile) && !process.stderr.isTTY;
const announcing = isShown ? setTimeout(() => console.log(building), 1_000) : undefined;
service.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  // From a terminal the service gets an interrupt too; it ends at the first one, and this process with it.
  process.on(signal, () => service.exitCode === null && signal !== 'SIGINT' && service.kill('SIGTERM'));
}
// npm tells the shell that it started, and not this process: after SIGTERM nobody could stop the service any more.
if (process.env.npm_lifecycle_event !== undefined) whenParentIsGone(() => service.kill('SIGTERM'));

let hasAdministrator = false;
for await (const line of createInterface({ input: service.stdout })) {
  console.log(line);
  const token = /^Administrator token: (\S+)$/.exec(line)?.[1];
  if (token) {
    hasAdministrator = true;
    writeFileSync(tokenFile, token, { mode: 0o600 });
  }
  clearTimeout(announcing);
  const url = /^Kindred is ready at (\S+)$/.exec(line)?.[1];
  if (url) await ready(url).catch(failed);
}

async function ready(url: string): Promise<void> {
  const token = existsSync(tokenFile) ? readFileSync(tokenFile, 'utf8') : undefined;
  if (!existsSync(importedFile)) {
    await importAll(createClient({ url, ...(token && { token }) }));
    writeFileSync(importedFile, `${new Date().toISOString()}\n`);
  }
  const lines = [
    ...variables(url, token !== undefined),
    'npx kindred get cities --field-selector "spec.country=FR" --sort "spec.population,desc" --size 10',
  ];
  // The token was printed when it was made, and is not repeated: what is on a screen is soon in a log.
  // A start that made the administrator has printed one.
  const link = hasAdministrator ? undefined : await consoleLink(createClient({ url, ...(token && { token }) }), url);
  if (link) console.log(`Open the console: ${link}`);
  console.log(`
The ten largest cities of France:
${lines.map((line) => `  ${line}`).join('\n')}
Everything the service offers, described (it asks for the token):
  ${url}/swagger-ui.html
`);
}

/** Undefined when the token does not hold any more. */
async function consoleLink(client: KindredClient, url: string): Promise<string | undefined> {
  try {
    const { authentication } = await client.request<{ authentication: boolean }>('GET', '/v3/session');
    if (!authentication) return `${url}/console/`;
    return (await client.request<{ url: string }>('POST', '/v3/session/codes')).url;
  } catch {
    return undefined;
  }
}

/** Who is asking, and where: for the shell, PowerShell on Windows. */
function variables(url: string, withToken: boolean): string[] {
  const file = join('.atlas', 'token');
  const [set, read] = process.platform === 'win32' ? ['$env:', `(Get-Content ${file})`] : ['export ', `$(cat ${file})`];
  return [...(withToken ? [`${set}KINDRED_TOKEN=${read}`] : []), `${set}KINDRED_SERVER="${url}"`];
}

/** What was imported before an interruption is there already, which is as good. */
async function importAll(client: KindredClient): Promise<void> {
  const total = cityCount + countryCount;
  const text = (count: number) => `${count.toLocaleString('en')} of ${total.toLocaleString('en')} objects imported`;
  const shown = startProgress(process, 'Importing the cities and countries of the world', total);
  let done = 0;
  for (const [model, objects] of [
    [countryModel, countries()],
    [cityModel, cities()],
  ] as const) {
    for await (const result of client.import(model, objects)) {
      if (!result.ok && result.error.code !== 'AlreadyExists') throw result.error;
      shown.update(++done, text(done));
    }
  }
  shown.stop(text(total));
}

function failed(error: unknown): void {
  if (service.exitCode !== null || service.signalCode !== null) return;
  const reason = error instanceof KindredError ? `${error.code}: ${error.message}` : String(error);
  console.error(`The import stopped: ${reason}\nIt goes on at the next "npm start".`);
  service.kill('SIGTERM');
}
