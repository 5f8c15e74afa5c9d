import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formOf, mediaRanges } from './negotiate.ts';

const json = { type: 'application/json', shape: 'objects', version: 'v1' };

test('JSON for who takes anything, or says nothing', () => {
  for (const accept of [undefined, '', '*/*', 'application/*', 'application/json', 'application/json;stream=watch']) {
    assert.deepEqual(formOf(accept), json, String(accept));
  }
});

test('the first offer that can be answered, as clients of protobuf send it', () => {
  assert.deepEqual(formOf('application/vnd.kubernetes.protobuf,application/json'), json);
  assert.deepEqual(formOf('application/yaml, application/json'), { ...json, type: 'application/yaml' });
});

test('tables, as kubectl asks for them', () => {
  const accept =
    'application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json';
  assert.deepEqual(formOf(accept), { ...json, shape: 'table' });
  const older = formOf('application/json;as=Table;v=v1beta1;g=meta.k8s.io, application/json');
  assert.deepEqual(older, { ...json, shape: 'table', version: 'v1beta1' });
});

test('metadata alone', () => {
  for (const as of ['PartialObjectMetadata', 'PartialObjectMetadataList']) {
    assert.equal(formOf(`application/json;g=meta.k8s.io;v=v1;as=${as}`).shape, 'metadata');
  }
});

test('a form that is not known leaves the next offer', () => {
  assert.deepEqual(formOf('application/json;as=Chart;v=v1;g=meta.k8s.io,application/json'), json);
  assert.deepEqual(formOf('application/json;as=Table;v=v2;g=meta.k8s.io,application/json'), json);
  assert.deepEqual(formOf('application/json;as=Table;v=v1;g=other,application/json'), json);
});

test('406 when nothing fits', () => {
  for (const accept of ['text/plain', 'application/json;q=0', 'application/cbor', ',,;']) {
    assert.throws(() => formOf(accept), { code: 'NotAcceptable', status: 406 }, accept);
  }
});

test('ranges in the order of their quality', () => {
  const types = mediaRanges('text/plain;q=0.1, application/json;q=0.5, application/yaml').map(({ type }) => type);
  assert.deepEqual(types, ['application/yaml', 'application/json', 'text/plain']);
});
