import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { KindredError } from '../../src/errors.ts';
import { GroupVersion, route } from '../../src/http/custom/declaration.ts';
import type { ModelType } from '../../src/model/model-type.ts';
import type { PluginContext } from '../../src/plugin/plugin.ts';
import { definePlugin } from '../../src/plugin/plugin.ts';
import type { ExtensionClient } from '../../src/resource/extension-client.ts';
import type { Live, Send } from './live.ts';
import { expect, live } from './live.ts';
import { Book, Shelf } from './models.ts';
import type { OracleBinding, OracleRole, OracleState, Question, Somebody } from './oracle.ts';
import { answer } from './oracle.ts';

const people = Number(process.env.MATRIX_PEOPLE ?? 90);
const seed = Number(process.env.MATRIX_SEED ?? 3);

/** Calls the model's client as the caller of a custom route: the second way in beside the generated routes. */
type ClientCall =
  | 'get'
  | 'list'
  | 'create'
  | 'update'
  | 'patch'
  | 'delete'
  | 'watch'
  | 'count'
  | 'listNames'
  | 'listAll';
const clientCalls: Readonly<Record<ClientCall, string>> = {
  get: 'get',
  list: 'list',
  count: 'list',
  listNames: 'list',
  listAll: 'list',
  create: 'create',
  update: 'update',
  patch: 'patch',
  delete: 'delete',
  watch: 'watch',
};

async function callClient(client: ExtensionClient, type: ModelType, call: ClientCall): Promise<void> {
  const object = { metadata: { name: 'nobody' } } as never;
  if (call === 'create') await client.create(type, { metadata: { name: 'no such NAME' } } as never);
  else if (call === 'update') await client.update(type, object);
  else if (call === 'patch') await client.patch(type, 'nobody', {});
  else if (call === 'listAll') for await (const _ of client.listAll(type)) break;
  else if (call === 'watch') for await (const _ of client.watch(type, { since: '999999999' })) break;
  else if (call === 'get' || call === 'delete') await client[call](type, 'nobody');
  else await client[call](type);
}

const types: Readonly<Record<string, ModelType>> = { books: Book, shelves: Shelf };

const library = definePlugin({
  start(context: PluginContext) {
    context.schemeManager.register(Book);
    context.schemeManager.register(Shelf);
    context.registerEndpoint({
      groupVersion: () => GroupVersion.parse('api.library.example/v1alpha1'),
      endpoint: () =>
        route()
          .GET('/books/-/random', () => ({}))
          .GET('/books/{name}/pages', () => ({}))
          .GET('/books/{name}/pages/{page}', () => ({}))
          .POST('/books/-/import', () => ({}))
          .PUT('/books/{name}/cover', () => ({}))
          .PATCH('/books/{name}/cover', () => ({}))
          .DELETE('/books/{name}/cover', () => ({}))
          .POST('/shelves/{name}/clients/{call}', async (request) => {
            // `{name}` is the plural, so that nothing but the client's own check is under test.
            const { name, call } = request.params;
            return callClient(request.client, types[name!]!, call as ClientCall).then(
              () => ({ code: 'done' }),
              (error: unknown) => ({ code: error instanceof KindredError ? error.code : String(error) }),
            );
          })
          .build(),
    });
  },
});

const groups = ['', 'library.example', 'api.library.example', 'plugin.platform.run'];
/** Each value at most once: a role names none twice. What is listed more often comes more often. */
const some = <T>(values: readonly T[], max: number) =>
  fc.array(fc.constantFrom(...values), { maxLength: max }).map((chosen) => [...new Set(chosen)]);
const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'explain', '*', '*'];
const resources = [
  'books',
  'shelves',
  'users',
  'roles',
  'secrets',
  'configmaps',
  'personalaccesstokens',
  'plugins',
  'books/status',
  'books/pages',
  'books/cover',
  'books/import',
  '*',
  '*',
  '*/status',
];
const rule = fc.record({
  apiGroups: some([...groups, '*', '*', '*'], 3),
  resources: some(resources, 5),
  verbs: some(verbs, 4),
  resourceNames: fc.constantFrom<string[]>([], [], ['ada'], ['ada', 'bob']),
});
const pathRule = fc.record({
  nonResourceURLs: some(['/metrics', '/apis', '/v3/*', '*'], 2),
  verbs: some(['get', 'post', '*'], 2),
});
const roleNames = Array.from({ length: 24 }, (_, i) => `r${i}`);
const arbitraryRoles = fc.tuple(
  ...roleNames.map(
    (name, i): fc.Arbitrary<OracleRole> =>
      fc.record({
        name: fc.constant(name),
        rules: fc.array(fc.oneof({ weight: 5, arbitrary: rule }, { weight: 1, arbitrary: pathRule }), {
          maxLength: 3,
        }) as fc.Arbitrary<OracleRole['rules']>,
        dependencies: i % 3 === 0 ? some(roleNames, 2) : fc.constant<string[]>([]),
        aggregatesTo: i % 4 === 0 ? some(roleNames, 1) : fc.constant<string[]>([]),
      }),
  ),
);

interface Person {
  who: Somebody;
  bound: string[];
}
const arbitraryPerson = fc.record({
  bound: some(roleNames, 3),
  tokenRoles: fc.oneof(fc.constant<string[]>([]), fc.constant<string[]>([]), some(roleNames, 2)),
});

interface Cell {
  readonly title: string;
  readonly questions: readonly Question[];
  run(send: Send): Promise<number>;
}

/** One cell for each way to reach each operation of the API description that the service itself gives. */
async function cellsOf(world: Live): Promise<Cell[]> {
  const document = (await expect(200, world.admin('GET', '/v3/api-docs/apis_aggregated.api_v1alpha1'))).body;
  const cells: Cell[] = [];
  const add = (
    title: string,
    questions: Question[],
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ) => {
    cells.push({ title, questions, run: async (send) => (await send(method, path, body, headers)).status });
  };
  for (const [template, item] of Object.entries<Record<string, unknown>>(document.paths)) {
    if (!/^\/(?:api|apis\/[^/{]+)\/v\d+\w*\/./.test(template)) continue;
    for (const name of template.includes('{name}') ? ['ada', 'eve'] : [undefined]) {
      const path = template.replace('{name}', name ?? '').replace(/\{[^}]+\}/g, 'x');
      const [root, ...rest] = path.slice(1).split('/');
      const [group, , ...places] = root === 'api' ? ['', ...rest] : rest;
      const isInNamespace = template.includes('/namespaces/{namespace}/');
      const [resource, named, ...sub] = isInNamespace ? places.slice(2) : places;
      const full = [resource!, ...sub].join('/');
      const target = { group: group!, resource: full, ...(named && named !== '-' && { name: named }) };
      const isModel = !/^(?:console\.)?api\./.test(group!);
      const isList = isModel && named === undefined;
      if (template.includes('{call}')) continue;
      for (const method of ['get', 'post', 'put', 'patch', 'delete'].filter((one) => one in item)) {
        const upper = method.toUpperCase();
        const verb = {
          get: target.name === undefined ? 'list' : 'get',
          post: 'create',
          put: 'update',
          patch: 'patch',
          delete: 'delete',
        }[method]!;
        const question = { verb, ...target };
        const patch = method === 'patch' && isModel ? { 'content-type': 'application/merge-patch+json' } : undefined;
        add(
          `${upper} ${path}`,
          [question],
          upper,
          path,
          method === 'get' || method === 'delete' ? undefined : {},
          patch,
        );
        if (method === 'get') add(`HEAD ${path}`, [question], 'HEAD', path);
        if (method === 'patch' && isModel)
          add(`JSON ${path}`, [question], upper, path, [], { 'content-type': 'application/json-patch+json' });
        if (method === 'post' && isList)
          add(`bulk ${path}`, [question], upper, path, '{}\n', { 'content-type': 'application/x-ndjson' });
        if (method === 'get' && isList) {
          add(`export ${path}`, [question], 'GET', path, undefined, { accept: 'application/x-ndjson' });
          add(`total ${path}`, [question], 'GET', `${path}?fieldSelector=name%3Dada&size=1`);
          add(`explain ${path}`, [{ ...question, verb: 'explain' }], 'GET', `${path}?explain=true`);
          add(`watch ${path}`, [question, { ...question, verb: 'watch' }], 'GET', `${path}?watch=true&since=999999999`);
          add(
            `live page ${path}`,
            [question, { ...question, verb: 'watch' }],
            'GET',
            `${path}?watch=true&since=999999999&page=1`,
            undefined,
            { accept: 'text/event-stream' },
          );
        }
      }
    }
  }
  for (const path of [
    '/metrics',
    '/apis',
    '/v3/api-docs',
    '/v3/api-docs/apis_extension.api_v1alpha1',
    '/apis/library.example',
    '/nowhere',
  ]) {
    add(`GET ${path}`, [{ verb: 'get', path }], 'GET', path);
  }
  for (const plural of Object.keys(types)) {
    for (const [call, verb] of Object.entries(clientCalls)) {
      const path = `/apis/api.library.example/v1alpha1/shelves/${plural}/clients/${call}`;
      const named = ['get', 'update', 'patch', 'delete'].includes(verb);
      const question = { verb, group: 'library.example', resource: plural, ...(named && { name: 'nobody' }) };
      const entry = { verb: 'create', group: 'api.library.example', resource: 'shelves/clients', name: plural };
      const both = verb === 'watch' ? [{ ...question, verb: 'list' }] : [];
      cells.push({
        title: `client.${call} ${plural}`,
        questions: [entry, question, ...both],
        run: async (send) => {
          const { status, body } = await send('POST', path);
          return body.code === 'Forbidden' ? 403 : status;
        },
      });
    }
  }
  add('POST /v3/can-i', [{ verb: 'post', path: '/v3/can-i' }], 'POST', '/v3/can-i', {});
  return cells;
}

test('permissions: every role × verb × model × route kind × transport of the live router equals an independent oracle', async (t) => {
  const world = await live({ plugins: [{ name: 'library', plugin: library }] });
  try {
    for (const name of ['ada', 'bob', 'eve']) {
      await expect(
        201,
        world.admin('POST', '/apis/library.example/v1alpha1/shelves', { metadata: { name }, spec: { title: name } }),
      );
    }
    const [roles] = fc.sample(arbitraryRoles, { numRuns: 1, seed });
    const persons = fc.sample(arbitraryPerson, { numRuns: people, seed });
    for (const one of roles!) {
      const labels = Object.fromEntries(
        one.aggregatesTo.map((target) => [`rbac.platform.run/aggregate-to-${target}`, 'true']),
      );
      const annotations = { 'rbac.platform.run/dependencies': JSON.stringify(one.dependencies) };
      await expect(
        201,
        world.admin('POST', '/api/v1alpha1/roles', {
          metadata: { name: one.name, labels, annotations },
          rules: one.rules,
        }),
      );
    }
    const state: OracleState = { roles: [...roles!], bindings: [], disabled: [] };
    for (const name of ['authenticated', 'anonymous']) {
      const { rules } = (await expect(200, world.admin('GET', `/api/v1alpha1/roles/${name}`))).body;
      state.roles.push({ name, rules, dependencies: [], aggregatesTo: [] });
    }
    const crowd: (Person & { send: Send })[] = [];
    const clients = { apiGroups: ['api.library.example'], resources: ['shelves/clients'], verbs: ['create'] };
    await expect(201, world.admin('POST', '/api/v1alpha1/roles', { metadata: { name: 'clients' }, rules: [clients] }));
    state.roles.push({ name: 'clients', rules: [clients], dependencies: [], aggregatesTo: [] });
    for (const [i, { bound, tokenRoles: narrow }] of persons.entries()) {
      const name = `person-${i}`;
      const unique = [...new Set(bound), 'clients'];
      const tokenRoles = narrow.length > 0 ? [...narrow, 'clients'] : [];
      const { send } = await world.person(name, unique, tokenRoles.length > 0 ? { roles: tokenRoles } : {});
      crowd.push({ who: { kind: 'User', name, claimed: ['authenticated'], tokenRoles }, bound: unique, send });
      const bindings = unique.map((role): OracleBinding => ({ role, subjects: [{ kind: 'User', name }] }));
      state.bindings.push(...bindings);
    }
    const cells = await cellsOf(world);
    const counts = { allowed: 0, refused: 0 };
    const wrong: string[] = [];
    const judge = (title: string, who: Somebody, questions: readonly Question[], allowed: boolean, detail: unknown) => {
      const expected = questions.every((question) => answer(state, who, question) !== 'no');
      counts[expected ? 'allowed' : 'refused']++;
      if (allowed !== expected)
        wrong.push(`${who.name} ${title}: ${JSON.stringify(detail)}, expected ${expected ? 'allowed' : 'refused'}`);
    };
    await Promise.all(
      [...Array(8).keys()].map(async (lane) => {
        for (const person of crowd.filter((_, i) => i % 8 === lane)) {
          for (const cell of cells) {
            const status = await cell.run(person.send);
            if (status >= 500 || status === 401) wrong.push(`${cell.title}: ${status}`);
            judge(cell.title, person.who, cell.questions, status !== 403, status);
          }
        }
      }),
    );
    const total = counts.allowed + counts.refused;
    t.diagnostic(
      `${total} cells of ${cells.length} route kinds and ${crowd.length} people: ${JSON.stringify(counts)}, seed ${seed}`,
    );
    assert.deepEqual(wrong.slice(0, 20), []);
    assert.ok(total >= Math.min(20_000, people * 220), 'enough cells');
    assert.ok(counts.allowed > total / 20, 'the matrix must not be one-sided');
  } finally {
    await world.service.stop();
  }
});
