import { after, before, test } from 'node:test';
import { fuzz } from './fuzz.ts';
import { Facade } from './harness.ts';

const facade = new Facade();
before(() => facade.start());
after(() => facade.stop());

test('whatever is sent, a failure is a Status, and never one of the service', { timeout: 240_000 }, () =>
  fuzz(facade, { numRuns: 1_500 }),
);
