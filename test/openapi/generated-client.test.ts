import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { Type } from 'typebox';
import type { CustomRequest } from '../../src/http/custom/declaration.ts';
import { GroupVersion, route } from '../../src/http/custom/declaration.ts';
import { defineModel } from '../../src/model/define.ts';
import type { PluginContext } from '../../src/plugin/plugin.ts';
import { definePlugin } from '../../src/plugin/plugin.ts';
import { createService } from '../../src/service.ts';
import { Job, Person } from '../api/harness.ts';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../..');

/** What a user of the generated types would write; every line must compile under `strict`. */
const program = `
import createClient from 'openapi-fetch';
import type { components, paths } from './api.js';

type Person = components['schemas']['Person'];
const client = createClient<paths>({ baseUrl: process.argv[2]! });
const base = '/apis/demo.example.com/v1alpha1/persons';

const created = await client.POST(\`/apis/demo.example.com/v1alpha1/persons\`, {
  params: {},
  body: { metadata: { name: 'ada', labels: { team: 'a' } }, spec: { name: 'Ada', age: 36 } },
});
const person: Person = created.data!;
const age: number | undefined = person.spec.age;

const one = await client.GET(\`/apis/demo.example.com/v1alpha1/persons/{name}\`, { params: { path: { name: 'ada' } } });
const version: number = one.data!.metadata.version;

const updated = await client.PUT(\`/apis/demo.example.com/v1alpha1/persons/{name}\`, {
  params: { path: { name: 'ada' } },
  body: { ...one.data!, spec: { ...one.data!.spec, age: 37 } },
});
const patched = await client.PATCH(\`/apis/demo.example.com/v1alpha1/persons/{name}\`, {
  params: { path: { name: 'ada' } },
  headers: { 'Content-Type': 'application/merge-patch+json' },
  body: { spec: { email: 'ada@example.com' } },
});
const list = await client.GET(\`/apis/demo.example.com/v1alpha1/persons\`, {
  params: { query: { page: 1, size: 10, sort: ['spec.age,desc'], labelSelector: ['team=a'], fieldSelector: ['spec.age>30'] } },
});
const names: string[] = list.data!.items.map((item) => item.metadata.name);
const missing = await client.GET(\`/apis/demo.example.com/v1alpha1/persons/{name}\`, { params: { path: { name: 'nobody' } } });
const code: 'NotFound' | string = missing.error!.code;
const invalid = await client.POST(\`/apis/demo.example.com/v1alpha1/persons\`, {
  // @ts-expect-error an age is a number
  body: { metadata: { name: 'bob' }, spec: { name: 'Bob', age: 'old' } },
});
// @ts-expect-error no index has this name
await client.GET(\`/apis/demo.example.com/v1alpha1/persons\`, { params: { query: { sort: ['spec.email,asc'] } } });
const greeting = await client.POST('/apis/api.demo.example.com/v1alpha1/persons/{name}/greetings', {
  params: { path: { name: 'ada' } },
  body: { text: 'Hello' },
});
const said: string = greeting.data!.said;
const job = await client.POST('/apis/demo.example.com/v1alpha1/jobs', { body: { metadata: { generateName: 'j-' }, spec: { command: 'x' } } });
const done = await client.PATCH('/apis/demo.example.com/v1alpha1/jobs/{name}/status', {
  params: { path: { name: job.data!.metadata.name } },
  headers: { 'Content-Type': 'application/json-patch+json' },
  body: [{ op: 'add', path: '/status', value: { phase: 'done' } }],
});
// What has a default may be left out, and is there in the answer.
const todo = await client.POST('/apis/todo.example.com/v1/todos', {
  body: { metadata: { name: 'milk' }, spec: { title: 'Milk', by: { name: 'ada' } } },
});
const isDone: boolean = todo.data!.spec.done;
const priority: number = todo.data!.spec.by.priority;
const redone = await client.PUT('/apis/todo.example.com/v1/todos/{name}', {
  params: { path: { name: 'milk' } },
  body: { metadata: { name: 'milk' }, spec: { title: 'Milk again', by: { name: 'ada' } } },
});
// @ts-expect-error a title has no default
const untitled = { spec: { by: { name: 'ada' } }, metadata: {} } satisfies components['schemas']['Todo.new'];
// One kind of body and one kind of success: streams and bulk bodies are out of the way.
type Create = paths['/apis/todo.example.com/v1/todos']['post'];
const bodies: 'application/json' = null! as keyof Create['requestBody']['content'];
const successes: 201 = null! as Extract<keyof Create['responses'], 200 | 201 | 204>;
const removed = await client.DELETE(\`/apis/demo.example.com/v1alpha1/persons/{name}\`, { params: { path: { name: 'ada' } } });
console.log(JSON.stringify({
  age, version, base,
  updated: updated.data!.spec.age,
  email: patched.data!.spec.email,
  total: list.data!.total,
  names,
  code,
  keywords: invalid.error!.errors!.map((one) => [one.pointer, one.keyword]),
  said,
  phase: done.data!.status!.phase,
  todo: [isDone, priority, redone.data!.spec.title, redone.data!.spec.done],
  deleted: removed.data!.metadata.deletionTimestamp !== undefined,
}));
`;

const Todo = defineModel({
  gvk: { group: 'todo.example.com', version: 'v1', kind: 'Todo', singular: 'todo', plural: 'todos' },
  spec: Type.Object({
    title: Type.String({ minLength: 1 }),
    done: Type.Boolean({ default: false }),
    by: Type.Object({ name: Type.String(), priority: Type.Integer({ default: 3 }) }),
  }),
});

const Greeting = Type.Object({ text: Type.String({ minLength: 1 }) });

const greeter = definePlugin({
  start(context: PluginContext) {
    context.registerEndpoint({
      groupVersion: () => GroupVersion.parse('api.demo.example.com/v1alpha1'),
      endpoint: () =>
        route()
          .POST(
            '/persons/{name}/greetings',
            ({ body, params }: CustomRequest) => ({ said: `${body.text}, ${params.name}` }),
            (d) =>
              d
                .operationId('Greet')
                .requestBody(Greeting)
                .response(Type.Object({ said: Type.String() })),
          )
          .build(),
    });
  },
  stop() {},
});

test('api-description: a TypeScript client generated from the description compiles under strict and works', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'kindred-client-'));
  const service = await createService({
    database: 'sqlite::memory:',
    port: 0,
    auth: false,
    plugins: [{ name: 'greeter', plugin: greeter }],
  });
  try {
    service.schemeManager.register(Person);
    service.schemeManager.register(Job);
    service.schemeManager.register(Todo);
    const { url } = await service.start();
    const document = await (await fetch(`${url}/v3/api-docs/apis_aggregated.api_v1alpha1`)).text();
    await writeFile(join(folder, 'api.json'), document);
    await writeFile(join(folder, 'program.ts'), program);
    await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
    await writeFile(
      join(folder, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: {
          strict: true,
          exactOptionalPropertyTypes: true,
          noUncheckedIndexedAccess: true,
          target: 'es2024',
          lib: ['es2024', 'dom'],
          module: 'nodenext',
          types: ['node'],
          outDir: 'out',
          rootDir: '.',
        },
        files: ['program.ts', 'api.d.ts'],
      }),
    );
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
    const generator = join(root, 'tools/client-types/node_modules/openapi-typescript/bin/cli.js');
    await run(process.execPath, [generator, 'api.json', '-o', 'api.d.ts'], { cwd: folder });
    assert.match(await readFile(join(folder, 'api.d.ts'), 'utf8'), /listPerson/);
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    const compiled = await run(process.execPath, [compiler, '-p', '.'], { cwd: folder }).catch((error) => error);
    assert.equal(compiled.stdout, '');
    const { stdout } = await run(process.execPath, ['out/program.js', url], { cwd: folder });
    assert.deepEqual(JSON.parse(stdout), {
      age: 36,
      version: 0,
      base: '/apis/demo.example.com/v1alpha1/persons',
      updated: 37,
      email: 'ada@example.com',
      total: 1,
      names: ['ada'],
      code: 'NotFound',
      keywords: [['/spec/age', 'type']],
      said: 'Hello, ada',
      phase: 'done',
      todo: [false, 3, 'Milk again', false],
      deleted: true,
    });
  } finally {
    await service.stop();
    await rm(folder, { recursive: true, force: true });
  }
});
