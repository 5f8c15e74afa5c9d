// Exists so that the reference of settings, metrics and commands is what the code has: `npm run reference` writes the three pages, and `--check` fails when one differs, or when docs/reference/errors.md or docs/guide/resource-api.md lacks a code, or docs/reference/command-line.md a command.
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { parseSync, Visitor } from 'oxc-parser';
import { everyCommand } from '../src/cli/program.ts';
import type { SettingName } from '../src/cli/settings.ts';
import { defaultOf, settings, variableOf } from '../src/cli/settings.ts';
import { errorCodes } from '../src/errors.ts';

const root = resolve(import.meta.dirname, '..');
const made = 'This page is made from the code by `npm run reference`.';

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`)
    .join('\n');

const code = (text: string): string => (text === '' ? '' : `\`${text}\``);

/** Defaults that the machine decides. */
const ofMachine: Readonly<Partial<Record<SettingName, string>>> = {
  'cache.maxBytes': 'a 256th of the memory that the process may use, at least 40 MiB',
  'http.connections': 'three quarters of the files that the process may open, at most 10,000',
  'http.connectionsPerAddress': 'half of `http.connections`',
};

const values: Readonly<Record<(typeof settings)[SettingName]['kind'], string>> = {
  text: 'text',
  texts: 'list of texts',
  count: 'whole number',
  positive: 'whole number from 1',
  port: '0 to 65535',
  database: 'database URL',
  duration: 'duration',
  period: 'duration above 0',
  switch: '`true`, `false`',
  level: 'log level',
  any: 'YAML or JSON',
};

function settingsPage(): string {
  const rows = (Object.keys(settings) as SettingName[]).map((name) => {
    const { help, kind } = settings[name];
    const preset = ofMachine[name] ?? code(defaultOf(name));
    return [code(name), sentence(help), values[kind], preset, code(variableOf(name))];
  });
  return `# Settings

${made} [Operating](../guide/operating.md#settings) says where settings come from. The name is that of the config file and of \`--set NAME=VALUE\`. A duration is a text such as \`15s\` or \`1h\`, or milliseconds.

${table(['Name', 'Meaning', 'Value', 'Default', 'Variable'], rows)}

\`plugins.<plugin>\`, in the config file only, is what this plugin finds as its configuration.
`;
}

interface Metric {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** Where metrics are declared: calls of `gauge` and `counter`, and new `Histogram`s. Every argument is a literal. */
function metricsOf(file: string): Metric[] {
  const { program } = parseSync(file, readFileSync(join(root, file), 'utf8'));
  const found: Metric[] = [];
  const add = (type: string, [name, help, labels]: readonly any[]): void => {
    const names = labels?.elements?.map(({ value }: { value: unknown }) => value);
    if (typeof name?.value !== 'string') return;
    if (typeof help?.value !== 'string' || !names)
      throw new Error(`${file}: ${name.value} has no literal help and labels`);
    found.push({ name: name.value, type, help: help.value, labels: names });
  };
  new Visitor({
    CallExpression({ callee, arguments: given }) {
      if (callee.type !== 'MemberExpression' || callee.property.type !== 'Identifier') return;
      if (['gauge', 'counter'].includes(callee.property.name)) add(callee.property.name, given);
    },
    NewExpression({ callee, arguments: given }) {
      if (callee.type === 'Identifier' && callee.name === 'Histogram') add('histogram', given);
    },
  }).visit(program);
  return found;
}

function metricsPage(): string {
  const files = globSync('src/**/*.ts', { cwd: root }).filter((file) => !file.endsWith('.test.ts'));
  const rows = files
    .flatMap(metricsOf)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, type, help, labels }) => [code(name), type, labels.map(code).join(', '), sentence(help)]);
  return `# Metrics

${made} \`/metrics\` has them in the text format of Prometheus; with \`telemetry.metrics\`, [OpenTelemetry](../guide/telemetry.md#metrics) has them too. [Monitoring](../guide/monitoring.md) has alerts and a board. A metric is there only while there is something to tell: those of webhooks on the replica that delivers, those of snapshots when these are on.

${table(['Name', 'Type', 'Labels', 'Meaning'], rows)}

A histogram has \`_bucket\`, \`_sum\` and \`_count\`.
`;
}

async function commandsPage(): Promise<string> {
  const sections = (await everyCommand()).commands.flatMap((one) => describedCommands(one, 'kindred'));
  return `# Commands

${made} \`kindred COMMAND --help\` prints the same. [Command line](command-line.md) says how the commands behave.

${sections.join('\n')}`;
}

function describedCommands(command: Command, parent: string): string[] {
  const name = `${parent} ${command.name()}`;
  if (command.commands.length > 0) return command.commands.flatMap((one) => describedCommands(one, name));
  const help = command.createHelp();
  const operands = help
    .visibleArguments(command)
    .map((one) => [code(one.name()), sentence(help.argumentDescription(one))]);
  const options = help
    .visibleOptions(command)
    .filter(({ long }) => long !== '--help')
    .map((one) => [code(one.flags), sentence(help.optionDescription(one))]);
  const usage = [name, command.usage()].join(' ').trim();
  const parts = [
    `## ${name}`,
    `\`${usage}\`: ${command.description()}.`,
    operands.length > 0 ? table(['Argument', 'Meaning'], operands) : '',
    options.length > 0 ? table(['Option', 'Meaning'], options) : '',
    // The settings have a page of their own.
    name === 'kindred serve' ? '[Settings](settings.md) has the settings.' : addedHelp(command),
  ];
  return [`${parts.filter((part) => part !== '').join('\n\n')}\n`];
}

/** What a command prints after its arguments and options: examples, exit codes. */
function addedHelp(command: Command): string {
  let printed = '';
  const writeOut = (text: string) => {
    printed += text;
  };
  command.configureOutput({ writeOut }).outputHelp();
  const added = printed.slice(command.helpInformation().length).trim();
  return added === '' ? '' : `\`\`\`text\n${added}\n\`\`\``;
}

/** Codes of the service that the page of errors lacks, or has with another status, or that the guide does not list. */
function errorMistakes(): string[] {
  const page = readFileSync(join(root, 'docs/reference/errors.md'), 'utf8');
  const told = new Map([...page.matchAll(/^\| `(\w+)` \| (\d{3}|–) \|/gm)].map(([, name, status]) => [name!, status!]));
  const codes = new Map(Object.entries(errorCodes).map(([name, { status }]) => [name, String(status)]));
  const mistakes = [...codes].flatMap(([name, status]) => {
    const there = told.get(name);
    if (there === undefined) return [`docs/reference/errors.md lacks the code ${name}`];
    return there === status || there === '–'
      ? []
      : [`docs/reference/errors.md says ${there} of ${name}, which is ${status}`];
  });
  const guide = readFileSync(join(root, 'docs/guide/resource-api.md'), 'utf8');
  const unlisted = [...codes.keys()].filter((name) => told.get(name) !== '–' && !guide.includes(`\`${name}\``));
  const unknown = [...told.keys()].filter((name) => !codes.has(name));
  return [
    ...mistakes,
    ...unlisted.map((name) => `docs/guide/resource-api.md lacks the code ${name}`),
    ...unknown.map((name) => `docs/reference/errors.md has the code ${name}, which is none`),
  ];
}

/** Commands of the generated page that the written one does not name. */
function unnamedCommands(page: string): string[] {
  const written = readFileSync(join(root, 'docs/reference/command-line.md'), 'utf8');
  return [...page.matchAll(/^## kindred (.+)$/gm)].flatMap(([, name]) =>
    written.includes(`\`${name}`) || written.includes(`kindred ${name}`)
      ? []
      : [`docs/reference/command-line.md lacks the command "${name}"`],
  );
}

function sentence(text: string): string {
  // The site would take `<file>` for an element.
  const shown = text.replaceAll('<', '&lt;');
  // A URL begins as it is written.
  const begin = /^[a-z]+:\S/.test(shown) ? shown.charAt(0) : shown.charAt(0).toUpperCase();
  return `${begin}${shown.slice(1)}${/[.…]$/.test(shown) ? '' : '.'}`;
}

const pages = { settings: settingsPage(), metrics: metricsPage(), commands: await commandsPage() };
const problems = [...errorMistakes(), ...unnamedCommands(pages.commands)];
for (const [name, text] of Object.entries(pages)) {
  const file = join(root, 'docs/reference', `${name}.md`);
  if (!process.argv.includes('--check')) writeFileSync(file, text);
  else if (readFileSync(file, 'utf8') !== text)
    problems.push(`docs/reference/${name}.md is not what the code has; run "npm run reference"`);
}
for (const problem of problems) console.error(problem);
console.log(`reference: ${Object.keys(pages).length} pages, ${problems.length} problems`);
if (problems.length > 0) process.exitCode = 1;
