/** A replica over two stores: `move-replica.ts DATABASE OTHER_DATABASE PORT`; prints its address when it is ready. */
import { createService } from 'kindred';
import pino from 'pino';
import { placed, Reading } from './kit.ts';

const [main, telemetry, port] = process.argv.slice(2);
const { placement: _, ...stores } = placed({ main: { url: main! }, telemetry: { url: telemetry! } });
const service = await createService({
  ...stores,
  port: Number(port),
  auth: false,
  logger: pino({ level: 'silent' }),
});
service.schemeManager.register(Reading);
const { url } = await service.start();
console.log(url);
