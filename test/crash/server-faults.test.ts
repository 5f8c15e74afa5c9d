import { describe, it } from 'node:test';
import { databaseAdapters } from '../servers.ts';
import { faultRound, serverFaults } from './server-faults.ts';

for (const { kind, name } of databaseAdapters()) {
  const faults = serverFaults.filter((fault) => fault.kind === kind && !fault.isSlow);
  if (faults.length === 0) continue;
  describe(`I/O faults below ${name}`, () => {
    for (const fault of faults) {
      it(`command-line: ${fault.title}: writes say so, nothing acknowledged is lost, the service goes on by itself`, async (t) => {
        const result = await faultRound(fault);
        if (result) t.diagnostic(JSON.stringify(result));
        else t.skip('see the line above');
      });
    }
  });
}
