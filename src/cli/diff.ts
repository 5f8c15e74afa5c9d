import { diff, styleText } from 'node:util';
import { Command } from 'commander';
import type { KindredClient } from '../client/client.ts';
import { KindredError } from '../client/client.ts';
import { fullNameOf } from '../model/full-name.ts';
import type { ExtensionObject } from '../model/object.ts';
import { applied } from './apply.ts';
import type { ConnectionFlags } from './connection.ts';
import { connect, withConnection } from './connection.ts';
import { describe } from './describe.ts';
import { eachDocument } from './documents.ts';
import type { Io } from './io.ts';
import { Exit, write } from './io.ts';
import type { NamespaceFlags } from './namespace.ts';
import { placed, withNamespace } from './namespace.ts';
import { withoutManagedFields, yamlOf } from './output.ts';
import type { ResourceType } from './types.ts';
import { Types } from './types.ts';

/** Lines around a change. */
const context = 3;

/** Lines of which the shortest difference is looked for; of more the one text follows the other. */
const comparedLines = 5_000;

/** Of `diff` alone: 1 says that there are differences. */
const failed = 2;

export function diffCommand(io: Io): Command {
  const command = new Command('diff')
    .description('show what "apply" would change')
    .requiredOption(
      '-f, --filename <file...>',
      'file or folder of YAML or JSON documents, or - for standard input; repeatable',
    )
    .addHelpText(
      'after',
      '\nFor example: kindred diff -f cities.yaml\nThe exit code is 0 when nothing would change, 1 when something would, 2 when it could not be found out.',
    )
    .action(async (flags: ConnectionFlags & NamespaceFlags & { filename: string[] }) => {
      const client = connect(flags, io);
      const types = new Types(client);
      let changes = 0;
      let refused = 0;
      try {
        refused = await eachDocument(io, flags.filename, async (value) => {
          const text = await changeOf(client, types, (value ?? {}) as ExtensionObject, flags);
          if (text !== '') changes++;
          await write(io.stdout, io.stdout.isTTY && !io.env.NO_COLOR ? coloured(text) : text);
        });
      } catch (error) {
        if (!(error instanceof KindredError)) throw error;
        io.stderr.write(describe(error));
        throw new Exit(failed);
      }
      if (refused > 0) throw new Exit(failed);
      if (changes > 0) throw new Exit(1);
    });
  return withConnection(withNamespace(command), io);
}

async function changeOf(
  client: KindredClient,
  types: Types,
  given: ExtensionObject,
  flags: NamespaceFlags,
): Promise<string> {
  const type = await types.of(given);
  const object = placed(type, given, flags);
  const name = object.metadata?.name;
  const before = name ? await client.fetch(type.model, fullNameOf(object.metadata)) : undefined;
  const after = before ? await applied(client, type.model, object, before, { dryRun: true }) : object;
  const title = `${type.label}/${name ?? object.metadata?.generateName ?? ''}`;
  const [a, b] = [before ? linesOf(hidden(type, before)) : [], linesOf(hidden(type, after, before))];
  return unified(a, b, title);
}

/** As kubectl does, the values of a Secret say only whether they change. */
function hidden({ model: { gvk } }: ResourceType, object: ExtensionObject, before?: ExtensionObject): ExtensionObject {
  if (gvk.group !== '' || gvk.kind !== 'Secret') return object;
  const { data, stringData, ...rest } = object as ExtensionObject & Record<string, Record<string, string> | undefined>;
  const known = (before as { data?: Record<string, string> } | undefined)?.data ?? {};
  const texts = Object.entries(stringData ?? {}).map(([name, text]) => [name, Buffer.from(text).toString('base64')]);
  const all = Object.entries({ ...data, ...Object.fromEntries(texts) }) as [string, string][];
  const shown = all.map(([name, value]) => [name, before && known[name] !== value ? '*** (changed)' : '***']);
  return {
    ...(rest as ExtensionObject),
    ...(all.length > 0 && { data: Object.fromEntries(shown) }),
  } as ExtensionObject;
}

/** Without what any write changes. */
function linesOf(object: ExtensionObject): string[] {
  const { version: _version, generation: _generation, ...metadata } = withoutManagedFields(object).metadata ?? {};
  return yamlOf(JSON.parse(JSON.stringify({ ...object, metadata })))
    .trimEnd()
    .split('\n');
}

/** -1: only in the first text, 1: only in the second, 0: in both. */
interface Line {
  readonly sign: -1 | 0 | 1;
  readonly text: string;
}

function compared(a: readonly string[], b: readonly string[]): Line[] {
  if (Math.max(a.length, b.length) > comparedLines) {
    return [...a.map((text): Line => ({ sign: -1, text })), ...b.map((text): Line => ({ sign: 1, text }))];
  }
  // Node.js says 1 for what only the first has.
  return diff(a, b).map(([sign, text]) => ({ sign: -sign as Line['sign'], text }));
}

/** Empty when there is no difference. */
function unified(a: readonly string[], b: readonly string[], title: string): string {
  if (a.length === b.length && a.every((line, i) => line === b[i])) return '';
  const lines = compared(a, b);
  const isNear = lines.map(() => false);
  for (const [i, { sign }] of lines.entries()) {
    if (sign !== 0) isNear.fill(true, Math.max(0, i - context), i + context + 1);
  }
  let text = `--- LIVE ${title}\n+++ MERGED ${title}\n`;
  const at = { a: 0, b: 0 };
  for (let i = 0; i < lines.length; ) {
    let end = i;
    while (end < lines.length && isNear[end] === isNear[i]) end++;
    const part = lines.slice(i, end);
    const [inA, inB] = [part.filter(({ sign }) => sign <= 0).length, part.filter(({ sign }) => sign >= 0).length];
    if (isNear[i]) {
      const range = (start: number, count: number) => `${count === 0 ? start : start + 1},${count}`;
      text += `@@ -${range(at.a, inA)} +${range(at.b, inB)} @@\n`;
      text += part.map(({ sign, text: line }) => `${sign === 0 ? ' ' : sign < 0 ? '-' : '+'}${line}\n`).join('');
    }
    at.a += inA;
    at.b += inB;
    i = end;
  }
  return text;
}

function coloured(text: string): string {
  const paint = (format: 'red' | 'green' | 'cyan') => (line: string) =>
    styleText(format, line, { validateStream: false });
  return text
    .replace(/^-.*$/gm, paint('red'))
    .replace(/^\+.*$/gm, paint('green'))
    .replace(/^@@.*$/gm, paint('cyan'));
}
