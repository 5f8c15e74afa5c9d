import assert from 'node:assert/strict';
import { it } from 'node:test';
import { objectTable } from './output.ts';

it('contract 14: a table has each heading once, also for a model with a name or a version in its spec', () => {
  const metadata = { name: 'a', creationTimestamp: '1970-01-01T00:00:00.000Z', version: 2 };
  const object = { apiVersion: 'v1', kind: 'K', metadata, spec: { name: 'Ada', version: '1.0', size: 3 } };
  assert.equal(
    objectTable([object], 600_000),
    'NAME   SPEC.NAME   SPEC.VERSION   SIZE   AGE   VERSION\na      Ada         1.0            3      10m   2\n',
  );
});
