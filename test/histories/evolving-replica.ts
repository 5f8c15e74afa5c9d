/** One replica with one version of the plugin: `evolving-replica.ts DATABASE PORT VERSION`; prints its address when it is ready. */
import type { PluginContext } from 'kindred';
import { createService, definePlugin } from 'kindred';
import pino from 'pino';
import { quickTimers, versions } from './evolving.ts';

const [database, port, version] = process.argv.slice(2);
const service = await createService({
  database: database!,
  port: Number(port),
  auth: false,
  timers: quickTimers,
  logger: pino({ level: 'silent' }),
  plugins: [
    {
      name: 'items',
      plugin: definePlugin({
        start: ({ schemeManager }: PluginContext) => void schemeManager.register(versions[version!]!),
      }),
    },
  ],
});
process.once('SIGTERM', () => void service.stop().then(() => process.exit(0)));
const { url } = await service.start();
console.log(url);
