/** Replicas with different versions of a plugin over one database (docs/guide/changing-models.md). */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, describe, it } from 'node:test';
import type { Model, PluginContext, Service, Store } from 'kindred';
import { createService, defineModel, definePlugin, Type } from 'kindred';
import { keepsClaims } from '../../src/resource/claims.ts';
import { openStore } from '../../src/store/open.ts';
import { until } from '../../src/testing/until.ts';
import { kindred } from '../cli/command.ts';
import { cleanUp, folderOf, quiet } from '../plugins/kit.ts';
import type { TestDatabase } from '../servers.ts';
import { databaseAdapters } from '../servers.ts';

const gvk = { group: 'people.example.com', version: 'v1', kind: 'Person', singular: 'person', plural: 'persons' };
const persons = '/apis/people.example.com/v1/persons';
const state = '/apis/plugin.platform.run/v1alpha1/modelstates/persons.people.example.com';
const text = Type.Optional(Type.String());

const First = defineModel({ gvk, spec: Type.Object({ email: text }) });
/** Adds a member with a default, an index on it, and a unique index. */
const Second = defineModel({
  gvk,
  spec: Type.Object({ email: text, team: Type.String({ default: 'none' }) }),
  indexes: (index) => [
    index.single('spec.email', String, (person) => person.spec.email, { unique: true }),
    index.single('spec.team', String, (person) => person.spec.team?.toLowerCase()),
  ],
});
/** The former contract of `First` here. */
const WithDefault = defineModel({ gvk, spec: Type.Object({ email: text, team: Type.String({ default: 'none' }) }) });
const Other = defineModel({ gvk, spec: Type.Object({ email: text, age: Type.Optional(Type.Integer()) }) });
/** Its index function fails on what it refuses itself. */
const Strict = defineModel({
  gvk,
  spec: Type.Object({ email: Type.Optional(Type.String({ format: 'email' })) }),
  indexes: (index) => [
    index.single('spec.host', String, (person) => person.spec.email && person.spec.email.split('@')[1]!.toLowerCase()),
  ],
});
const ByEmail = defineModel({
  gvk,
  spec: Type.Object({ email: text }),
  indexes: (index) => [index.single('spec.email', String, (person) => person.spec.email, { unique: true })],
});
const ByLowerEmail = defineModel({
  gvk,
  spec: Type.Object({ email: text }),
  indexes: (index) => [
    index.single('spec.email', String, (person) => person.spec.email?.toLowerCase(), { unique: true }),
  ],
});
/** They become active whatever is stored. */
const degrade = { onInvalid: 'degrade' } as const;
const WithoutIndex = defineModel({ gvk, evolution: degrade, spec: Type.Object({ email: text }) });
const Claiming = defineModel({
  gvk,
  evolution: degrade,
  spec: Type.Object({ email: text }),
  indexes: (index) => [index.single('spec.email', String, (person) => person.spec.email, { unique: true })],
});

const v1Spec = Type.Object({ fullName: Type.String() });
const Named = defineModel({ gvk, spec: v1Spec });
/** Another hub, which has a member that v1 cannot say. */
const TakenApart = defineModel({
  gvk: { ...gvk, version: 'v2' },
  spec: Type.Object({ given: Type.String(), family: text, title: text }),
  versions: {
    v1: {
      spec: v1Spec,
      toHub: ({ fullName }) => {
        const [given = '', family] = fullName.split(' ');
        return { given, ...(family !== undefined && { family }) };
      },
      fromHub: ({ given, family }) => ({ fullName: family === undefined ? given : `${given} ${family}` }),
    },
  },
});

/** Its hub has other values in the member on which its index is unique, with the same function. */
const WithScheme = defineModel({
  gvk: { ...gvk, version: 'v2' },
  spec: Type.Object({ email: text }),
  versions: {
    v1: {
      spec: Type.Object({ email: text }),
      toHub: ({ email }) => (email === undefined ? {} : { email: `mailto:${email}` }),
      fromHub: ({ email }) => (email === undefined ? {} : { email: email.replace('mailto:', '') }),
    },
  },
  indexes: (index) => [index.single('spec.email', String, (person) => person.spec.email, { unique: true })],
});

after(cleanUp);

interface State {
  spec: object;
  status: {
    generation: number;
    storageVersion: string;
    replicas?: { name: string; supports: string; since: string }[];
    contractHash: string;
    indexes?: { name: string; state: string }[];
    pending?: { class: string; failing: number; waitsFor?: string[] };
  };
}

interface Answer {
  status: number;
  body: any;
}

class Replica {
  readonly service: Service;
  readonly url: string;

  constructor(service: Service, url: string) {
    this.service = service;
    this.url = url;
  }

  async ask(method: string, path: string, body?: object): Promise<Answer> {
    for (let tries = 1; ; tries++) {
      const response = await fetch(`${this.url}${path}`, {
        method,
        ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      });
      const answer: Answer = { status: response.status, body: await response.json() };
      // As at a start: on a busy machine a server may take longer to answer than a connection waits.
      const isBusy = String(answer.body.detail).startsWith(
        'The database cannot be reached at the moment; nothing was changed',
      );
      if (!isBusy || tries === 5) return answer;
    }
  }

  create(name: string, spec: object): Promise<Answer> {
    return this.ask('POST', persons, { metadata: { name }, spec });
  }

  async state(): Promise<State['status']> {
    return ((await this.ask('GET', state)).body as State).status;
  }

  async code(name: string, spec: object): Promise<string | number> {
    const { status, body } = await this.create(name, spec);
    return status < 300 ? status : (body as { code: string }).code;
  }
}

/** The store with some of its functions replaced. */
function withChanges(store: Store, changes: Partial<Store>): Store {
  return new Proxy(store, {
    get: (target, name: keyof Store) => {
      const value = changes[name] ?? target[name];
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

const pluginWith = (model: Model<any>) => ({
  name: 'people',
  plugin: definePlugin({ start: ({ schemeManager }: PluginContext) => void schemeManager.register(model) }),
});

for (const adapter of databaseAdapters().filter(({ kind }) => kind !== 'sqlite')) {
  describe(`replicas with different versions of a plugin on ${adapter.name}`, () => {
    /** Runs with an empty database, and stops what was started. */
    async function using(
      body: (
        start: (model: Model<any> | string, changes?: (store: Store) => Partial<Store>) => Promise<Replica>,
      ) => Promise<void>,
    ): Promise<void> {
      const database: TestDatabase = await adapter.create();
      const services: Service[] = [];
      let isOver = false;
      try {
        await body(async (model, changes) => {
          const open = async () => {
            const store = await openStore(database.url);
            return changes ? withChanges(store, changes(store)) : store;
          };
          const plugins = [typeof model === 'string' ? model : pluginWith(model)];
          // On a busy machine a server may take longer to answer than a start waits: whoever supervises it starts it again.
          for (let tries = 1; ; tries++) {
            const service = await createService({ database: open, auth: false, port: 0, logger: quiet, plugins });
            services.push(service);
            try {
              return new Replica(service, (await service.start()).url);
            } catch (error) {
              if ((error as { code?: string }).code !== 'NotReady' || tries === 5 || isOver) throw error;
              await service.stop();
            }
          }
        });
      } finally {
        isOver = true;
        await Promise.all(services.map((service) => service.stop()));
        await database.drop();
      }
    }

    const untilActive = (replica: Replica, generation: number) =>
      until(async () => ((await replica.state()).generation === generation ? true : undefined), {
        what: `model generation ${generation}`,
        timeout: 30_000,
      });

    const finalize = async ({ url }: Replica) => {
      const { status } = await fetch(url + state, {
        method: 'PATCH',
        body: JSON.stringify({ spec: { finalize: 'now' } }),
        headers: { 'content-type': 'application/merge-patch+json' },
      });
      assert.equal(status, 200);
    };

    it('a newer version serves by the active contract until the older one is gone, then by its own', async () => {
      await using(async (start) => {
        const old = await start(First);
        assert.equal(await old.code('ada', { email: 'x' }), 201);
        const next = await start(Second);
        assert.equal(await next.code('bob', { email: 'x', team: 'a' }), 'Invalid', 'a member of the newer contract');
        assert.equal(await next.code('bob', { email: 'y' }), 201);
        assert.deepEqual(
          (await old.ask('GET', `${persons}/bob`)).body.spec,
          { email: 'y' },
          'no default of the newer one',
        );
        assert.equal(await old.code('eve', { email: 'z' }), 201);
        assert.equal(await next.code('max', { email: 'z' }), 201, 'no unique index of the newer contract');
        assert.equal(
          (await next.ask('PUT', `${persons}/max`, { metadata: { name: 'max' }, spec: { email: 'w' } })).status,
          200,
        );
        assert.equal(await next.code('kim', { email: 'v' }), 201);
        assert.equal(await next.code('kit', { email: 'v' }), 201, 'it takes no value before it may');
        assert.equal((await old.ask('DELETE', `${persons}/kim`)).status, 200);
        assert.equal((await old.ask('DELETE', `${persons}/kit`)).status, 200);
        await until(async () => (await old.state()).pending?.waitsFor?.length, { what: 'it says what it waits for' });
        assert.equal((await old.state()).generation, 1);
        assert.deepEqual((await old.state()).indexes, [{ name: 'spec.email', state: 'building' }]);
        await old.service.stop();
        await untilActive(next, 2);
        assert.deepEqual((await next.state()).pending, undefined);
        assert.equal(
          await next.code('tim', { email: 'x' }),
          'UniqueViolation',
          'also of a value that was never claimed',
        );
        assert.equal(await next.code('tim', { email: 'v' }), 201);
        assert.equal((await next.ask('GET', `${persons}/tim`)).body.spec.team, 'none');
        await until(async () => (await next.state()).indexes?.every((one) => one.state === 'enforced') || undefined, {
          what: 'every value is claimed',
        });
        const another = await start(Second);
        assert.equal(await another.code('kim', { email: 'w' }), 'UniqueViolation');
      });
    });

    it('a replica that misses the activation refuses reads and writes of the model, and is not ready', async () => {
      await using(async (start) => {
        const old = await start(First, () => ({ announce: async () => undefined }));
        assert.equal(await old.code('ada', { email: 'x' }), 201);
        const next = await start(Second);
        assert.equal((await next.state()).generation, 2);
        for (const [method, path, body] of [
          ['GET', `${persons}/ada`],
          ['GET', persons],
          ['POST', persons, { metadata: { name: 'bob' }, spec: {} }],
        ] as const) {
          const { status, body: problem } = await old.ask(method, path, body);
          assert.deepEqual([status, problem.code], [503, 'ModelOutdated'], `${method} ${path}`);
        }
        const { status, body } = await old.ask('GET', '/readyz');
        assert.equal(status, 503);
        assert.equal(body.models.find(({ kind }: { kind: string }) => kind === 'Person').state, 'outdated');
        assert.equal((await old.ask('GET', '/livez')).status, 200);
        assert.equal((await next.ask('GET', '/readyz')).status, 200);
      });
    });

    it('the store takes no write of a replica that does not see the activation', async () => {
      await using(async (start) => {
        let frozen: number | undefined;
        const old = await start(First, (store) => ({
          announce: async () => undefined,
          revision: async () => frozen ?? (await store.revision()),
          changes: async (...range) => (frozen === undefined ? await store.changes(...range) : []),
          onCommit: () => () => undefined,
        }));
        assert.equal(await old.code('ada', { email: 'x' }), 201);
        const next = await start(First);
        frozen =
          (await next.ask('GET', persons)).body.revision ??
          Number((await fetch(`${next.url}${persons}`)).headers.get('kindred-revision'));
        await next.service.stop();
        const newer = await start(Second);
        assert.equal((await newer.state()).generation, 2);
        assert.equal((await old.ask('GET', `${persons}/ada`)).status, 200, 'it sees nothing of it');
        assert.equal(await old.code('bob', { email: 'x' }), 'NotReady');
        const put = { metadata: { name: 'ada' }, spec: { email: 'y' } };
        assert.equal((await old.ask('PUT', `${persons}/ada`, put)).status, 503);
        assert.equal((await old.ask('DELETE', `${persons}/ada`)).status, 503);
        assert.equal((await newer.ask('GET', `${persons}/ada`)).body.spec.email, 'x');
        assert.equal((await newer.ask('GET', `${persons}/bob`)).status, 404);
      });
    });

    it('a create is refused by the newest contract alone', async () => {
      await using(async (start) => {
        const first = await start(First);
        const next = await start(Other);
        /** Of the others, it knows what it knew before. */
        let isLate = false;
        let known = 0;
        let replicas: Awaited<ReturnType<NonNullable<Store['replicas']>>> = [];
        const late = await start(Other, (store) => ({
          revision: async () => {
            if (!isLate) known = Math.max(known, await store.revision());
            return known;
          },
          changes: async (...range) => {
            const changes = isLate ? [] : await store.changes(...range);
            known = Math.max(known, changes.at(-1)?.revision ?? 0);
            return changes;
          },
          replicas: async (now) => {
            if (!isLate) replicas = await store.replicas!(now);
            return replicas;
          },
          onCommit: () => () => undefined,
        }));
        assert.equal(await late.code('early', { age: 1 }), 'Invalid');
        isLate = true;
        await first.service.stop();
        await untilActive(next, 2);
        isLate = false;
        const made = await late.create('ada', { age: 1 });
        assert.equal(made.status, 201, JSON.stringify(made.body));
        assert.equal(await late.code('bob', { size: 1 }), 'Invalid');
      });
    });

    it('while values are claimed, a claim that is left over does not count', async () => {
      await using(async (start) => {
        const first = await start(WithoutIndex);
        for (const [name, email] of Object.entries({ ada: 'x', bob: 'x', eve: 'z' }))
          await first.create(name, { email });
        await first.service.stop();
        let store!: Store;
        const next = await start(Claiming, (own) => {
          store = own;
          return {};
        });
        await untilActive(next, 2);
        assert.ok(keepsClaims(store));
        const models = await store.models();
        const { number } = models.find(({ kind }) => kind === 'Person')!;
        const { claims } = store;
        await until(async () => (await claims.call(store, number, undefined, 10)).length === 2);
        assert.deepEqual((await next.state()).indexes, [{ name: 'spec.email', state: 'claiming' }]);
        const [eve] = (await store.scan(number, 0, 10)).filter(({ name }) => name === 'eve');
        const left = { hash: hash('sha256', 'spec.email\0w', 'buffer'), index: 'spec.email', key: 'w' };
        await store.mendClaims(number, [{ ...left, id: eve!.id, revision: eve!.revision }], []);
        assert.deepEqual(
          [await next.code('mia', { email: 'w' }), await next.code('mia', { email: 'z' })],
          ['NotReady', 'UniqueViolation'],
        );
        await store.mendClaims(number, [], [{ hash: left.hash, id: eve!.id, revision: eve!.revision }]);
        assert.deepEqual(
          [await next.code('mia', { email: 'w' }), await next.code('max', { email: 'w' })],
          [201, 'UniqueViolation'],
        );
      });
    });

    it('a replica says what it can serve before it serves', async () => {
      await using(async (start) => {
        const announced = Promise.withResolvers<void>();
        let url = '';
        const starting = start(First, (store) => ({
          announce: async (...args) => {
            await announced.promise;
            await store.announce!(...args);
          },
          replicas: async (now) => await store.replicas!(now),
        })).then((replica) => {
          url = replica.url;
          return replica;
        });
        await new Promise((resolve) => setTimeout(resolve, 1_000));
        announced.resolve();
        assert.equal(url, '', 'it is starting as long as the others cannot know of it');
        assert.equal((await (await starting).ask('GET', persons)).status, 200);
      });
    });

    it('two newer versions at once: neither becomes active, and one says whom it waits for', async () => {
      await using(async (start) => {
        const old = await start(First);
        const canary = await start(Second);
        const other = await start(Other);
        await old.service.stop();
        await until(async () => ((await other.state()).pending?.waitsFor?.length === 1 ? true : undefined), {
          what: 'it waits for one replica',
        });
        for (const replica of [canary, other]) assert.equal(await replica.code(`in${replica.url.slice(-4)}`, {}), 201);
        assert.equal((await other.state()).generation, 1);
        const told = async (...texts: RegExp[]) => {
          const { stdout } = await kindred(['model', 'status', 'persons', '--server', other.url]);
          return texts.every((text) => text.test(stdout));
        };
        const both = [
          / 2 \(2 with another contract\) /,
          / the pending contract +since 2/,
          / contract [0-9a-f]{8} +since 2/,
        ];
        await until(() => told(...both), { what: 'it tells what each of them supports', timeout: 30_000 });
        await canary.service.stop();
        await untilActive(other, 2);
        assert.equal(await other.code('ada', { age: 1 }), 201);
      });
    });

    it('what is pending goes with the replica that declared it', async () => {
      await using(async (start) => {
        const old = await start(First);
        assert.equal(await old.code('ada', { email: 'no address' }), 201);
        const untilGone = () =>
          until(async () => (await old.state()).pending === undefined, { what: 'nothing is pending', timeout: 30_000 });
        const waiting = await start(Second);
        await until(async () => (await old.state()).pending?.waitsFor?.length === 1, { what: 'it waits' });
        await waiting.service.stop();
        await untilGone();
        assert.deepEqual((await old.state()).indexes, []);
        const refused = await start(Strict);
        assert.equal((await old.state()).pending?.failing, 1);
        await start(First);
        await until(async () => (await old.state()).replicas?.length === 2, { what: 'two serve', timeout: 30_000 });
        assert.equal((await old.state()).pending?.failing, 1, 'as long as the replica is there');
        await refused.service.stop();
        await untilGone();
      });
    });

    it('a version whose unique index has another function waits until the older one is gone', async () => {
      await using(async (start) => {
        const old = await start(ByEmail);
        assert.equal(await old.code('ada', { email: 'A' }), 201);
        let next: Replica | undefined;
        const starting = start(ByLowerEmail).then((replica) => {
          next = replica;
        });
        await new Promise((resolve) => setTimeout(resolve, 1_500));
        assert.equal(next, undefined);
        assert.equal((await old.state()).generation, 1);
        assert.equal(await old.code('bob', { email: 'b' }), 201);
        await old.service.stop();
        await starting;
        assert.equal((await next!.state()).generation, 2);
        assert.equal(await next!.code('eve', { email: 'a' }), 'UniqueViolation');
        assert.equal(await next!.code('eve', { email: 'B' }), 'UniqueViolation');
        assert.equal(await next!.code('eve', { email: 'c' }), 201);
      });
    });

    it('what is written before the activation counts: the contract waits until the objects are repaired', async () => {
      await using(async (start) => {
        const old = await start(First);
        const next = await start(Strict);
        assert.equal(await next.code('ada', { email: 'no address' }), 201, 'the older contract is active');
        await old.service.stop();
        await until(async () => ((await next.state()).pending?.failing === 1 ? true : undefined), {
          what: 'it finds the object',
        });
        assert.equal((await next.state()).generation, 1);
        assert.equal((await next.ask('GET', '/readyz')).status, 200, 'it goes on by the older contract');
        assert.equal((await next.ask('DELETE', `${persons}/ada`)).status, 200);
        await untilActive(next, 2);
        assert.equal(await next.code('bob', { email: 'no address' }), 'Invalid');
      });
    });

    it('objects of one name in two namespaces are checked apart until the activation', async () => {
      await using(async (start) => {
        const spec = (email?: { format: 'email' }) => Type.Object({ email: Type.Optional(Type.String(email)) });
        const scope = 'Namespaced';
        const old = await start(defineModel({ gvk, scope, spec: spec() }));
        const next = await start(defineModel({ gvk, scope, spec: spec({ format: 'email' }) }));
        const within = (namespace: string) => `/apis/people.example.com/v1/namespaces/${namespace}/persons`;
        const put = async (namespace: string, email: string) => {
          const object = { metadata: { name: 'ada', namespace }, spec: { email } };
          assert.equal((await next.ask('POST', within(namespace), object)).status, 201);
        };
        await put('one', 'no address');
        await put('two', 'ada@example.com');
        await old.service.stop();
        await until(async () => ((await next.state()).pending?.failing === 1 ? true : undefined), {
          what: 'it finds the object',
        });
        assert.equal((await next.ask('DELETE', `${within('one')}/ada`)).status, 200);
        await untilActive(next, 2);
      });
    });

    it('a replica that looks at the model while another makes its first contract active serves by it', async () => {
      await using(async (start) => {
        const looked = Promise.withResolvers<void>();
        const starting = start(First, (store) => ({
          models: async (number) => {
            const rows = await store.models(number);
            if (number !== undefined && rows[0]!.kind === 'Person' && !rows[0]!.contract) {
              looked.resolve();
              const isActive = async () => (await store.models(number))[0]!.contract !== undefined;
              await until(isActive, { what: 'the first contract' });
            }
            return rows;
          },
        }));
        await looked.promise;
        const [one] = await Promise.all([starting, start(First)]);
        const { status, body } = await one.create('ada', { email: 'x' });
        assert.equal(status, 201, body.detail);
      });
    });

    it('of two contracts that start at the same time with nothing stored, one is active and both replicas serve by it', async () => {
      await using(async (start) => {
        let looking = 0;
        const bothLook = Promise.withResolvers<void>();
        const withOther = (store: Store): Partial<Store> => ({
          models: async (number) => {
            const rows = await store.models(number);
            if (number === undefined || rows[0]!.kind !== 'Person') return rows;
            looking += 1;
            if (looking === 2) bothLook.resolve();
            await bothLook.promise;
            return rows;
          },
        });
        const replicas = await Promise.all([start(First, withOther), start(Other, withOther)]);
        for (const one of replicas) await untilActive(one, 1);
        const ada = { metadata: { name: 'ada' }, spec: { age: 36 } };
        const answers = await Promise.all(replicas.map((one) => one.ask('POST', `${persons}?dryRun=true`, ada)));
        const [status, same] = answers.map((answer) => answer.status);
        assert.equal(same, status);
        const [active, next] = status === 201 ? replicas.toReversed() : replicas;
        await active!.service.stop();
        await untilActive(next!, 2);
      });
    });

    it('a write that is under way at the activation is computed again, and its client sees nothing of it', async () => {
      await using(async (start) => {
        const old = await start(WithDefault);
        const activated = Promise.withResolvers<void>();
        let isHeld = false;
        // It does not look after the model itself: that would wait for its own write.
        const next = await start(First, (store) => ({
          acquireLease: async (name, ...args) =>
            name.startsWith('model/') ? undefined : await store.acquireLease(name, ...args),
          commit: async (writes, time) => {
            if (writes.some(({ name }) => name === 'bob')) {
              isHeld = true;
              await activated.promise;
            }
            return await store.commit(writes, time);
          },
        }));
        const another = await start(First);
        const created = next.create('bob', { email: 'x' });
        await until(async () => isHeld || undefined, { what: 'the write is handed over' });
        await old.service.stop();
        await untilActive(another, 2);
        activated.resolve();
        const { status, body } = await created;
        assert.deepEqual([status, body.spec], [201, { email: 'x' }], 'without the default of the former contract');
      });
    });

    it('pre-declared objects of a newer version are applied when its contract is active', async () => {
      const folder = (version: string, members: string, spec: string) =>
        folderOf({
          'package.json': { name: 'people', version, type: 'module', main: 'index.js' },
          'index.js': `import { defineModel, definePlugin, Type } from 'kindred';
            const Person = defineModel({ gvk: ${JSON.stringify(gvk)}, spec: Type.Object({ email: Type.Optional(Type.String()), ${members} }) });
            export default definePlugin({ start({ schemeManager }) { schemeManager.register(Person); } });`,
          'extensions/persons.yaml': `apiVersion: people.example.com/v1\nkind: Person\nmetadata:\n  name: root\nspec: ${spec}\n`,
        });
      await using(async (start) => {
        const old = await start(folder('1.0.0', '', '{ email: first }'));
        const next = await start(folder('2.0.0', 'team: Type.Optional(Type.String())', '{ email: second, team: all }'));
        const root = async () => (await next.ask('GET', `${persons}/root`)).body.spec as object;
        assert.deepEqual(await root(), { email: 'first' });
        assert.equal((await next.ask('GET', '/readyz')).status, 200);
        await old.service.stop();
        await untilActive(next, 2);
        await until(async () => ('team' in (await root()) ? true : undefined), { what: 'the newer object' });
        assert.deepEqual(await root(), { email: 'second', team: 'all' });
      });
    });

    it('three replicas get another hub one after the other, go back before it is finalized, and come again', async () => {
      await using(async (start) => {
        const startAll = (model: Model<any>) => Promise.all([1, 2, 3].map(() => start(model)));
        const replaceAll = async (replicas: Replica[], model: Model<any>) => {
          for (const [i, { service }] of replicas.entries()) {
            await service.stop();
            replicas[i] = await start(model);
          }
        };
        const in2 = persons.replace('/v1/', '/v2/');
        const replicas = await startAll(Named);
        const { status: made, body: ada } = await replicas[0]!.create('ada', { fullName: 'Ada Lovelace' });
        assert.equal(made, 201, ada.detail);
        await replicas[0]!.service.stop();
        replicas[0] = await start(TakenApart);
        assert.equal((await replicas[0].ask('GET', `${in2}/ada`)).status, 404, 'not yet');
        assert.deepEqual((await replicas[0].ask('GET', `${persons}/ada`)).body.spec, { fullName: 'Ada Lovelace' });
        const rest = replicas.slice(1);
        await replaceAll(rest, TakenApart);
        const next = [replicas[0], ...rest];
        await Promise.all(next.map((one) => untilActive(one, 2)));
        const grace = { metadata: { name: 'grace' }, spec: { given: 'Grace', family: 'Hopper' } };
        assert.equal((await next[1]!.ask('POST', in2, grace)).status, 201);
        const titled = { metadata: { name: 'alan' }, spec: { given: 'Alan', title: 'Dr' } };
        const { status, body } = await next[2]!.ask('POST', in2, titled);
        assert.deepEqual([status, body.errors[0].keyword], [422, 'notYetStorable']);

        await Promise.all(next.map(({ service }) => service.stop()));
        const back = await startAll(Named);
        for (const one of back)
          assert.deepEqual((await one.ask('GET', `${persons}/grace`)).body.spec, { fullName: 'Grace Hopper' });
        assert.equal((await back[0]!.state()).generation, 3);

        await replaceAll(back, TakenApart);
        await Promise.all(back.map((one) => untilActive(one, 4)));
        await finalize(back[0]!);
        await until(async () => (await back[1]!.state()).storageVersion === 'v2', { timeout: 30_000 });
        // The others follow a moment later, and refuse what cannot be stored yet until then.
        const stored = async () => (await back[2]!.ask('POST', in2, titled)).status === 201;
        await until(stored, { timeout: 30_000, what: 'the third replica stores what only v2 has' });
        const { body: seen } = await back[0]!.ask('GET', `${persons}/alan`);
        assert.deepEqual(seen.spec, { fullName: 'Alan' });
        const put = { ...seen, spec: { fullName: 'Alan Turing' } };
        assert.equal((await back[1]!.ask('PUT', `${persons}/alan`, put)).status, 200);
        const { body: alan } = await back[2]!.ask('GET', `${in2}/alan`);
        assert.deepEqual(alan.spec, { given: 'Alan', family: 'Turing', title: 'Dr' });
        // Replicas that were stopped are named until their leases end.
        const named = await until(
          async () => {
            const { replicas = [], contractHash } = await back[0]!.state();
            const areNew = replicas.every(({ supports }) => supports === contractHash);
            return replicas.length === 3 && areNew ? replicas : undefined;
          },
          { what: 'the three replicas in the state, with the active contract', timeout: 30_000 },
        );
        for (const { since } of named) assert.ok(Date.parse(since) <= Date.now());
      });
    });

    it('with another hub, unique values are those of the active contract, and then claimed anew', async () => {
      await using(async (start) => {
        const old = await start(ByEmail);
        assert.equal(await old.code('ada', { email: 'a' }), 201);
        const next = await start(WithScheme);
        for (const one of [old, next]) assert.equal(await one.code('other', { email: 'a' }), 'UniqueViolation');
        const tried = { metadata: { name: 'other' }, spec: { email: 'a' } };
        const { body: rehearsed } = await next.ask('POST', `${persons}?dryRun=true`, tried);
        assert.equal(rehearsed.code, 'NotReady', 'its memory has other values');
        assert.equal(await next.code('grace', { email: 'g' }), 201);
        assert.equal(await old.code('other', { email: 'g' }), 'UniqueViolation');
        assert.equal((await next.ask('DELETE', `${persons}/grace`)).status, 200);
        assert.equal(await old.code('alan', { email: 'g' }), 201);
        await old.service.stop();
        await untilActive(next, 2);
        await until(async () => (await next.state()).indexes?.[0]?.state === 'enforced' || undefined, {
          what: 'the index is enforced',
        });
        for (const email of ['a', 'g']) assert.equal(await next.code('other', { email }), 'UniqueViolation');
        const in2 = persons.replace('/v1/', '/v2/');
        await finalize(next);
        await until(async () => (await next.state()).storageVersion === 'v2' || undefined, { timeout: 30_000 });
        const made = async (email: string) =>
          (await next.ask('POST', in2, { metadata: { name: 'other' }, spec: { email } })).status;
        assert.deepEqual([await made('mailto:g'), await made('g')], [409, 201], 'claimed in the former hub');
      });
    });

    it('the earlier version takes over again in the same way', async () => {
      await using(async (start) => {
        const first = await start(First);
        await first.service.stop();
        const next = await start(Second);
        assert.equal(await next.code('ada', { email: 'x', team: 'a' }), 201);
        await next.ask('DELETE', `${persons}/ada`);
        const back = await start(ByEmail);
        assert.equal(await back.code('ada', { email: 'x', team: 'a' }), 201, 'by the newer contract');
        assert.equal(await back.code('bob', { email: 'x', team: 'a' }), 'UniqueViolation');
        await back.ask('DELETE', `${persons}/ada`);
        await next.service.stop();
        await untilActive(back, 3);
        assert.equal(await back.code('ada', { email: 'x', team: 'a' }), 'Invalid');
      });
    });
  });
}
