import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { allWidgets, Facade, gadgets, widgets } from './harness.ts';

const facade = new Facade();
before(() => facade.start());
after(() => facade.stop());

const types = [
  'application/json',
  'application/json; charset=utf-8',
  'application/yaml',
  'application/merge-patch+json',
  'application/json-patch+json',
  'application/apply-patch+yaml',
  'application/strategic-merge-patch+json',
  'application/vnd.kubernetes.protobuf',
  'text/plain',
  '',
];
const accepts = [
  '*/*',
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf,application/json',
  'application/json;as=Table;v=v1;g=meta.k8s.io,application/json',
  'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io',
  'application/cbor',
  ';;,=q',
];
const places = [
  gadgets,
  widgets,
  allWidgets,
  `${gadgets}/a`,
  `${widgets}/a`,
  `${widgets}/a/status`,
  `${widgets}/a/scale`,
  '/',
  '/api',
  '/apis',
  '/apis/shop.example.com',
  '/apis/shop.example.com/v1',
  '/api/v1/namespaces',
  '/openapi/v2',
  '/openapi/v3',
  '/openapi/v3/apis/shop.example.com/v1',
  '/version',
  '/nothing/here',
  '/apis/shop.example.com/v1/gadgets/a/b/c',
];
const parameters = fc.record(
  {
    limit: fc.constantFrom('0', '1', '-1', 'x'),
    continue: fc.oneof(fc.constant(Buffer.from('[1,1,"a",-1]').toString('base64url')), fc.string()),
    resourceVersion: fc.constantFrom('', '0', '1', '99999999', 'x'),
    resourceVersionMatch: fc.constantFrom('', 'Exact', 'NotOlderThan', 'x'),
    labelSelector: fc.oneof(fc.constantFrom('a=b', '!a', 'a in (b)'), fc.string()),
    fieldSelector: fc.oneof(fc.constantFrom('metadata.name=a', 'spec.color!='), fc.string()),
    dryRun: fc.constantFrom('All', 'x', ''),
    fieldValidation: fc.constantFrom('Strict', 'Warn', 'Ignore', 'x'),
    fieldManager: fc.string(),
    includeObject: fc.constantFrom('None', 'Object', 'x'),
    propagationPolicy: fc.constantFrom('Foreground', 'x'),
    sendInitialEvents: fc.constantFrom('true', 'x'),
    timeoutSeconds: fc.constant('1'),
  },
  { requiredKeys: [] },
);
const bodies = fc.oneof(
  fc.constant(undefined),
  fc.json(),
  fc.string(),
  fc.constantFrom(
    '{"metadata":{"name":"a","labels":null},"spec":{"color":"x"}}',
    '{"metadata":null}',
    '{"metadata":{"name":7,"labels":[],"ownerReferences":{}}}',
    '{"metadata":{"name":"a","resourceVersion":7}}',
    '[{"op":"add","path":"/spec/x","value":1},{"op":"remove","path":""}]',
    '[{"op":"replace","path":"/metadata","value":[]}]',
    '{"spec":null,"kind":[],"apiVersion":{}}',
    'a: &a [*a]\n',
    'a: b: c',
    '{"preconditions":7,"dryRun":"x","propagationPolicy":{}}',
    `{"metadata":{"name":"${'é'.repeat(300)}"}}`,
    '{"__proto__":{"x":1},"constructor":1}',
    'k8s\0\x0a\x03abc',
  ),
);

test('whatever is sent, a failure is a Status, and never one of the service', { timeout: 240_000 }, async () => {
  await facade.kube(gadgets, { body: { metadata: { name: 'a' }, spec: {} } });
  await facade.kube(widgets, { body: { metadata: { name: 'a' }, spec: {} } });
  const request = fc.record({
    method: fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'),
    path: fc.constantFrom(...places),
    query: parameters,
    type: fc.constantFrom(...types),
    accept: fc.constantFrom(...accepts),
    body: bodies,
  });
  await fc.assert(
    fc.asyncProperty(request, async ({ method, path, query, type, accept, body }) => {
      const pairs = new URLSearchParams(query as Record<string, string>);
      const reply = await facade.kube(`${path}?${pairs}`, {
        method,
        headers: { 'content-type': type, accept },
        ...(body !== undefined && method !== 'GET' && method !== 'HEAD' && { body }),
      });
      assert.ok(reply.status < 500 || reply.status === 504, `${reply.status} ${reply.text}`);
      if (reply.status < 400 || method === 'HEAD') return;
      assert.equal(reply.headers.get('content-type'), 'application/json');
      const { kind, apiVersion, status, code, reason, message } = reply.json;
      assert.deepEqual(
        { kind, apiVersion, status, code },
        { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: reply.status },
      );
      assert.ok(reason && message, reply.text);
    }),
    { numRuns: 1_500 },
  );
});
