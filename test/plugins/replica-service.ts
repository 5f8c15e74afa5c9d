/** One replica in a process of its own, to be killed: run by replicas.test.ts. Arguments: database URL, plugin folder. */
import { startHarness } from 'kindred/testing';
import pino from 'pino';

const [database, folder] = process.argv.slice(2);
const harness = await startHarness({ database, plugins: [folder!], logger: pino({ level: 'silent' }) });
console.log(harness.url);
