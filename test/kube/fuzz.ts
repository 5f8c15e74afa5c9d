/** Random requests to the façade. Whatever is sent, a failure is a Status, and never one of the service. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Facade } from './harness.ts';
import { allWidgets, gadgets, widgets } from './harness.ts';

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
  '/api/v1/namespaces/default',
  '/api/v1/namespaces/default/configmaps',
  '/api/v1/namespaces/default/configmaps/a',
  '/api/v1/namespaces/default/secrets/a/',
  '/api/v1/namespaces/default/events',
  '/apis/events.k8s.io/v1/namespaces/default/events',
  '/apis/events.k8s.io/v1/namespaces/default/events/a',
  '/apis/coordination.k8s.io/v1/namespaces/default/leases/a',
  '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
  '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
  '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews',
  '/apis/authentication.k8s.io/v1/selfsubjectreviews',
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
    watch: fc.constantFrom('true', '0', 'x'),
    force: fc.constantFrom('true', 'x'),
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
    '{"metadata":{"name":"a","finalizers":["x/y"],"$setElementOrder/finalizers":7},"data":{"$patch":"replace"}}',
    '{"metadata":{"ownerReferences":[{"uid":"1","$patch":"delete"},7]},"$retainKeys":["data"]}',
    '{"regarding":{"name":"a"},"series":null,"note":7}',
    '{"spec":{"resourceAttributes":{"verb":"*","resource":"*","group":7}}}',
    '{"spec":{"group":"a.example.com","names":{"plural":"as","kind":"A"},"scope":"x","versions":[{}]}}',
  ),
);

const request = fc.record({
  method: fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'),
  path: fc.constantFrom(...places),
  query: parameters,
  type: fc.constantFrom(...types),
  accept: fc.constantFrom(...accepts),
  body: bodies,
});

/** Milliseconds after which an answer counts as one that never comes; watches end after a second. */
const patience = 30_000;

/** @throws Error with the request, when an answer is none of those, or does not come */
export async function fuzz(facade: Facade, runs: { readonly numRuns: number; readonly seed?: number }): Promise<void> {
  await facade.kube(gadgets, { body: { metadata: { name: 'a' }, spec: {} } });
  await facade.kube(widgets, { body: { metadata: { name: 'a' }, spec: {} } });
  await facade.kube('/api/v1/namespaces/default/configmaps', { body: { metadata: { name: 'a' } } });
  const property = fc.asyncProperty(request, async ({ method, path, query, type, accept, body }) => {
    // A watch without an end of its own lasts half an hour.
    const pairs = new URLSearchParams({ ...(query as Record<string, string>), timeoutSeconds: '1' });
    let timer: NodeJS.Timeout | undefined;
    const never = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('no answer')), patience);
    });
    const sent = facade.kube(`${path}?${pairs}`, {
      method,
      headers: { 'content-type': type, accept },
      ...(body !== undefined && method !== 'GET' && method !== 'HEAD' && { body }),
    });
    const reply = await Promise.race([sent, never]);
    clearTimeout(timer);
    assert.ok(reply.status < 500 || reply.status === 504, `${reply.status} ${reply.text}`);
    if (reply.status < 400 || method === 'HEAD') return;
    assert.equal(reply.headers.get('content-type'), 'application/json');
    const { kind, apiVersion, status, code, reason, message } = reply.json;
    assert.deepEqual(
      { kind, apiVersion, status, code },
      { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: reply.status },
    );
    assert.ok(reason && message, reply.text);
  });
  await fc.assert(property, runs);
}
