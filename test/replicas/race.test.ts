import { Agent } from 'node:http';
import { it } from 'node:test';
import { createService } from 'kindred';
import pino from 'pino';
import { ItemModel } from '../histories/item.ts';
import { databaseAdapters } from '../servers.ts';
import { race } from './race.ts';

const rounds = 10;

for (const adapter of databaseAdapters()) {
  it(`queries: 64 writers race for the same unique values over ${adapter.name}: exactly one winner each time`, async () => {
    const database = await adapter.create();
    const agent = new Agent({ keepAlive: true, maxSockets: 64 });
    const logger = pino({ level: 'silent' });
    const services = [];
    try {
      const urls: string[] = [];
      for (let i = 0; i < (adapter.kind === 'sqlite' ? 1 : 3); i++) {
        const service = await createService({ database: database.url, port: 0, auth: false, logger });
        services.push(service);
        service.schemeManager.register(ItemModel);
        urls.push((await service.start()).url);
      }
      const held = new Set<number>();
      for (let round = 1; round <= rounds; round++) await race(agent, { urls, writers: 64, value: `v${round}` }, held);
    } finally {
      agent.destroy();
      for (const service of services) await service.stop();
      await database.drop();
    }
  });
}
