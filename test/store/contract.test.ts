import { openStore } from '../../src/store/open.ts';
import { storeContract } from '../../src/testing/store-contract.ts';
import { databaseAdapters, selectedDatabases } from '../servers.ts';

if (selectedDatabases().includes('sqlite')) {
  storeContract({
    name: 'SQLite in memory',
    durable: false,
    create: async () => ({ open: () => openStore('sqlite::memory:'), drop: async () => undefined }),
  });
}

for (const adapter of databaseAdapters()) storeContract(adapter);
