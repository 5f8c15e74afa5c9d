/** Reads YAML in a thread of its own: a text of 1 MiB takes seconds. */
import { parentPort } from 'node:worker_threads';
import type { Document } from 'yaml';
import { isPair, isScalar, visit } from 'yaml';
import { parseYaml } from '../../runtime/yaml.ts';
import { mostDuplicates } from './limits.ts';
import type { YamlAnswer, YamlRequest } from './yaml-body.ts';

const port = parentPort!;

port.on('message', (request: YamlRequest) => port.postMessage(answerTo(request)));

function answerTo({ text, limit, allowsDuplicates }: YamlRequest): YamlAnswer {
  try {
    const options = { intAsBigInt: true, uniqueKeys: !allowsDuplicates };
    const { value, mistake, document } = parseYaml(text, 'body', options);
    if (mistake !== undefined) return { mistake };
    const json = JSON.stringify(value ?? null, exactly);
    if (json.length > limit) return { mistake: `body: with its aliases it has more than ${limit} characters` };
    return { json, duplicates: allowsDuplicates ? duplicatesOf(document) : [] };
  } catch (error) {
    // Too many aliases, or nested too deeply.
    return { mistake: `body: ${(error as Error).message}` };
  }
}

function duplicatesOf(document: Document): string[] {
  const duplicates: string[] = [];
  visit(document, {
    Map: (_key, map, ancestors) => {
      const seen = new Set<unknown>();
      for (const { key } of map.items) {
        const name = isScalar(key) ? key.value : undefined;
        if (name !== undefined && seen.has(name)) {
          const names = [...ancestors.filter((one) => isPair(one)).map((one) => String(one.key)), String(name)];
          if (duplicates.push(names.join('.')) === mostDuplicates) return visit.BREAK;
        }
        seen.add(name);
      }
      return undefined;
    },
  });
  return duplicates;
}

/** Integers as they are written; what JSON has no number for is refused. */
function exactly(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(String(value));
  if (typeof value === 'number' && !Number.isFinite(value)) throw new Error(`${value} is no number of JSON`);
  return value;
}
