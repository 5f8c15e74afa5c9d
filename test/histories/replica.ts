/** One replica in a process of its own, to be killed and paused: `replica.ts DATABASE PORT`; prints its address when it is ready. */
import { createService } from 'kindred';
import pino from 'pino';
import { ItemModel } from './item.ts';

const [database, port] = process.argv.slice(2);
const service = await createService({
  database,
  port: Number(port),
  auth: false,
  watch: { bookmarkInterval: 300 },
  logger: pino({ level: 'silent' }),
});
service.schemeManager.register(ItemModel);
const { url } = await service.start();
console.log(url);
