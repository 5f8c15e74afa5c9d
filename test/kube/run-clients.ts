/**
 * Runs the tests of every client and prints what was seen as tables of docs/decisions/kubernetes-clients.md:
 * `node --import ./test/sources.ts test/kube/run-clients.ts [--kubectl FILE]...`. Exit code 1 when a test failed.
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { run } from 'node:test';
import { parseArgs } from 'node:util';
import { fromSources } from '../sources.ts';

const { values } = parseArgs({
  options: { kubectl: { type: 'string', multiple: true, default: ['kubectl'] } },
});

/** By the name of the test. */
type Results = Map<string, 'yes' | 'not known to it' | 'failed'>;

async function resultsOf(file: string): Promise<Results> {
  const results: Results = new Map();
  const files = [join(import.meta.dirname, file)];
  const add = (name: string, nesting: number, result: 'yes' | 'not known to it' | 'failed') => {
    if (result === 'failed') process.exitCode = 1;
    results.set(`${'/'.repeat(nesting)}${name}`, result);
  };
  const stream = run({ files, execArgv: fromSources, timeout: 600_000 });
  for await (const { type, data } of stream) {
    if (type === 'test:pass') {
      if (data.details.type !== 'suite')
        add(data.name, data.nesting, data.skip === undefined ? 'yes' : 'not known to it');
    } else if (type === 'test:fail') {
      if (data.details.type === 'suite') continue;
      add(data.name, data.nesting, 'failed');
      console.error(`${file}: ${data.name}: ${data.details.error.message}`);
    }
  }
  return results;
}

function versionOf(program: string): string {
  const text = execFileSync(program, ['version', '--client', '-o', 'json'], { stdio: ['ignore', 'pipe', 'ignore'] });
  const { major, minor } = JSON.parse(text.toString()).clientVersion;
  return `${major}.${Number.parseInt(minor, 10)}`;
}

const marks = { yes: '✓', 'not known to it': '–', failed: '✗' } as const;

function print(header: readonly string[], rows: readonly (readonly string[])[]): void {
  const lines = [header, header.map(() => '---'), ...rows];
  console.log(`\n${lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}`);
}

const columns: [version: string, results: Results][] = [];
for (const program of values.kubectl) {
  process.env.KUBECTL = program;
  columns.push([versionOf(program), await resultsOf('kubectl.test.ts')]);
}
const commands = new Set(columns.flatMap(([, results]) => [...results.keys()]));
print(
  ['kubectl', ...columns.map(([version]) => version)],
  [...commands].map((name) => [
    name.replaceAll('/', ''),
    ...columns.map(([, results]) => marks[results.get(name) ?? 'not known to it']),
  ]),
);
for (const [client, file] of [
  ['`@kubernetes/client-node`', 'client-node.test.ts'],
  ['Python client', 'python.test.ts'],
  ['Helm, its requests replayed', 'helm.test.ts'],
  ['Controllers of the guide', 'stories.test.ts'],
] as const) {
  const results = await resultsOf(file);
  print(
    [client, 'seen'],
    [...results].map(([name, result]) => [name.replaceAll('/', ''), marks[result]]),
  );
}
