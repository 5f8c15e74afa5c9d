/** Reads YAML in a thread of its own: a text of 1 MiB takes seconds. */
import { parentPort } from 'node:worker_threads';
import { parseYaml } from '../../runtime/yaml.ts';
import type { YamlAnswer, YamlRequest } from './yaml-body.ts';

const port = parentPort!;

port.on('message', ({ text, limit }: YamlRequest) => port.postMessage(answerTo(text, limit)));

function answerTo(text: string, limit: number): YamlAnswer {
  try {
    const { value, mistake } = parseYaml(text, 'body', { intAsBigInt: true });
    if (mistake !== undefined) return { mistake };
    const json = JSON.stringify(value ?? null, exactly);
    return json.length > limit ? { mistake: `body: with its aliases it has more than ${limit} characters` } : { json };
  } catch (error) {
    // Too many aliases, or nested too deeply.
    return { mistake: `body: ${(error as Error).message}` };
  }
}

/** Integers as they are written; what JSON has no number for is refused. */
function exactly(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(String(value));
  if (typeof value === 'number' && !Number.isFinite(value)) throw new Error(`${value} is no number of JSON`);
  return value;
}
