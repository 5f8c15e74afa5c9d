/** Why a module of a plugin cannot be compiled, in words that lead on: Node.js names neither the place nor the way out. */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Text } from '../errors.ts';
import { KindredError } from '../errors.ts';
import { localized } from '../locales/localized.ts';

const texts = {
  syntax: localized('{place} cannot be loaded: {reason}'),
  needsDev: localized(
    '{place} cannot be loaded: {reason}. Node.js only removes types: run the service with --dev, or compile the plugin to JavaScript',
  ),
  noTransform: localized(
    '{place} cannot be loaded: {reason}. TypeScript that is more than types (decorators, enums) needs the package "esbuild" (or "tsx"), which is not installed; run "npm install --save-dev esbuild" beside the plugin or compile it to JavaScript',
  ),
  needsBuild: localized('{place} cannot be loaded: {reason}. Compile the plugin to JavaScript'),
} satisfies Record<string, Text>;

/** What the loader knows. */
export interface Compilation {
  /** The plugin's module that was loaded last: Node.js compiles each one as soon as it is loaded. */
  readonly file: string;
  readonly dev: boolean;
  /** With `dev`: something that transforms TypeScript was found. */
  readonly transforms: boolean;
}

/** The error for a module that cannot be compiled or linked; undefined for any other error. */
export function syntaxProblem(error: unknown, { file, dev, transforms }: Compilation): KindredError | undefined {
  const code = (error as { code?: string }).code ?? '';
  const isSyntax = error instanceof SyntaxError || code.includes('TYPESCRIPT') || code.includes('STRIP');
  if (!isSyntax && code !== 'ERR_UNKNOWN_FILE_EXTENSION') return undefined;
  const { message, stack = '' } = error as Error;
  const reason = message.split('\n')[0]!;
  const refused = (text: Text, params: { place: string; reason: string }) =>
    new KindredError('InvalidPlugin', text, { params, cause: error });
  const place = placeIn(stack);
  const isCompiled = stack.includes('compileSourceTextModule');
  // Code of the plugin may throw one too, of JSON.parse for example.
  if (error instanceof SyntaxError && place === undefined && !isCompiled) return undefined;
  if (code === 'ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING') return refused(texts.needsBuild, { place: file, reason });
  const beyondTypes = transforms ? texts.syntax : dev ? texts.noTransform : texts.needsDev;
  if (code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') return refused(beyondTypes, { place: place ?? file, reason });
  const decorator = isCompiled ? firstDecorator(file) : undefined;
  if (!decorator) return refused(texts.syntax, { place: place ?? file, reason });
  const found = `"${decorator.text}" is a decorator, which Node.js does not know`;
  const text = /\.[cm]?ts$/.test(file) ? beyondTypes : texts.needsBuild;
  return refused(text, { place: `${file}:${decorator.line}`, reason: found });
}

/** What esbuild says of a source. */
export function transformProblem(error: unknown, file: string): unknown {
  const [first] = (error as { errors?: { text: string; location?: { line: number } | null }[] }).errors ?? [];
  if (!first) return error;
  const place = first.location ? `${file}:${first.location.line}` : file;
  return new KindredError('InvalidPlugin', texts.syntax, { params: { place, reason: first.text }, cause: error });
}

/** `file:line` in front of the stack, where Node.js says it. */
function placeIn(stack: string): string | undefined {
  const [first] = /^(?:\/|file:\/\/)\S+:\d+(?=\n)/.exec(stack) ?? [];
  if (first === undefined || first.startsWith('/')) return first;
  const colon = first.lastIndexOf(':');
  return fileURLToPath(first.slice(0, colon)) + first.slice(colon);
}

/** The first line that begins with a decorator; those in comments are none. */
function firstDecorator(file: string): { line: number; text: string } | undefined {
  const source = readFileSync(file, 'utf8').replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' '));
  const found = /^[ \t]*(@[A-Za-z_$][\w$.]*)/m.exec(source);
  return found ? { line: source.slice(0, found.index).split('\n').length, text: found[1]! } : undefined;
}
