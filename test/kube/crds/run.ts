/**
 * Loads every CustomResourceDefinition of a folder, then sends its samples: those that must be accepted and those that
 * must be refused. `node test/kube/crds/run.ts --folder <folder>`, where `definitions/` has YAML files (perhaps gzipped)
 * and `samples/<project>/{valid,invalid}` objects. Exit code 1 when an outcome is another than it should be.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { LoopGuard } from '../../api/loop-guard.ts';
import { Facade } from '../harness.ts';
import { definitions, definitionsIn, documents, pathOf } from './definitions.ts';

const { folder = '' } = parseArgs({ options: { folder: { type: 'string' } } }).values;
const facade = new Facade({ kube: { enabled: true } });
await facade.start();

const faults: string[] = [];
const kinds = new Map<string, any>();
const guard = new LoopGuard();
for (const crd of definitionsIn(join(folder, 'definitions'))) {
  const body = JSON.stringify(crd);
  guard.take();
  const cpu = process.cpuUsage();
  const started = performance.now();
  const reply = await facade.kube(definitions, { body });
  if (reply.status !== 201) {
    faults.push(`${crd.metadata.name}: ${reply.status} ${reply.json?.message ?? reply.text}`);
    continue;
  }
  const path = pathOf(crd);
  let served = await facade.kube(path);
  while (served.status !== 200 && performance.now() - started < 10_000) served = await facade.kube(path);
  const { user, system } = process.cpuUsage(cpu);
  const times = `${Math.round(performance.now() - started)} ms, ${Math.round((user + system) / 1_000)} ms of processor`;
  const turn = `longest turn ${Math.round(guard.take())} ms`;
  console.log(`${crd.metadata.name}: ${body.length} characters, served ${served.status} after ${times}, ${turn}`);
  for (const { name } of crd.spec.versions) kinds.set(`${crd.spec.group}/${name} ${crd.spec.names.kind}`, crd);
}
guard.stop();

const made = new Set(['default']);
async function send(object: any): Promise<{ status: number; message: string } | undefined> {
  const crd = kinds.get(`${object.apiVersion} ${object.kind}`);
  if (!crd) return undefined;
  const isNamespaced = crd.spec.scope === 'Namespaced';
  const namespace = object.metadata.namespace ?? 'default';
  if (isNamespaced && !made.has(namespace)) {
    made.add(namespace);
    await facade.kube('/api/v1/namespaces', { body: { metadata: { name: namespace } } });
  }
  const { _err, ...body } = object;
  const place = `/apis/${object.apiVersion}${isNamespaced ? `/namespaces/${namespace}` : ''}/${crd.spec.names.plural}`;
  const { status, json, text } = await facade.kube(`${place}?dryRun=All`, { body });
  return { status, message: json?.message ?? text };
}

let isFine = true;
const samples = join(folder, 'samples');
for (const project of readdirSync(samples).sort()) {
  for (const sort of readdirSync(join(samples, project))) {
    let [right, wrong, other] = [0, 0, 0];
    for (const file of readdirSync(join(samples, project, sort)).sort()) {
      for (const object of documents(join(samples, project, sort, file))) {
        const outcome = await send(object);
        if (!outcome) {
          other++;
          continue;
        }
        const { status, message } = outcome;
        const expected: string = object._err ?? '';
        const isInvalid = sort === 'invalid' && status === 422 && message.includes(expected);
        const isRight = sort === 'valid' ? status === 201 : isInvalid;
        if (isRight) right++;
        else {
          wrong++;
          faults.push(
            `${project}/${sort}/${file}: ${status} ${expected && `expected "${expected}": `}${message.slice(0, 300)}`,
          );
        }
      }
    }
    console.log(`${project} ${sort}: ${right} as they should be, ${wrong} not, ${other} of other kinds`);
  }
}
for (const one of faults) console.log(one);
isFine = faults.length === 0;
await facade.stop();
process.exitCode = isFine ? 0 : 1;
