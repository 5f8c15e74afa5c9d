/** `dryRun=true`: everything that a write does but the commit. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expect, live } from '../auth/live.ts';
import type { ApiCase } from './harness.ts';
import { jobs, person, persons, runCases, withApi } from './harness.ts';

const dry = '?dryRun=true';
const said = { 'kindred-dry-run': 'true', etag: undefined, location: undefined };
const unchanged = {
  [`${persons}/ada`]: { metadata: { version: 0, deletionTimestamp: undefined }, spec: { age: undefined } },
};

const cases: readonly ApiCase[] = [
  {
    name: 'POST answers the object with its defaults, and stores nothing',
    request: { path: persons + dry, body: person('bob') },
    status: 201,
    headers: said,
    body: { kind: 'Person', metadata: { name: 'bob', version: 0 }, spec: { country: 'nowhere' } },
    revision: 2,
    then: { [`${persons}/bob`]: null },
  },
  {
    name: 'POST with generateName gives a name',
    request: { path: persons + dry, body: { metadata: { generateName: 'x-' }, spec: { name: 'X' } } },
    status: 201,
    headers: said,
    body: { metadata: { name: /^x-[a-z0-9]{8}$/ } },
    revision: 2,
  },
  {
    name: 'POST of a name that is taken',
    request: { path: persons + dry, body: person('ada', { name: 'Other' }) },
    status: 409,
    headers: { 'kindred-dry-run': undefined },
    body: { code: 'AlreadyExists' },
  },
  {
    name: 'POST of a unique value that is taken: it is looked up',
    request: { path: persons + dry, body: person('bob', { name: 'Name of ada' }) },
    status: 409,
    body: { code: 'UniqueViolation', index: 'spec.name', value: 'Name of ada' },
  },
  {
    name: 'POST of a unique value that is free: it is not taken by that',
    request: { path: persons + dry, body: person('carl', { name: 'Carl' }) },
    status: 201,
  },
  {
    name: 'that value is then given to another',
    request: { path: persons, body: person('dora', { name: 'Carl' }) },
    status: 201,
    revision: 3,
  },
  {
    name: 'POST of what is invalid',
    request: { path: persons + dry, body: person('bob', { age: 200 }) },
    status: 422,
    body: { errors: [{ pointer: '/spec/age' }] },
  },
  {
    name: 'PUT answers the next version, and stores nothing',
    request: { method: 'PUT', path: `${persons}/ada${dry}`, body: person('ada', { age: 36 }, { version: 0 }) },
    status: 200,
    headers: said,
    body: { metadata: { version: 1 }, spec: { age: 36 } },
    revision: 3,
    then: unchanged,
  },
  {
    name: 'PUT that changes nothing',
    request: { method: 'PUT', path: `${persons}/ada${dry}`, body: person('ada') },
    status: 200,
    headers: said,
    body: { metadata: { version: 0 } },
  },
  {
    name: 'PUT with another version',
    request: { method: 'PUT', path: `${persons}/ada${dry}`, body: person('ada', {}, { version: 7 }) },
    status: 409,
    body: { code: 'VersionConflict', currentVersion: 0 },
  },
  {
    name: 'PATCH answers what would come of it',
    request: { method: 'PATCH', path: `${persons}/ada${dry}`, body: { spec: { age: 37 } } },
    status: 200,
    headers: said,
    body: { metadata: { version: 1 }, spec: { age: 37 } },
    then: unchanged,
  },
  {
    name: 'JSON Patch with a test that fails',
    request: {
      method: 'PATCH',
      path: `${persons}/ada${dry}`,
      body: [{ op: 'test', path: '/metadata/version', value: 9 }],
    },
    status: 409,
    body: { code: 'PatchTestFailed' },
  },
  {
    name: 'PATCH with an entity tag that is none of it',
    request: {
      method: 'PATCH',
      path: `${persons}/ada${dry}`,
      headers: { 'if-match': '"x"' },
      body: { spec: { age: 1 } },
    },
    status: 412,
  },
  {
    name: 'DELETE answers the object with its deletionTimestamp, and deletes nothing',
    request: { method: 'DELETE', path: `${persons}/ada${dry}` },
    status: 200,
    headers: said,
    body: { metadata: { deletionTimestamp: /^2/ } },
    then: unchanged,
  },
  {
    name: 'DELETE of what there is not',
    request: { method: 'DELETE', path: `${persons}/nobody${dry}` },
    status: 404,
  },
  {
    name: 'the status alone',
    request: {
      method: 'PUT',
      path: `${jobs}/one/status${dry}`,
      body: { metadata: { name: 'one' }, spec: { command: 'x' }, status: { phase: 'Done' } },
    },
    status: 200,
    headers: said,
    body: { spec: { command: 'run' }, status: { phase: 'Done' } },
    then: { [`${jobs}/one`]: { status: undefined } },
  },
  {
    name: 'lines of a bulk request',
    request: {
      path: persons + dry,
      headers: { 'content-type': 'application/x-ndjson' },
      body: `${JSON.stringify(person('eve'))}\n${JSON.stringify(person('ada'))}\n${JSON.stringify(person('fay', { age: -1 }))}\n`,
    },
    status: 200,
    headers: { 'kindred-dry-run': 'true' },
    body: /"eve".*\n.*AlreadyExists.*\n.*Invalid/,
    then: { [`${persons}/eve`]: null },
  },
  {
    name: 'false is as nothing',
    request: { path: `${persons}?dryRun=false`, body: person('gil') },
    status: 201,
    headers: { 'kindred-dry-run': undefined },
    revision: 4,
  },
  ...['dryRun=yes', 'dryRun=', 'dryRun=true&dryRun=true', 'dryrun=true', 'dryRun=true&size=1'].map((query) => ({
    name: `${query} is refused, and nothing is stored`,
    request: { path: `${persons}?${query}`, body: person('hal') },
    status: 400,
    body: { code: 'InvalidParameter' },
    then: { [`${persons}/hal`]: null },
  })),
  {
    name: 'a read knows no dry run',
    request: { path: `${persons}/ada${dry}` },
    status: 400,
  },
];

runCases('dry run', cases, [
  { path: jobs, body: { metadata: { name: 'one' }, spec: { command: 'run' } } },
  { path: persons, body: person('ada') },
]);

const api = withApi();

test('what a dry run answers is what the write then answers', async () => {
  const withoutTime = ({ json }: { json: any }) => ({ ...json, metadata: { ...json.metadata, creationTimestamp: '' } });
  for (const [method, path, body] of [
    ['POST', persons, person('ada', { age: 1, tags: ['a'] }, { labels: { a: 'b' } })],
    ['PUT', `${persons}/ada`, person('ada', { age: 2 })],
    ['PATCH', `${persons}/ada`, { spec: { tags: null, active: true } }],
  ] as const) {
    const rehearsed = await api.send({ method, path: path + dry, body });
    const written = await api.send({ method, path, body });
    assert.equal(rehearsed.status, written.status);
    assert.deepEqual(withoutTime(rehearsed), withoutTime(written));
  }
});

test('permissions: a dry run needs the same rights, and no token comes of one', async () => {
  await using at = await live();
  const tokens = '/api/v1alpha1/personalaccesstokens';
  const nobody = await at.person('nobody', []);
  await expect(403, nobody.send('POST', `/api/v1alpha1/users${dry}`, { metadata: { name: 'x' } }));
  await expect(403, nobody.send('DELETE', `/api/v1alpha1/users/admin${dry}`));
  const before = (await at.admin('GET', tokens)).body.total;
  const made = await expect(201, at.admin('POST', tokens + dry, { metadata: { name: 't' }, spec: { user: 'admin' } }));
  assert.equal(made.body.status, undefined);
  assert.equal((await at.admin('GET', tokens)).body.total, before);
});
