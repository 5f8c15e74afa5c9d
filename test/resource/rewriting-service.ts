/** One replica in a process of its own, to be killed: `rewriting-service.ts DATABASE RATE`; prints its address when it is ready. */
import { serviceWith } from './rewriting.ts';

const [database, rate] = process.argv.slice(2);
const service = await serviceWith('v2', database!, Number(rate));
process.once('SIGTERM', () => void service.stop().then(() => process.exit(0)));
const { url } = await service.start();
console.log(url);
