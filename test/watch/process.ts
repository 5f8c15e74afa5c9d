/** A service in a process of its own, to be killed: `process.ts DATABASE PORT`; prints its address when it is ready. */
import { createService } from 'kindred';
import { Counter } from './counter.ts';

const [database, port] = process.argv.slice(2);
const service = await createService({ database, port: Number(port), auth: false });
service.schemeManager.register(Counter);
const { url } = await service.start();
console.log(url);
