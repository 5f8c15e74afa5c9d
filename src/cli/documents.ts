/** Objects in files: NDJSON, JSON and YAML, told apart by their content. */
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Node } from 'yaml';
import { isAlias, isMap, isSeq, LineCounter, parseAllDocuments, visit } from 'yaml';
import { KindredError } from '../client/client.ts';
import { aliasLimit, reasonOf } from '../runtime/yaml.ts';
import { describe } from './describe.ts';
import { exactIntegers, parseExact } from './exact-json.ts';
import type { Io } from './io.ts';
import { UsageError } from './io.ts';

export interface Document {
  /** File and line, for messages. */
  readonly place: string;
  readonly value: unknown;
  /** The JSON text, where there is one as it stands (NDJSON). */
  readonly text?: string;
  /** Bytes of the input up to the end of this document. */
  readonly offset: number;
}

/** The files that FILE, DIR or `-` mean; of a folder those that end in .yaml, .yml, .json or .ndjson, sorted. */
export async function filesOf(path: string): Promise<string[]> {
  if (path === '-') return ['-'];
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(
      `${path} cannot be read: ${error.code === 'ENOENT' ? 'there is no such file' : error.message}`,
    );
  });
  if (!found.isDirectory()) return [path];
  const names = (await readdir(path)).filter((name) => /\.(ya?ml|json|ndjson)$/.test(name)).sort();
  if (names.length === 0) throw new UsageError(`${path} holds no .yaml, .yml, .json or .ndjson file`);
  return names.map((name) => join(path, name));
}

export function open(file: string, io: Io): Readable {
  return file === '-' ? io.stdin : createReadStream(file);
}

/**
 * Does the same for each document of files and folders. One that is no object of the service is told, and the others go on.
 * @returns how many were no objects of the service
 */
export async function eachDocument(
  io: Io,
  paths: readonly string[],
  work: (value: unknown) => Promise<void>,
): Promise<number> {
  let refused = 0;
  for (const file of (await Promise.all(paths.map(filesOf))).flat()) {
    for await (const { value, place } of documents(open(file, io), file)) {
      try {
        await work(value);
      } catch (error) {
        if (!(error instanceof KindredError) || (error.code !== 'Invalid' && error.code !== 'NotFound')) throw error;
        refused++;
        io.stderr.write(describe(error, place));
      }
    }
  }
  return refused;
}

/** The documents of one input, as they arrive when it is NDJSON. Lists, and lists in `items`, are taken apart. */
export async function* documents(input: Readable, file: string): AsyncGenerator<Document, void, undefined> {
  const place = file === '-' ? 'stdin' : file;
  const lines = linesOf(input);
  const seen: Line[] = [];
  for (let next = await lines.next(); !next.done; next = await lines.next()) {
    seen.push(next.value);
    if (next.value.text.trim() !== '') break;
  }
  const first = seen.at(-1);
  if (!first || first.text.trim() === '') return;
  if (isJsonObject(first.text)) {
    yield ndjson(first, place);
    for await (const line of lines) if (line.text.trim() !== '') yield ndjson(line, place);
    return;
  }
  let whole = seen.map(({ text }) => `${text}\n`).join('');
  for await (const { text } of lines) whole += `${text}\n`;
  yield* yaml(whole, place);
}

interface Line {
  readonly number: number;
  readonly text: string;
  readonly offset: number;
}

async function* linesOf(input: Readable): AsyncGenerator<Line, void, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let number = 0;
  let offset = 0;
  let rest = '';
  for await (const chunk of input) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : (chunk as Buffer);
    offset += bytes.length;
    const parts = (rest + decoder.decode(bytes, { stream: true })).split('\n');
    rest = parts.pop()!;
    for (const text of parts) yield { number: ++number, text, offset };
  }
  rest += decoder.decode();
  if (rest !== '') yield { number: ++number, text: rest, offset };
}

function isJsonObject(text: string): boolean {
  if (!text.trimStart().startsWith('{')) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function ndjson({ number, text, offset }: Line, place: string): Document {
  try {
    return { place: `${place}:${number}`, value: parseExact(text), text: text.trim(), offset };
  } catch (error) {
    throw new UsageError(`${place}:${number} is no JSON: ${(error as Error).message}`);
  }
}

/** JSON is YAML too. Integers come as bigints where a double would change them. */
function* yaml(text: string, place: string): Generator<Document, void, undefined> {
  const lineCounter = new LineCounter();
  const parsed = parseAllDocuments(text, { intAsBigInt: true, lineCounter, uniqueKeys: true, merge: true });
  let aliases = 0;
  for (const document of 'empty' in parsed ? [] : parsed) {
    const lineOf = (node: Node | null) => lineCounter.linePos((node ?? document).range?.[0] ?? 0).line;
    const problem = document.errors[0];
    if (problem) {
      const at = problem.linePos?.[0].line ?? lineOf(document.contents);
      throw new UsageError(`${place}:${at} is neither YAML nor JSON: ${reasonOf(problem)}`);
    }
    visit(document, (_key, node) => {
      if (isAlias(node) && ++aliases > aliasLimit) {
        throw new UsageError(`${place}:${lineOf(document.contents)} has more than ${aliasLimit} aliases`);
      }
    });
    const value: unknown = exactIntegers(document.toJS({ maxAliasCount: aliasLimit }));
    const nodes = nodesIn(document.contents);
    for (const [i, one] of objectsIn(value).entries()) {
      const line = lineOf(nodes[i] ?? document.contents);
      yield { place: `${place}:${line}`, value: one, offset: document.range[2] };
    }
  }
}

function objectsIn(value: unknown): readonly unknown[] {
  if (value === null || value === undefined) return [];
  if (Array.isArray(value)) return value;
  const { items, kind, apiVersion } = value as { items?: unknown; kind?: unknown; apiVersion?: unknown };
  return Array.isArray(items) && isList(kind, apiVersion) ? items : [value];
}

/** As this command prints one, or as kubectl does. */
function isList(kind: unknown, apiVersion: unknown): boolean {
  return kind === undefined || (kind === 'List' && apiVersion === 'v1');
}

/** The nodes of what `objectsIn` finds. */
function nodesIn(contents: Node | null): readonly Node[] {
  const isOwn = isMap(contents) && isList(contents.get('kind'), contents.get('apiVersion'));
  const list = isOwn ? contents.get('items', true) : contents;
  return isSeq<Node>(list) ? list.items : [];
}
