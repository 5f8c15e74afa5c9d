/**
 * Starts of a service with many definitions: `node test/kube/crds/start-run.ts --definitions 500 [--folder FOLDER]`. The
 * definitions are made up, or those of the folder `definitions/` of FOLDER, each with several groups. Prints the time and the
 * processor time of a start with them beside one without, and how long a turn of the event loop was at most.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { starts } from './starts.ts';

const { values } = parseArgs({
  options: { definitions: { type: 'string', default: '500' }, folder: { type: 'string' } },
});
const folder = await mkdtemp(join(tmpdir(), 'kindred-definitions-'));
try {
  console.log(
    await starts({
      database: `sqlite:${join(folder, 'kindred.db')}`,
      count: Number(values.definitions),
      ...(values.folder && { folder: values.folder }),
    }),
  );
} finally {
  await rm(folder, { recursive: true });
}
