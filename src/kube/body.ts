/** Bodies of requests: JSON and YAML. Of a member that is given twice the last one counts, and its path is reported. */

import { readBody } from '../http/server/body.ts';
import type { Exchange } from '../http/server/exchange.ts';
import { parseLargeJson } from '../http/server/json.ts';
import type { HttpLimits } from '../http/server/limits.ts';
import { mostDuplicates } from '../http/server/limits.ts';
import { mediaType } from '../http/server/negotiate.ts';
import { unsupportedEncoding } from '../http/server/problem.ts';
import type { YamlReader } from '../http/server/yaml-body.ts';
import { isJson } from '../http/server/yaml-body.ts';
import { fieldPath } from '../resource/prune.ts';
import type { TurnQueue } from '../runtime/time-slice.ts';
import { unsupportedMediaType } from './negotiate.ts';
import { badRequest, StatusError } from './status.ts';

export interface BodyDependencies {
  readonly limits: HttpLimits;
  readonly turns: TurnQueue;
  readonly yaml: YamlReader;
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

/** Bytes of YAML: other bodies in it wait for the thread meanwhile. */
const yamlLimit = 1024 * 1024;

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
  { limits, turns, yaml }: BodyDependencies,
  maxMembers = limits.members,
): Promise<Body | undefined> {
  const bytes = await readBody(exchange.request, limits);
  if (bytes.length === 0) return undefined;
  if (type === protobufType) {
    const { decodeProtobuf } = await import('./protobuf.ts');
    return { value: decodeProtobuf(bytes), duplicates: [] };
  }
  const isYaml = type.endsWith('yaml') && !isJson(bytes);
  const read = isYaml ? await jsonOfYaml(bytes, yaml) : { text: bytes, duplicates: [] };
  const duplicates = [...read.duplicates];
  const { depth: maxDepth, containers: maxContainers } = limits;
  const onDuplicate = (pointer: string): void => {
    if (duplicates.length < mostDuplicates) duplicates.push(fieldPath(pointer));
  };
  const value = await parseLargeJson(read.text, { maxDepth, maxMembers, maxContainers, onDuplicate }, () =>
    turns.next(),
  );
  return { value, duplicates };
}

/** @throws KindredError BadRequest, PayloadTooLarge, NotReady */
async function jsonOfYaml(bytes: Buffer, yaml: YamlReader): Promise<{ text: Buffer; duplicates: readonly string[] }> {
  if (bytes.length > yamlLimit) {
    throw new StatusError('PayloadTooLarge', `a YAML body may have ${yamlLimit} bytes; send a larger one as JSON`);
  }
  const answer = await yaml.read(bytes, true);
  if (answer.mistake !== undefined) throw badRequest(`error converting YAML to JSON: ${answer.mistake}`);
  return { text: Buffer.from(answer.json), duplicates: answer.duplicates };
}
