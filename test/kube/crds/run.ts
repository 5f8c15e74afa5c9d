/**
 * Loads every CustomResourceDefinition of a folder, then sends its samples, those that must be accepted and those that must be
 * refused: natively, as a Kubernetes client does, and with the kubectl of the machine.
 * `node test/kube/crds/run.ts --folder FOLDER [--kubectl]`, where `definitions/` has YAML files (perhaps gzipped) and
 * `samples/<project>/{valid,invalid}` objects. Prints a table: how many outcomes are as they should be, of how many. Exit code 1 when one
 * is another.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { LoopGuard } from '../../api/loop-guard.ts';
import type { Reply } from '../harness.ts';
import { Facade } from '../harness.ts';
import { Kubectl } from '../kubectl.ts';
import { definitions, definitionsIn, documents, pathOf } from './definitions.ts';

const { folder, kubectl: withKubectl } = parseArgs({
  options: { folder: { type: 'string', default: '' }, kubectl: { type: 'boolean', default: false } },
}).values;
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

interface Outcome {
  readonly status: 'accepted' | 'refused' | 'failed';
  readonly message: string;
}

const kubectl = withKubectl ? new Kubectl(facade.url) : undefined;
const made = new Set(['default']);

/** Its place behind the version, and the object as it is sent. */
async function placed({ _err, ...body }: any, crd: any): Promise<{ place: string; body: any }> {
  const { scope, names } = crd.spec;
  if (scope !== 'Namespaced') return { place: names.plural, body };
  const namespace = body.metadata.namespace ?? 'default';
  if (!made.has(namespace)) await facade.kube('/api/v1/namespaces', { body: { metadata: { name: namespace } } });
  made.add(namespace);
  return { place: `namespaces/${namespace}/${names.plural}`, body };
}

function outcomeOf({ status }: Reply, message: string): Outcome {
  return { status: status === 201 ? 'accepted' : status === 422 ? 'refused' : 'failed', message };
}

const ways: Readonly<Record<string, (object: any, crd: any) => Promise<Outcome>>> = {
  async native(object, crd) {
    const { place, body } = await placed(object, crd);
    const reply = await facade.send(`/apis/${object.apiVersion}/${place}?dryRun=true`, { body });
    const errors = (reply.json?.errors ?? []).map(({ pointer, message }: any) => `${pointer} ${message}`);
    return outcomeOf(reply, errors.join('; ') || reply.text);
  },
  async facade(object, crd) {
    const { place, body } = await placed(object, crd);
    const reply = await facade.kube(`/apis/${object.apiVersion}/${place}?dryRun=All`, { body });
    return outcomeOf(reply, reply.json?.message ?? reply.text);
  },
  ...(kubectl && {
    async kubectl(object, crd) {
      const { body } = await placed(object, crd);
      const args = ['create', '--dry-run=server', '--validate=false', '-f', '-'];
      const { code, stderr, stdout } = await kubectl.run(args, JSON.stringify(body));
      const isRefused = /is invalid: /.test(stderr);
      return { status: code === 0 ? 'accepted' : isRefused ? 'refused' : 'failed', message: stderr || stdout };
    },
  }),
};

const rows: Record<string, string | number>[] = [];
const samples = join(folder, 'samples');
for (const project of readdirSync(samples).sort()) {
  for (const sort of readdirSync(join(samples, project)).sort()) {
    const objects = readdirSync(join(samples, project, sort))
      .sort()
      .flatMap((file) => documents(join(samples, project, sort, file)).map((object) => ({ file, object })));
    const row: Record<string, string | number> = { project, samples: sort };
    let unknown = 0;
    for (const [way, send] of Object.entries(ways)) {
      let [right, all] = [0, 0];
      for (const { file, object } of objects) {
        const crd = kinds.get(`${object.apiVersion} ${object.kind}`);
        const outcome = crd && (await send(object, crd));
        if (!crd && way === 'facade') unknown++;
        if (!outcome) continue;
        all++;
        const { status, message } = outcome;
        // The native API says the same in words of its own.
        const expected: string = way === 'native' ? '' : (object._err ?? '');
        const isRight = status === (sort === 'valid' ? 'accepted' : 'refused') && message.includes(expected);
        if (isRight) right++;
        else
          faults.push(`${way} ${project}/${sort}/${file}: ${status}, expected "${expected}": ${message.slice(0, 300)}`);
      }
      row[way] = `${right} of ${all}`;
    }
    rows.push({ ...row, 'of other kinds': unknown });
  }
}
console.table(rows);
for (const one of faults) console.log(one);
kubectl?.close();
await facade.stop();
process.exitCode = faults.length === 0 ? 0 : 1;
