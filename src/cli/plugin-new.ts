import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isSubdomain } from '../model/names.ts';
import { UsageError } from './io.ts';

/** What the manifest of this package says about the versions that a new package needs. */
export interface OwnManifest {
  readonly version: string;
  readonly devDependencies: Readonly<Record<string, string>>;
}

/**
 * Writes the package of a new plugin into a folder of its name in the current one: a model with indexes, a controller,
 * an endpoint, a bundled object, and a test that starts the service with it.
 * @param group of the model; its routes are below `api.<group>`
 * @returns the files, as paths from the current folder
 */
export function newPlugin(name: string, group: string | undefined, own: OwnManifest): Promise<string[]> {
  return newFolder(name, group, (ofGroup) => pluginFiles(name, ofGroup, own));
}

/** Writes files into a folder that is made in the current one; wrong names make nothing. */
export async function newFolder(
  name: string,
  group = `${name}.example.com`,
  contents: (group: string) => Readonly<Record<string, string>>,
): Promise<string[]> {
  if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name)) {
    throw new UsageError(
      `"${name}" is no plugin name: at most 63 lower-case letters, digits and "-", beginning and ending with a letter or digit`,
    );
  }
  if (group === '' || !isSubdomain(group) || `api.${group}`.length > 253) {
    throw new UsageError(`"${group}" is no group: it is a domain name in lower case, such as "tasks.example.com"`);
  }
  await mkdir(name).catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(error.code === 'EEXIST' ? `the folder ${name} is there already` : error.message);
  });
  const files = Object.entries(contents(group));
  for (const [path, content] of files) {
    await mkdir(dirname(join(name, path)), { recursive: true });
    await writeFile(join(name, path), content);
  }
  return files.map(([path]) => join(name, path));
}

/** Paths and contents of a plugin's package. */
export function pluginFiles(name: string, group: string, own: OwnManifest): Record<string, string> {
  return {
    'package.json': `${JSON.stringify(pluginManifest(name, own), null, 2)}\n`,
    'plugin.ts': `import { definePlugin } from 'kindred';
import { TaskController } from './controller.ts';
import { taskSummary } from './endpoint.ts';
import { Task } from './task.ts';

export default definePlugin({
  start({ schemeManager, registerController, registerEndpoint, client }) {
    schemeManager.register(Task);
    registerController(new TaskController(client));
    registerEndpoint(taskSummary);
  },
});
`,
    'task.ts': `import { defineModel, type ObjectOf, Type } from 'kindred';

/** The model: /apis/${group}/v1alpha1/tasks */
export const Task = defineModel({
  gvk: { group: '${group}', version: 'v1alpha1', kind: 'Task', singular: 'task', plural: 'tasks' },
  spec: Type.Object({
    title: Type.String({ minLength: 1, maxLength: 200 }),
    due: Type.Optional(Type.String({ format: 'date-time' })),
    done: Type.Boolean({ default: false }),
    tags: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { uniqueItems: true })),
  }),
  status: Type.Object({
    phase: Type.Enum(['Open', 'Overdue', 'Done']),
  }),
  // What is to be queried or sorted on.
  indexes: (index) => [
    index.single('spec.title', String, (task) => task.spec.title),
    index.single('spec.due', Date, (task) => task.spec.due),
    index.multi('spec.tags', String, (task) => task.spec.tags),
    index.single('status.phase', String, (task) => task.status?.phase),
  ],
});
export type Task = ObjectOf<typeof Task>;
`,
    'controller.ts': `import { type Controller, type ControllerBuilder, type ExtensionClient, type ReconcileRequest, type Reconciler, Result } from 'kindred';
import { Task } from './task.ts';

/** Keeps status.phase true: called after every change of a task, and again when it becomes overdue. */
export class TaskController implements Reconciler {
  readonly #client: ExtensionClient;

  constructor(client: ExtensionClient) {
    this.#client = client;
  }

  setupWith(builder: ControllerBuilder): Controller {
    return builder.extension(Task).build();
  }

  async reconcile({ name }: ReconcileRequest): Promise<Result | void> {
    const task = await this.#client.fetch(Task, name);
    if (!task || task.metadata.deletionTimestamp) return;
    const { done, due } = task.spec;
    const left = due === undefined ? Number.POSITIVE_INFINITY : Date.parse(due) - Date.now();
    const phase = done ? 'Done' : left <= 0 ? 'Overdue' : 'Open';
    // A status that is right already changes nothing, so this does not call itself again.
    await this.#client.updateStatus(Task, { ...task, status: { phase } });
    if (phase === 'Open' && Number.isFinite(left)) return Result.requeue(Math.min(left + 1, 3_600_000));
  }
}
`,
    'endpoint.ts': `import { type CustomEndpoint, GroupVersion, ListOptions, Queries, route, Type } from 'kindred';
import { Task } from './task.ts';

const phases = ['Open', 'Overdue', 'Done'];

/** GET /apis/api.${group}/v1alpha1/tasks/-/summary */
export const taskSummary: CustomEndpoint = {
  groupVersion: () => GroupVersion.parse('api.${group}/v1alpha1'),
  endpoint: () =>
    route()
      .GET(
        '/tasks/-/summary',
        async ({ client }) => {
          const count = (phase: string) =>
            client.count(Task, ListOptions.builder().andQuery(Queries.equal('status.phase', phase)).build());
          return Object.fromEntries(await Promise.all(phases.map(async (phase) => [phase, await count(phase)])));
        },
        (d) =>
          d
            .operationId('SummarizeTasks')
            .tag('TaskV1alpha1Public')
            .description('How many tasks are in each phase.')
            .response(Type.Record(Type.String(), Type.Integer())),
      )
      .build(),
};
`,
    'extensions/welcome.yaml': `# Created when the plugin starts, removed when it stops.
apiVersion: ${group}/v1alpha1
kind: Task
metadata:
  name: welcome
spec:
  title: Look at the tasks of this plugin
  tags: [hello]
`,
    'plugin.test.ts': `import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { NewOf } from 'kindred';
import { type Harness, startHarness } from 'kindred/testing';
import { Task } from './task.ts';

let harness: Harness;

before(async () => {
  harness = await startHarness({ plugins: [import.meta.dirname] });
});
after(() => harness.stop());

test('the bundled task is there', async () => {
  const { spec } = await harness.client.get(Task, 'welcome');
  assert.deepEqual(spec, { title: 'Look at the tasks of this plugin', tags: ['hello'], done: false });
});

test('a task without a title is refused with the field', async () => {
  const task = { metadata: { name: 'untitled' }, spec: { title: '' } };
  const answer = await harness.fetch('/apis/${group}/v1alpha1/tasks', { method: 'POST', json: task });
  assert.equal(answer.status, 422);
  const { errors } = (await answer.json()) as { errors: { pointer: string }[] };
  assert.deepEqual(errors.map(({ pointer }) => pointer), ['/spec/title']);
});

test('the controller sets the phase, and the endpoint counts it', async () => {
  const create = (name: string, spec: NewOf<typeof Task>['spec']) =>
    harness.client.create(Task, { metadata: { name }, spec });
  await create('late', { title: 'Late', due: '2020-01-01T00:00:00Z' });
  await create('finished', { title: 'Finished', done: true });
  await harness.until(async () => {
    const answer = await harness.fetch('/apis/api.${group}/v1alpha1/tasks/-/summary');
    assert.deepEqual(await answer.json(), { Open: 1, Overdue: 1, Done: 1 });
    return true;
  });
  const late = await harness.fetch('/apis/${group}/v1alpha1/tasks?fieldSelector=status.phase=Overdue');
  const { items } = (await late.json()) as { items: Task[] };
  assert.deepEqual(items.map(({ metadata }) => metadata.name), ['late']);
});
`,
    'tsconfig.json': `{
  "compilerOptions": {
    "target": "es2024",
    "lib": ["esnext", "dom"],
    "module": "nodenext",
    "strict": true,
    "noEmit": true,
    "allowImportingTsExtensions": true,
    "verbatimModuleSyntax": true,
    "erasableSyntaxOnly": true,
    "skipLibCheck": true,
    "types": ["node"]
  }
}
`,
    'README.md': readme(name, group),
    '.gitignore': 'node_modules\ndist\n*.db\n*.db-*\n',
  };
}

function readme(name: string, group: string): string {
  return `# ${name}

A plugin for Kindred: tasks at \`/apis/${group}/v1alpha1/tasks\`, counted at \`/apis/api.${group}/v1alpha1/tasks/-/summary\`.

\`\`\`
npm install
npm test              # builds the plugin and starts the service with it
npm start             # the service with this plugin, loaded again whenever a source changes
npm run typecheck
npm run build         # dist/plugin.js, which is what runs where the package is installed
npm pack              # the package, ready to be installed or published
\`\`\`

| | |
|---|---|
| \`plugin.ts\` | what is registered when the plugin starts |
| \`task.ts\` | the model |
| \`controller.ts\` | what follows from a change of a task |
| \`endpoint.ts\` | a route of its own |
| \`extensions/\` | bundled objects |
| \`plugin.test.ts\` | the tests |
`;
}

/** The package.json of a plugin. */
export function pluginManifest(name: string, own: OwnManifest) {
  return {
    name,
    version: '0.1.0',
    private: true,
    type: 'module',
    main: 'dist/plugin.js',
    exports: {
      '.': { development: './plugin.ts', default: './dist/plugin.js' },
      './package.json': './package.json',
    },
    files: ['dist', 'extensions'],
    engines: { kindred: `>=${own.version}` },
    kindred: { name },
    scripts: {
      start: 'kindred serve --plugin . --insecure-no-auth --dev',
      build:
        'esbuild plugin.ts --bundle --packages=external --platform=node --format=esm --target=node24 --sourcemap --outfile=dist/plugin.js',
      prepack: 'npm run build',
      test: 'npm run build && node --test',
      typecheck: 'tsc',
    },
    devDependencies: {
      '@types/node': `^${own.devDependencies['@types/node']}`,
      esbuild: `^${own.devDependencies.esbuild}`,
      kindred: `^${own.version}`,
      typescript: `^${own.devDependencies.typescript}`,
    },
  };
}
