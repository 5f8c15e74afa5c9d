import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { PluginContext } from 'kindred';
import { createService, defineModel, definePlugin, Type } from 'kindred';
import { startHarness } from 'kindred/testing';

it('objects: an object on which an index function throws today can lose its finalizers, and be deleted', async () => {
  let throws = false;
  const Task = defineModel({
    gvk: { group: 'finalizers.example.com', version: 'v1', kind: 'Task', singular: 'task', plural: 'tasks' },
    spec: Type.Object({ title: Type.String() }),
    indexes: (index) => [
      index.single('spec.title', String, (task) => {
        if (throws) throw new Error('today it throws');
        return task.spec.title;
      }),
    ],
  });
  const service = await createService({ database: 'sqlite::memory:', port: 0, auth: false });
  try {
    service.schemeManager.register(Task);
    const { client } = service;
    const finalizers = ['finalizers.example.com/a', 'finalizers.example.com/b'];
    await client.create(Task, { metadata: { name: 'one', finalizers }, spec: { title: 'One' } });
    throws = true;
    await assert.rejects(client.create(Task, { metadata: { name: 'two' }, spec: { title: 'Two' } }), {
      code: 'Invalid',
    });
    const after = await client.patch(Task, 'one', { metadata: { finalizers: [finalizers[0]] } });
    assert.deepEqual([after.metadata.finalizers, after.metadata.version], [[finalizers[0]], 1]);
    await client.delete(Task, 'one');
    const gone = await client.patch(Task, 'one', { metadata: { finalizers: null } });
    assert.equal(typeof gone.metadata.deletionTimestamp, 'string');
    const { fetch } = client;
    assert.equal(await fetch(Task, 'one'), undefined);
  } finally {
    await service.stop();
  }
});

it('objects: an object that was deleted before its model got a default can lose its finalizers', async (t) => {
  const finalizer = 'finalizers.example.com/a';
  const taskWith = (more: object) =>
    defineModel({
      gvk: { group: 'finalizers.example.com', version: 'v1', kind: 'Task', singular: 'task', plural: 'tasks' },
      spec: Type.Object({ title: Type.String(), ...more }),
    });
  const pluginOf = (model: ReturnType<typeof taskWith>) => ({
    name: 'tasks',
    plugin: definePlugin({ start: ({ schemeManager }: PluginContext) => void schemeManager.register(model) }),
  });
  const Task = taskWith({});
  const harness = await startHarness({ persistent: true, plugins: [pluginOf(Task)] });
  t.after(() => harness.stop());
  for (const name of ['one', 'two']) {
    await harness.client.create(Task, { metadata: { name, finalizers: [finalizer] }, spec: { title: name } });
    await harness.client.delete(Task, name);
  }
  const Newer = taskWith({ size: Type.Optional(Type.Integer({ default: 3 })) });
  await harness.restart([pluginOf(Newer)]);
  const { client } = harness;
  await assert.rejects(client.patch(Newer, 'one', { spec: { title: 'other' } }), { code: 'Deleting' });
  await client.patch(Newer, 'one', { metadata: { labels: { a: 'b' } } });
  await client.patch(Newer, 'one', { metadata: { finalizers: null } });
  const two = (await client.fetch(Newer, 'two'))!;
  await client.update(Newer, { ...two, metadata: { ...two.metadata, finalizers: [] } });
  for (const name of ['one', 'two']) assert.equal(await client.fetch(Newer, name), undefined);
});
