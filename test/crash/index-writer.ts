/** The process that is killed while it writes objects and snapshots of its indexes; it says on stdout when it is ready. */
import { openProcess, thing } from '../snapshots/process.ts';

const [url = '', path = '', seed = '0'] = process.argv.slice(2);
const names = 1_500;
const opened = await openProcess({ url, path, options: { interval: 1_000, minChanges: 20 } });
opened.snapshots.start(opened.resources.feed, () => opened.resources.all());
process.stdout.write(`${JSON.stringify(opened.start)}\n`);
let state = Number(seed) + 1;
const random = (limit: number): number => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * limit);
};
for (let edition = 1; ; edition++) {
  // Objects that wait for their finalizers refuse to be changed.
  await Promise.all(
    Array.from({ length: 8 }, () => {
      const number = random(names);
      const known = opened.resource.memory.index.find(thing(number).metadata.name);
      return (known && random(4) === 0 ? opened.remove(number) : opened.put(number, edition)).catch(() => {});
    }),
  );
}
