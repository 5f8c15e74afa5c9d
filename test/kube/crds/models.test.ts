/** Models that definitions declare have what models of plugins have. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { Type } from 'typebox';
import { defineModel } from '../../../src/model/define.ts';
import { definePlugin } from '../../../src/plugin/plugin.ts';
import { createService } from '../../../src/service.ts';
import { until } from '../../../src/testing/until.ts';
import { kindred } from '../../cli/command.ts';
import { databaseAdapters } from '../../servers.ts';
import { Receiver } from '../../webhook/receiver.ts';
import { Facade } from '../harness.ts';
import { definitionOf, definitions, isEstablished } from './definitions.ts';

const boats = '/apis/sea.example.com/v1/boats';

const boat = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'boats.sea.example.com' },
  spec: {
    group: 'sea.example.com',
    names: { plural: 'boats', kind: 'Boat' },
    scope: 'Cluster',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: [
          { name: 'Length', type: 'integer', jsonPath: '.spec.length' },
          { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
        ],
        schema: {
          openAPIV3Schema: {
            type: 'object',
            description: 'Something that floats.',
            properties: {
              spec: {
                type: 'object',
                required: ['length'],
                properties: {
                  length: { type: 'integer', minimum: 1 },
                  colour: { type: 'string', default: 'white' },
                },
              },
              status: {
                type: 'object',
                properties: {
                  conditions: {
                    type: 'array',
                    items: { type: 'object', properties: { type: { type: 'string' }, status: { type: 'string' } } },
                  },
                },
              },
            },
          },
        },
      },
    ],
  },
};

const generator = join(import.meta.dirname, '../../../tools/client-types/node_modules/openapi-typescript/bin/cli.js');
const folder = mkdtempSync(join(tmpdir(), 'kindred-boats-'));
after(() => rmSync(folder, { recursive: true }));

async function apply(facade: Facade, definition: any): Promise<void> {
  const { name } = definition.metadata;
  const there = await facade.send(`${definitions}/${name}`);
  const { version } = there.json.metadata ?? {};
  const body = { ...definition, metadata: { ...definition.metadata, ...(version !== undefined && { version }) } };
  const { status, text } =
    there.status === 404
      ? await facade.send(definitions, { body })
      : await facade.send(`${definitions}/${name}`, { method: 'PUT', body });
  assert.ok(status < 300, text);
  await until(async () => isEstablished((await facade.send(`${definitions}/${name}`)).json));
}

const named = (name: string, spec: object) => ({ metadata: { name }, spec });

describe('a model that a definition declares', () => {
  const receiver = new Receiver();
  const facade = new Facade({
    database: `sqlite:${join(folder, 'kindred.db')}`,
    auth: {},
    webhook: { allowPrivateAddresses: true, minDelay: 20 },
  });
  const call = (...args: string[]) =>
    kindred(args, { env: { KINDRED_SERVER: facade.url, KINDRED_TOKEN: facade.token } });
  before(async () => {
    await receiver.start();
    await facade.start();
    await apply(facade, boat);
    for (let i = 1; i <= 7; i++) {
      assert.equal((await facade.send(boats, { body: named(`boat-${i}`, { length: i * 2 }) })).status, 201);
    }
  });
  after(async () => {
    await facade.stop();
    await receiver.stop();
  });

  it('has pages, orders and totals', async () => {
    const { json } = await facade.send(`${boats}?page=2&size=3&sort=spec.length,desc&fieldSelector=spec.length%3E2`);
    assert.deepEqual([json.total, json.items.map((one: any) => one.spec.length)], [6, [8, 6, 4]]);
    const conditions = [{ type: 'Ready', status: 'True' }];
    const { json: stored } = await facade.send(`${boats}/boat-3`);
    const body = { ...stored, status: { conditions } };
    assert.equal((await facade.send(`${boats}/boat-3/status`, { method: 'PUT', body })).status, 200);
    const ready = await facade.send(`${boats}?fieldSelector=status.conditions.Ready.status%3DTrue`);
    assert.deepEqual([ready.json.total, ready.json.items[0].metadata.name], [1, 'boat-3']);
  });

  it('has live pages', async () => {
    const abort = new AbortController();
    const headers = { authorization: `Bearer ${facade.token}` };
    const response = await fetch(`${facade.url}${boats}?watch=true&size=2&sort=spec.length,desc`, {
      headers,
      signal: abort.signal,
    });
    const events: any[] = [];
    const reading = (async () => {
      let text = '';
      for await (const chunk of response.body!) {
        text += Buffer.from(chunk as Uint8Array).toString();
        const lines = text.split('\n');
        text = lines.pop()!;
        events.push(...lines.filter((line) => line !== '').map((line) => JSON.parse(line)));
      }
    })().catch(() => {});
    await until(() => events[0]?.type === 'SNAPSHOT');
    assert.deepEqual(
      events[0].object.items.map((one: any) => one.spec.length),
      [14, 12],
    );
    await facade.send(boats, { body: named('long', { length: 40 }) });
    const window = await until(() => events.find(({ type }) => type === 'WINDOW'));
    assert.equal(window.object.total, 8);
    abort.abort();
    await reading;
    await facade.send(`${boats}/long`, { method: 'DELETE' });
  });

  it('is delivered to webhooks', async () => {
    const key = Buffer.from('a key that only the two of us know').toString('base64');
    await facade.send('/api/v1alpha1/secrets', { body: { metadata: { name: 'signing' }, data: { key } } });
    const spec = { url: receiver.url, resources: ['boats.sea.example.com'], secretName: 'signing' };
    const made = await facade.send('/apis/webhook.platform.run/v1alpha1/webhooks', { body: named('boats', spec) });
    assert.equal(made.status, 201, made.text);
    await until(async () => (await facade.send('/apis/webhook.platform.run/v1alpha1/webhooks/boats')).json.status);
    await facade.send(boats, { body: named('told', { length: 3 }) });
    await until(() => receiver.accepted.some(({ event }) => event.object.metadata.name === 'told'));
    await facade.send(`${boats}/told`, { method: 'DELETE' });
  });

  it('is in the templates of roles, in the documents and in the console', async () => {
    const { json: role } = await facade.send('/api/v1alpha1/roles/boats-sea-example-com-view');
    assert.deepEqual(role.rules[0].resources, ['boats', 'boats/status']);
    const { json: document } = await facade.send('/v3/api-docs/apis_extension.api_v1alpha1');
    assert.ok(document.paths[`${boats}/{name}/status`].put);
    const { json } = await facade.send('/v3/models/boats.sea.example.com');
    assert.equal(json.kind, 'Boat');
    assert.ok(json.indexes.some(({ name }: any) => name === 'spec.length'));
    const file = join(folder, 'boats.json');
    writeFileSync(file, JSON.stringify(document));
    const { stdout } = await promisify(execFile)(process.execPath, [generator, file]);
    assert.match(stdout, /Boat: \{[\s\S]*length: number;[\s\S]*colour\??: string;/);
  });

  it('is a type of the commands', async () => {
    const list = await call('list', 'boats', '--sort', 'spec.length,desc', '--size', '2');
    assert.equal(list.code, 0, list.stderr);
    assert.match(list.stdout, /boat-7[\s\S]*boat-6/);
    const explained = await call('explain', 'boats.spec');
    assert.match(explained.stdout, /length/);
    const file = join(folder, 'boats.ndjson');
    const exported = await call('export', '--type', 'boats', '-o', file);
    assert.equal(exported.code, 0, exported.stderr);
    for (let i = 1; i <= 7; i++) await facade.send(`${boats}/boat-${i}`, { method: 'DELETE' });
    const imported = await call('import', file);
    assert.equal(imported.code, 0, imported.stderr + imported.stdout);
    assert.equal((await facade.send(boats)).json.total, 7);
  });

  it('serves after a restart', async () => {
    const { token } = facade;
    await facade.stop();
    await facade.start();
    facade.token = token;
    const { json } = await facade.send(`${boats}?sort=spec.length&size=1`);
    assert.deepEqual([json.total, json.items[0].spec], [7, { length: 2, colour: 'white' }]);
  });

  it('shows objects that are older than the schema by the schema, natively too', async () => {
    const known = async () => (await facade.send(`${boats}/boat-1`)).headers.get('etag')!;
    const asked = async (tag: string) =>
      (await facade.send(`${boats}/boat-1`, { headers: { 'if-none-match': tag } })).status;
    const etag = await known();
    assert.equal(await asked(etag), 304);
    const changed = structuredClone(boat) as any;
    const { properties } = changed.spec.versions[0].schema.openAPIV3Schema.properties.spec;
    delete properties.colour;
    properties.crew = { type: 'integer', default: 2 };
    changed.spec.versions[0].selectableFields = [{ jsonPath: '.spec.crew' }];
    await apply(facade, changed);
    const shown = { length: 2, crew: 2 };
    await until(async () => (await facade.kube(`${boats}/boat-1`)).json.spec.crew === 2);
    assert.deepEqual((await facade.send(`${boats}/boat-1`)).json.spec, shown);
    assert.equal(await asked(etag), 200);
    assert.equal(await asked(await known()), 304);
    const { status } = await facade.send(`${boats}/boat-1?dryRun=true`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json', 'if-match': etag },
      body: {},
    });
    assert.equal(status, 200);
    const list = await facade.send(`${boats}?fieldSelector=spec.crew%3D2&sort=spec.length`);
    assert.deepEqual([list.json.total, list.json.items[0]?.spec], [7, shown]);
    const exported = await facade.send(boats, { headers: { accept: 'application/x-ndjson' } });
    for (const line of exported.text.trim().split('\n')) assert.equal(JSON.parse(line).spec.crew, 2, line);
    properties.crew.default = 3;
    await apply(facade, changed);
    const selected = async () => (await facade.send(`${boats}?fieldSelector=spec.crew%3D3`)).json.total;
    await until(async () => (await selected()) === 7);
  });

  it('leaves out what the schema does not know, with every write', async () => {
    const wrong = { length: 2, crew: 1, wheels: 4 };
    const made = await facade.send(boats, { body: named('odd', wrong) });
    const put = await facade.send(`${boats}/odd`, { method: 'PUT', body: { ...made.json, spec: wrong } });
    const patched = await facade.send(`${boats}/odd`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { spec: wrong },
    });
    for (const { json, headers } of [made, put, patched]) {
      assert.deepEqual(json.spec, { length: 2, crew: 1 });
      assert.match(headers.get('warning') ?? '', /unknown field .*spec\.wheels/);
    }
    await facade.send(`${boats}/odd`, { method: 'DELETE' });
  });

  it('is stored in another version from the change on', async () => {
    const definition = structuredClone(boat) as any;
    const [v1] = definition.spec.versions;
    const v2 = structuredClone(v1);
    Object.assign(v1, { storage: false });
    v2.name = 'v2';
    v2.schema.openAPIV3Schema.properties.spec.properties.crew = { type: 'integer', default: 5 };
    definition.spec.versions.push(v2);
    await apply(facade, definition);
    const inV2 = boats.replace('v1', 'v2');
    await until(async () => (await facade.send(inV2)).status === 200);
    const { json } = await facade.send(`${inV2}?sort=spec.length&size=1`);
    assert.deepEqual([json.total, json.items[0].apiVersion], [7, 'sea.example.com/v2']);
    assert.deepEqual(json.items[0].spec, { length: 2, colour: 'white', crew: 5 });
    const old = await facade.kube(`${boats}/boat-1`);
    assert.deepEqual([old.json.apiVersion, old.json.spec], ['sea.example.com/v1', { length: 2, colour: 'white' }]);
    // The status follows what is served.
    const stored = async () => (await facade.kube(`${definitions}/${boat.metadata.name}`)).json.status.storedVersions;
    await until(async () => (await stored()).join() === 'v1,v2');
    const without = { ...definition, spec: { ...definition.spec, versions: [v2] } };
    const { version } = (await facade.send(`${definitions}/${boat.metadata.name}`)).json.metadata;
    const refused = await facade.send(`${definitions}/${boat.metadata.name}`, {
      method: 'PUT',
      body: { ...without, metadata: { ...definition.metadata, version } },
    });
    assert.equal(refused.status, 422);
  });

  it('is known to the check of a database', async () => {
    await facade.stop();
    const check = await call('check', '--database', `sqlite:${join(folder, 'kindred.db')}`);
    assert.equal(check.code, 0, check.stdout + check.stderr);
    assert.match(check.stdout, /Boat +sea\.example\.com +7 +0/);
    await facade.start();
  });
});

describe('definitions', () => {
  const facade = new Facade({ kube: { maxCrds: 3 } });
  before(() => facade.start());
  after(() => facade.stop());

  it('may be as large natively as for Kubernetes clients', async () => {
    const definition = definitionOf({ nodes: 12_000 });
    definition.spec.versions[0].schema.openAPIV3Schema.description = 'long '.repeat(250_000);
    const body = JSON.stringify(definition);
    assert.ok(body.length > 1.5 * 2 ** 20);
    assert.equal((await facade.send(definitions, { body })).status, 201);
    const large = await facade.send('/apis/shop.example.com/v1/gadgets', { body });
    assert.equal(large.status, 413);
  });

  it('are told when their conversion webhook is not called', async () => {
    const definition = structuredClone(boat) as any;
    definition.spec.conversion = {
      strategy: 'Webhook',
      webhook: { conversionReviewVersions: ['v1'], clientConfig: { url: 'https://convert.example.com' } },
    };
    const warning =
      /spec\.conversion\.strategy: the webhook is not called: Webhook works as None, which changes apiVersion alone/;
    const made = await facade.kube(definitions, { body: definition });
    assert.equal(made.status, 201, made.text);
    assert.match(made.headers.get('warning') ?? '', warning);
    const path = `${definitions}/${boat.metadata.name}`;
    await until(async () => isEstablished((await facade.kube(path)).json));
    const { json } = await facade.kube(path);
    json.metadata.labels = { a: 'b' };
    const put = await facade.kube(path, { method: 'PUT', body: json });
    assert.match(put.headers.get('warning') ?? put.text, warning);
    put.json.spec.conversion = { strategy: 'None' };
    const none = await facade.kube(path, { method: 'PUT', body: put.json });
    assert.deepEqual([none.status, none.headers.get('warning')], [200, null]);
  });

  it('of a name that a model of a plugin has are not served, and the model stays', async () => {
    const definition = structuredClone(boat) as any;
    definition.metadata.name = 'widgets.shop.example.com';
    definition.spec.group = 'shop.example.com';
    definition.spec.names = { plural: 'widgets', kind: 'Widget' };
    assert.equal((await facade.kube(definitions, { body: definition })).status, 201);
    const { conditions } = await until(
      async () => (await facade.kube(`${definitions}/widgets.shop.example.com`)).json.status,
    );
    assert.deepEqual(
      conditions.map(({ type, status, reason }: any) => [type, status, reason]),
      [
        ['NamesAccepted', 'False', 'PluralConflict'],
        ['Established', 'False', 'NotAccepted'],
      ],
    );
    const widget = { metadata: { name: 'w', namespace: 'default' }, spec: { replicas: 1 } };
    const made = await facade.send('/apis/shop.example.com/v1/namespaces/default/widgets', { body: widget });
    assert.equal(made.status, 201, made.text);
  });

  it('are at most as many as the service allows', async () => {
    const { status, json } = await facade.kube(definitions, { body: definitionOf({ nodes: 20, plural: 'others' }) });
    assert.deepEqual([status, json.reason], [403, 'Forbidden']);
    assert.match(json.message, /There are 3 definitions, as many as the service allows/);
  });
});

it('a plugin that registers the model of a definition does not start', async () => {
  const database = `sqlite:${join(folder, 'conflict.db')}`;
  const facade = new Facade({ database });
  await facade.start();
  await apply(facade, boat);
  await facade.stop();
  const Boat = defineModel({
    gvk: { group: 'sea.example.com', version: 'v1', kind: 'Boat', singular: 'boat', plural: 'boats' },
    spec: Type.Object({}),
  });
  const plugin = definePlugin({ start: ({ schemeManager }) => void schemeManager.register(Boat) });
  const service = await createService({ database, port: 0, auth: false, plugins: [{ name: 'fleet', plugin }] });
  await service.start();
  const failed = service.readiness().plugins.find(({ name }) => name === 'fleet');
  assert.equal(failed?.state, 'FAILED');
  assert.match(failed?.message ?? '', /already registered by a CustomResourceDefinition/);
  await service.stop();
});

const postgres = databaseAdapters().find(({ kind }) => kind === 'postgres');
it('a definition that is applied at one replica serves at the other', { skip: !postgres }, async () => {
  const database = await postgres!.create();
  const [one, other] = [new Facade({ database: database.url }), new Facade({ database: database.url })];
  try {
    await one.start();
    await other.start();
    await apply(one, boat);
    await until(async () => (await other.send(boats)).status === 200);
    assert.equal((await other.send(boats, { body: named('far', { length: 3 }) })).status, 201);
    assert.deepEqual((await one.send(`${boats}/far`)).json.spec, { length: 3, colour: 'white' });
    const [here, there] = [await one.kube(`${boats}/far`), await other.kube(`${boats}/far`)];
    assert.deepEqual(here.json, there.json);
    const changed = structuredClone(boat) as any;
    changed.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.crew = { type: 'integer', default: 2 };
    await apply(other, changed);
    for (const replica of [one, other]) {
      await until(async () => (await replica.send(`${boats}/far`)).json.spec.crew === 2);
    }
    await one.kube(`${definitions}/${boat.metadata.name}`, { method: 'DELETE' });
    for (const replica of [one, other]) await until(async () => (await replica.kube(boats)).status === 404);
  } finally {
    await one.stop();
    await other.stop();
    await database.drop();
  }
});
