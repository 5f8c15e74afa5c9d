import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { until } from '../../../src/testing/until.ts';
import { assertTurns, LoopGuard } from '../../api/loop-guard.ts';
import { slowness, threadTime } from '../../slowness.ts';
import { Facade } from '../harness.ts';
import { definitionOf, definitions } from './definitions.ts';

const facade = new Facade();
const guard = new LoopGuard();
before(() => facade.start());
after(() => facade.stop());

const things = '/apis/large.example.com/v1/things';

test('a definition of 10,505 schemas does not hold the event loop, and is served within 2 s', async () => {
  const definition = definitionOf({ nodes: 10_505 });
  const path = `${definitions}/${definition.metadata.name}`;
  const started = threadTime();
  const made = await facade.kube(definitions, { body: JSON.stringify(definition) });
  assert.equal(made.status, 201, made.text);
  await until(async () => (await facade.kube(things)).status === 200);
  const elapsed = threadTime() - started;
  assert.ok(elapsed < 2_000 * slowness(), `served after ${Math.round(elapsed)} ms of processor time`);

  let count = 0;
  const body = () => JSON.stringify({ metadata: { name: `t${++count}` }, spec: { part0: { m0: 'a' } } });
  const change = async () => {
    const next = (await facade.kube(path)).json;
    next.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties[`more${++count}`] = {
      type: 'integer',
      default: count,
    };
    return JSON.stringify(next);
  };
  /** The longest turn while one text is sent. The text is made first, and made again after a conflict (`send` gives false). */
  const held = async (make: () => string | Promise<string>, send: (text: string) => Promise<boolean>) => {
    for (;;) {
      const text = await make();
      guard.take();
      const isDone = await send(text);
      const turn = guard.take();
      if (isDone) return turn;
    }
  };
  /** False when the service has written the status since the text was made. */
  const put = async (text: string): Promise<boolean> => {
    const { status } = await facade.kube(path, { method: 'PUT', body: text });
    if (status !== 409) assert.equal(status, 200);
    return status === 200;
  };
  const changed = () =>
    held(change, async (text) => {
      if (!(await put(text))) return false;
      await until(async () => (await facade.kube(`${things}?limit=1`)).json.items[0]?.spec[`more${count}`] === count);
      return true;
    });
  const posted = () =>
    held(body, async (text) => {
      assert.equal((await facade.kube(things, { body: text })).status, 201);
      return true;
    });
  const described = () =>
    held(change, async (text) => {
      if (!(await put(text))) return false;
      assert.equal((await facade.kube('/openapi/v3/apis/large.example.com/v1')).status, 200);
      return true;
    });
  await assertTurns('a first object', await posted(), posted);
  await assertTurns('another schema', await changed(), changed);
  await assertTurns('its description', await described(), described);
});
