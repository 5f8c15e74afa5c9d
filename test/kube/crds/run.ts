/**
 * Loads every CustomResourceDefinition of a folder, then sends its samples, those that must be accepted and those that must be
 * refused: natively, as a Kubernetes client does, and with the kubectl of the machine.
 * `node test/kube/crds/run.ts --folder FOLDER [--kubectl]`, where `definitions/` has YAML files (perhaps gzipped) and
 * `samples/<project>/{valid,invalid}` objects. Prints a table: how many outcomes are as they should be, of how many. A refusal is right when
 * it names each expected cause and, natively, the same fields. Exit code 1 when one is another.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { LoopGuard } from '../../api/loop-guard.ts';
import type { Reply } from '../harness.ts';
import { Facade } from '../harness.ts';
import { Kubectl } from '../kubectl.ts';
import { causes } from './causes.ts';
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
  /** The fields that a refusal names, as JSON pointers; `kubectl` prints them in its message alone. */
  readonly fields?: readonly string[];
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

function outcomeOf({ status }: Reply, message: string, fields: string[]): Outcome {
  const sorted = [...new Set(fields)].sort();
  return { status: status === 201 ? 'accepted' : status === 422 ? 'refused' : 'failed', message, fields: sorted };
}

/** `/spec/from/0/name` of `spec.from[0].name`; the whole object has the empty pointer. */
function pointerOf(field: string): string {
  if (field === '<nil>') return '';
  const tokens = field.match(/[^.[\]]+/g) ?? [];
  return tokens.map((token) => `/${token}`).join('');
}

const ways: Readonly<Record<string, (object: any, crd: any) => Promise<Outcome>>> = {
  async facade(object, crd) {
    const { place, body } = await placed(object, crd);
    const reply = await facade.kube(`/apis/${object.apiVersion}/${place}?dryRun=All`, { body });
    const fields = (reply.json?.details?.causes ?? []).map(({ field }: { field: string }) => pointerOf(field));
    return outcomeOf(reply, reply.json?.message ?? reply.text, fields);
  },
  async native(object, crd) {
    const { place, body } = await placed(object, crd);
    const reply = await facade.send(`/apis/${object.apiVersion}/${place}?dryRun=true`, { body });
    const errors = (reply.json?.errors ?? []).map(({ pointer, message }: any) => `${pointer} ${message}`);
    const fields = (reply.json?.errors ?? []).map(({ pointer }: { pointer: string }) => pointer);
    return outcomeOf(reply, errors.join('; ') || reply.text, fields);
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

interface Refusal {
  /** Texts that it must contain; undefined when the sample must be accepted. */
  readonly causes: readonly string[] | undefined;
  /** What the façade named, which is asked first. */
  fields?: readonly string[] | undefined;
}

/** A sample with what is expected of it. */
function expectation<T extends { readonly _err?: string }>(project: string, sort: string, file: string, object: T) {
  const named = object._err === undefined ? causes[`${project}/${file.replace(/\.yaml$/, '')}`] : [object._err];
  if (sort === 'invalid' && named === undefined) faults.push(`${project}/${file}: no cause is expected of it`);
  const refusal: Refusal = { causes: sort === 'invalid' ? (named ?? []) : undefined };
  return { file, object, refusal };
}

function mistakeOf(way: string, { status, message, fields }: Outcome, expected: Refusal): string | undefined {
  if (!expected.causes) return status === 'accepted' ? undefined : `${status}, expected it to be accepted`;
  if (status !== 'refused') return `${status}, expected it to be refused`;
  // The native API says the same in words of its own, about the same fields.
  if (way === 'native') {
    return String(fields) === String(expected.fields) ? undefined : `names ${fields}, the façade ${expected.fields}`;
  }
  const missing = expected.causes.find((cause) => !message.includes(cause));
  return missing === undefined ? undefined : `expected "${missing}"`;
}

const rows: Record<string, string | number>[] = [];
const samples = join(folder, 'samples');
for (const project of readdirSync(samples).sort()) {
  for (const sort of readdirSync(join(samples, project)).sort()) {
    const objects = readdirSync(join(samples, project, sort))
      .sort()
      .flatMap((file) =>
        documents(join(samples, project, sort, file)).map((object) => expectation(project, sort, file, object)),
      );
    const row: Record<string, string | number> = { project, samples: sort };
    let unknown = 0;
    for (const [way, send] of Object.entries(ways)) {
      let [right, all] = [0, 0];
      for (const { file, object, refusal } of objects) {
        const crd = kinds.get(`${object.apiVersion} ${object.kind}`);
        if (!crd && way === 'facade') unknown++;
        if (!crd) continue;
        const outcome = await send(object, crd);
        all++;
        if (way === 'facade') refusal.fields = outcome.fields;
        const mistake = mistakeOf(way, outcome, refusal);
        if (mistake === undefined) right++;
        else faults.push(`${way} ${project}/${sort}/${file}: ${mistake}: ${outcome.message.slice(0, 300)}`);
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
