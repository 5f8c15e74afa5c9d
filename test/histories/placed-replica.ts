/** As replica.ts, over two stores: `placed-replica.ts DATABASE PORT OTHER_DATABASE`; the second model is in the other one. */
import { createService } from 'kindred';
import pino from 'pino';
import { ItemModel, PlacedItemModel } from './item.ts';

const [database, port, other] = process.argv.slice(2);
const service = await createService({
  database,
  stores: { other: { database: other! } },
  placement: [{ model: '*.placed.example.com', store: 'other' }],
  port: Number(port),
  auth: false,
  watch: { bookmarkInterval: 300 },
  logger: pino({ level: 'silent' }),
});
for (const model of [ItemModel, PlacedItemModel]) service.schemeManager.register(model);
const { url } = await service.start();
console.log(url);
