/**
 * One replica with one version of the plugin: `evolving-replica.ts DATABASE PORT VERSION`; prints its address when it is ready.
 * Exit code 3 when the version is refused, 4 when the database does not answer.
 */
import { globalAgent } from 'node:http';
import type { PluginContext } from 'kindred';
import { createService, definePlugin, KindredError } from 'kindred';
import pino from 'pino';
import { call } from './call.ts';
import { quickTimers, versions } from './evolving.ts';

const [database, port, version] = process.argv.slice(2);
const items = definePlugin({
  start: ({ schemeManager }: PluginContext) => void schemeManager.register(versions[version!]!),
});
let isStopping = false;
try {
  const service = await createService({
    database: database!,
    port: Number(port),
    auth: false,
    timers: quickTimers,
    logger: pino({ level: 'silent' }),
    plugins: [{ name: 'items', plugin: items }],
  });
  process.once('SIGTERM', () => {
    isStopping = true;
    void service.stop().then(() => process.exit(0));
  });
  const { url } = await service.start();
  const answer = await call(globalAgent, Number(new URL(url).port), 'GET', '/readyz');
  const { plugins } = answer.body as { plugins: { name: string; state: string }[] };
  if (plugins.some(({ state }) => state === 'FAILED')) {
    await service.stop();
    process.exit(3);
  }
  console.log(url);
} catch (error) {
  // It waited for others, and is not wanted any more.
  if (isStopping) process.exit(0);
  const { code } = (error as { cause?: { code?: string } }).cause ?? {};
  if (code === 'ETIMEDOUT' || (error instanceof KindredError && error.code === 'NotReady')) process.exit(4);
  throw error;
}
