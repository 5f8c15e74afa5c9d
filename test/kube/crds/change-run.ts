/**
 * Changes of a schema while its objects are watched and written:
 * `node test/kube/crds/change-run.ts --watchers 1000 --writers 8 --writes 100 --changes 5`. Fails when a reader is interrupted, a watcher
 * misses a change or an acknowledged object is lost.
 */
import { parseArgs } from 'node:util';
import { changesUnderLoad } from './changes.ts';

const { values } = parseArgs({
  options: {
    watchers: { type: 'string', default: '1000' },
    writers: { type: 'string', default: '8' },
    writes: { type: 'string', default: '100' },
    changes: { type: 'string', default: '5' },
  },
});
const load = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value)]));
console.log(await changesUnderLoad(load as unknown as Parameters<typeof changesUnderLoad>[0]));
