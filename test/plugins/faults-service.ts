/** A service in a process of its own, with plugins whose errors nobody catches: run by faults.test.ts. */
import { defineModel, definePlugin, Type } from 'kindred';
import { startHarness } from 'kindred/testing';
import pino from 'pino';

const Late = defineModel({
  gvk: { group: 'hostile.example.com', version: 'v1', kind: 'Late', singular: 'late', plural: 'lates' },
  spec: Type.Object({}),
});

const rejects = definePlugin({
  start() {
    setTimeout(() => void Promise.reject(new Error('nobody waits for me')), 20);
  },
});

const throws = definePlugin({
  start() {
    setTimeout(() => {
      throw new Error('out of the blue');
    }, 20);
  },
});

const goesOn = definePlugin({
  start({ schemeManager, client }) {
    schemeManager.register(Late);
    const timer = setInterval(async () => {
      await client.create(Late, { metadata: { generateName: 'late-' }, spec: {} }).catch((error: Error) => {
        clearInterval(timer);
        throw error;
      });
    }, 20);
  },
});

// Before the plugins: whoever touches a stream first is who its events belong to.
process.stdin.on('data', (data) => {
  if (String(data) === 'of-none') void Promise.reject(new Error('of no plugin'));
});

const harness = await startHarness({
  logger: pino({ level: 'silent' }),
  plugins: [
    { name: 'rejects', plugin: rejects },
    { name: 'throws', plugin: throws },
    { name: 'goes-on', plugin: goesOn },
    ...process.argv.slice(2),
  ],
});
console.log(harness.url);
