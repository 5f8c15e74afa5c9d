#!/usr/bin/env node
// `npm create kindred`: asks for what the arguments do not say, and makes an application.
import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';
import { UsageError } from '../src/cli/io.ts';
import { newFolder } from '../src/cli/plugin-new.ts';
import { applicationFiles, isDatabase, oldestNode, startDatabase } from './application.ts';

const usage = 'npm create kindred [NAME] -- [--group GROUP] [--database sqlite|postgres|mysql]';

try {
  await create();
} catch (error) {
  // Ctrl-C or Ctrl-D at a question.
  if ((error as NodeJS.ErrnoException).code === 'ABORT_ERR') process.exitCode = 130;
  else if (!(error instanceof UsageError || error instanceof TypeError)) throw error;
  else {
    console.error(`create-kindred: ${error.message}\nUsage: ${usage}`);
    process.exitCode = 2;
  }
}

async function create(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { group: { type: 'string' }, database: { type: 'string' }, help: { type: 'boolean', short: 'h' } },
  });
  if (values.help) return console.log(usage);
  if (positionals.length > 1) throw new UsageError(`one name, please: ${positionals.join(', ')}`);
  const ask = questions();
  const name = positionals[0] ?? (await ask('Name of the application', 'my-app'));
  const group = values.group ?? (await ask('API group of its model', `${name}.example.com`));
  const database = values.database ?? (await ask('Database: sqlite, postgres or mysql', 'sqlite'));
  ask.close();
  if (!isDatabase(database)) throw new UsageError(`"${database}" is no database: sqlite, postgres or mysql`);
  const files = await newFolder(name, group, (ofGroup) => applicationFiles(name, ofGroup, database));
  const first = database === 'sqlite' ? [] : [startDatabase];
  const next = [`cd ${name}`, 'npm install', 'npm test', ...first, 'npm run dev'];
  console.log([...files, '', ...next].join('\n'));
  const { node } = process.versions;
  if (node.localeCompare(oldestNode, 'en', { numeric: true }) < 0)
    console.error(`create-kindred: the application needs Node.js ${oldestNode} or newer, this is ${node}`);
}

/** Asks on a terminal; elsewhere everybody gets the default. */
function questions(): ((question: string, preset: string) => Promise<string>) & { close(): void } {
  if (!process.stdin.isTTY) return Object.assign(async (_: string, preset: string) => preset, { close() {} });
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const ended = new AbortController();
  terminal.on('SIGINT', () => ended.abort()).on('close', () => ended.abort());
  const ask = async (question: string, preset: string) =>
    (await terminal.question(`${question} (${preset}): `, { signal: ended.signal })).trim() || preset;
  return Object.assign(ask, { close: () => terminal.close() });
}
