/**
 * The long run: node --import ./test/sources.ts test/resource/rewrite-run.ts --objects 1000000 --writers 4 --kills 0 --database sqlite
 * Exit code 1 when anything but the writers changed an object, its version or the change log.
 */
import { parseArgs } from 'node:util';
import type { DatabaseKind } from '../servers.ts';
import { databaseAdapters } from '../servers.ts';
import { rewrites } from './rewrites.ts';

const { values } = parseArgs({
  options: {
    objects: { type: 'string', default: '1000000' },
    writers: { type: 'string', default: '4' },
    replicas: { type: 'string', default: '1' },
    kills: { type: 'string', default: '0' },
    rate: { type: 'string', default: '20000' },
    database: { type: 'string', default: 'sqlite' },
  },
});
const adapter = databaseAdapters().find(({ kind }) => kind === (values.database as DatabaseKind));
if (!adapter) throw new Error(`no database "${values.database}" here: expected sqlite, postgres or mariadb`);
const database = await adapter.create();
const number = (name: Exclude<keyof typeof values, 'database'>) => Number(values[name]);
const { violations, ...result } = await rewrites({
  database: database.url,
  objects: number('objects'),
  writers: number('writers'),
  replicas: number('replicas'),
  kills: number('kills'),
  rate: number('rate'),
});
await database.drop();
console.log(JSON.stringify({ objects: number('objects'), ...result }));
for (const violation of violations.slice(0, 20)) console.error(violation);
console.log(`${violations.length} violations`);
process.exit(violations.length > 0 ? 1 : 0);
