import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createService, defineModel, Type } from 'kindred';

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
    assert.equal(await client.fetch(Task, 'one'), undefined);
  } finally {
    await service.stop();
  }
});
