import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '../../src/store/open.ts';
import { storeContract } from '../../src/testing/store-contract.ts';

storeContract({
  name: 'a SQLite file',
  async create() {
    const folder = mkdtempSync(join(tmpdir(), 'kindred-store-'));
    return {
      open: () => openStore(`sqlite:${join(folder, 'data.db')}`),
      drop: async () => rmSync(folder, { recursive: true }),
    };
  },
});

storeContract({
  name: 'SQLite in memory',
  durable: false,
  create: async () => ({ open: () => openStore('sqlite::memory:'), drop: async () => undefined }),
});
