import { openStore } from '../../src/store/open.ts';
import { storeContract } from '../../src/testing/store-contract.ts';
import { databaseAdapters, selectedDatabases } from '../servers.ts';

const seed = process.env.SEED === undefined ? {} : { seed: Number(process.env.SEED) };

if (selectedDatabases().includes('sqlite')) {
  const inMemory = {
    name: 'SQLite in memory',
    durable: false,
    create: async () => ({ open: () => openStore('sqlite::memory:'), drop: async () => undefined }),
  };
  storeContract(inMemory, seed);
}

for (const adapter of databaseAdapters()) storeContract(adapter, seed);
