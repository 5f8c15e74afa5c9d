/** Bodies of requests: JSON and YAML. Of a member that is given twice the last one counts, and it is told. */

import { createRequire } from 'node:module';
import type { CST } from 'yaml';
import { messageOf } from '../errors.ts';
import { readBody } from '../http/server/body.ts';
import type { Exchange } from '../http/server/exchange.ts';
import { parseLargeJson } from '../http/server/json.ts';
import type { HttpLimits } from '../http/server/limits.ts';
import { mediaType } from '../http/server/negotiate.ts';
import { unsupportedEncoding } from '../http/server/problem.ts';
import { fieldPath } from '../resource/prune.ts';
import type { TimeSlice, TurnQueue } from '../runtime/time-slice.ts';
import { aliasLimit } from '../runtime/yaml.ts';
import { unsupportedMediaType } from './negotiate.ts';
import { decodeProtobuf } from './protobuf.ts';
import { badRequest, StatusError } from './status.ts';

export interface BodyDependencies {
  readonly limits: HttpLimits;
  readonly turns: TurnQueue;
}

export interface Body {
  readonly value: unknown;
  /** Paths of members that were given more than once. */
  readonly duplicates: readonly string[];
}

const jsonType = 'application/json';
const yamlType = 'application/yaml';
const protobufType = 'application/vnd.kubernetes.protobuf';
/** Of objects and of the options of a deletion. Protobuf holds the kinds of Kubernetes alone. */
export const objectTypes: readonly string[] = [jsonType, yamlType, protobufType];

/** Bytes of YAML: what is made of its tokens is made at once, and takes long. */
const yamlLimit = 16 * 1024;

/** For what few requests need. */
const require = createRequire(import.meta.url);

/**
 * The type of the body, of those that are taken; none given is JSON.
 * @throws KindredError UnsupportedMediaType
 */
export function bodyType(exchange: Exchange, types: readonly string[]): string {
  const { headers } = exchange.request;
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') throw unsupportedEncoding(encoding);
  const header = headers['content-type'];
  if ((header === undefined || header === '') && types.includes(jsonType)) return jsonType;
  const type = types.find((one) => one === mediaType(header));
  if (type === undefined) throw unsupportedMediaType(header, types);
  return type;
}

/** Undefined when there is none. @throws KindredError BadRequest, PayloadTooLarge, Invalid */
export async function readValue(
  exchange: Exchange,
  type: string,
  { limits, turns }: BodyDependencies,
  maxMembers = limits.members,
): Promise<Body | undefined> {
  const bytes = await readBody(exchange.request, limits);
  if (bytes.length === 0) return undefined;
  if (type === protobufType) return { value: decodeProtobuf(bytes), duplicates: [] };
  const duplicates: string[] = [];
  const tell = (path: string): void => {
    if (duplicates.length < mostTold) duplicates.push(path);
  };
  const isYaml = type.endsWith('yaml') && bytes.find((byte) => byte > 0x20) !== 0x7b;
  const text = isYaml ? Buffer.from(await jsonOfYaml(bytes, tell, turns.slice())) : bytes;
  const { depth: maxDepth, containers: maxContainers } = limits;
  const onDuplicate = (pointer: string): void => tell(fieldPath(pointer));
  const value = await parseLargeJson(text, { maxDepth, maxMembers, maxContainers, onDuplicate }, () => turns.next());
  return { value, duplicates };
}

/** Duplicates that are told. */
const mostTold = 100;

/** @throws KindredError BadRequest, PayloadTooLarge */
async function jsonOfYaml(bytes: Buffer, onDuplicate: (path: string) => void, slice: TimeSlice): Promise<string> {
  if (bytes.length > yamlLimit) {
    throw new StatusError('PayloadTooLarge', `a YAML body may have ${yamlLimit} bytes; send a larger one as JSON`);
  }
  const { Lexer, Parser, Composer, visit, isPair, isScalar } = require('yaml') as typeof import('yaml');
  const text = bytes.toString();
  const parser = new Parser();
  const tokens: CST.Token[] = [];
  for (const lexeme of new Lexer().lex(text)) {
    tokens.push(...parser.next(lexeme));
    if (slice.isOver) await slice.renew();
  }
  tokens.push(...parser.end());
  // Integers stay exact until the JSON is read.
  const composer = new Composer({ uniqueKeys: false, intAsBigInt: true });
  const [document, another] = [...composer.compose(tokens, true, text.length)];
  if (!document || another) throw badRequest('error converting YAML to JSON: the body holds more than one document');
  const [problem] = document.errors;
  if (problem) throw badRequest(`error converting YAML to JSON: ${problem.message.split('\n')[0]}`);
  visit(document, {
    Map: (_key, map, ancestors) => {
      const seen = new Set<unknown>();
      for (const { key } of map.items) {
        const name = isScalar(key) ? key.value : undefined;
        if (name !== undefined && seen.has(name)) {
          const names = [...ancestors.filter((one) => isPair(one)).map((one) => String(one.key)), String(name)];
          onDuplicate(names.join('.'));
        }
        seen.add(name);
      }
    },
  });
  try {
    const value: unknown = document.toJS({ maxAliasCount: aliasLimit });
    return JSON.stringify(value, (_name, one) => (typeof one === 'bigint' ? rawJson(String(one)) : one)) ?? 'null';
  } catch (error) {
    throw badRequest(`error converting YAML to JSON: ${messageOf(error)}`);
  }
}

/** A number as it is written. */
const { rawJSON: rawJson } = JSON as typeof JSON & { rawJSON(text: string): unknown };
