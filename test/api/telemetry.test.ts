/** OpenTelemetry with the real SDK, whose exporter keeps everything in memory. */
import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { after, before, beforeEach, describe, test } from 'node:test';
import { context, metrics, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Service, ServiceOptions } from 'kindred';
import { createService, defineModel, definePlugin, GroupVersion, KindredError, route, Type } from 'kindred';
import { until } from 'kindred/testing';
import { pino } from 'pino';
import { Receiver } from '../webhook/receiver.ts';

const Order = defineModel({
  gvk: { group: 'shop.example.com', version: 'v1', kind: 'Order', singular: 'order', plural: 'orders' },
  spec: Type.Object({ step: Type.Integer() }),
});
const orders = '/apis/shop.example.com/v1/orders';
const hooks = '/apis/webhook.platform.run/v1alpha1/webhooks';
/** Of a caller elsewhere. */
const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';
const traceparent = `00-${traceId}-${spanId}-01`;

class Reader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

const exporter = new InMemorySpanExporter();
const reader = new Reader();

/** By the name of the object, what the reconciler found as the trace around it. */
const reconciled = new Map<string, string | undefined>();

const activeTrace = () => trace.getActiveSpan()?.spanContext().traceId;

const shop = definePlugin({
  name: 'shop',
  start({ schemeManager, registerController, registerEndpoint }) {
    schemeManager.register(Order);
    registerController({
      setupWith: (builder) => builder.extension(Order).name('orders').build(),
      reconcile: async ({ name }) => {
        reconciled.set(name, activeTrace());
        if (name === 'bad') throw new KindredError('NotReady', 'not now');
      },
    });
    registerEndpoint({
      groupVersion: () => GroupVersion.parse('api.shop.example.com/v1'),
      endpoint: () =>
        route()
          .GET('/traces', async ({ client }) => {
            await client.list(Order);
            await new Promise((resolve) => setImmediate(resolve));
            return { trace: activeTrace() };
          })
          .build(),
    });
  },
});

describe('with an SDK', () => {
  const receiver = new Receiver();
  const log: Record<string, unknown>[] = [];
  let service: Service;
  let url: string;

  before(async () => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    propagation.setGlobalPropagator(new W3CTraceContextPropagator());
    trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }));
    metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }));
    await receiver.start();
    const sink = new Writable({
      write(line: Buffer, _encoding, done) {
        log.push(JSON.parse(line.toString()));
        done();
      },
    });
    service = await start({
      telemetry: { traces: true, metrics: true },
      webhook: { allowPrivateAddresses: true, minDelay: 50 },
      logger: pino({ level: 'debug' }, sink),
    });
    ({ url } = await service.start());
    assert.deepEqual(
      service.readiness().plugins.map(({ state, message }) => [state, message]),
      [['STARTED', undefined]],
    );
  });

  after(async () => {
    await service.stop();
    await receiver.stop();
    for (const api of [context, propagation, trace, metrics]) api.disable();
  });

  beforeEach(() => exporter.reset());

  const spans = (name: string | RegExp) =>
    exporter
      .getFinishedSpans()
      .filter((span) => (typeof name === 'string' ? span.name === name : name.test(span.name)));
  const span = (name: string | RegExp) => until(() => spans(name)[0], { what: `a span ${name}` });

  const send = (path: string, body?: unknown, headers: Record<string, string> = {}) =>
    fetch(url + path, {
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
      headers: { 'content-type': 'application/json', ...headers },
    });
  const create = (name: string, headers: Record<string, string> = {}) =>
    send(orders, { apiVersion: 'shop.example.com/v1', kind: 'Order', metadata: { name }, spec: { step: 1 } }, headers);

  test('a request goes on with the trace of its caller, by the semantic conventions', async () => {
    const response = await create('first', { traceparent, 'user-agent': 'shopper', 'x-request-id': 'r-1' });
    assert.equal(response.status, 201);
    const found = await span(`POST ${orders}`);
    assert.equal(found.kind, SpanKind.SERVER);
    assert.equal(found.spanContext().traceId, traceId);
    assert.equal(found.parentSpanContext?.spanId, spanId);
    const { port } = new URL(url);
    assert.deepEqual(found.attributes, {
      'http.request.method': 'POST',
      'url.path': orders,
      'url.scheme': 'http',
      'kindred.request_id': 'r-1',
      'server.address': '127.0.0.1',
      'server.port': Number(port),
      'client.address': '127.0.0.1',
      'user_agent.original': 'shopper',
      'http.response.status_code': 201,
      'http.route': orders,
    });
    const [commit] = spans('commit');
    assert.equal(commit?.parentSpanContext?.spanId, found.spanContext().spanId);
    assert.equal(commit?.attributes['kindred.object'], 'orders.shop.example.com/first');
    assert.equal(commit?.attributes['kindred.revision'], Number(response.headers.get('kindred-revision')));
  });

  test('the line of the log has the ids of the span; a query string is in neither', async () => {
    log.length = 0;
    await send(`${orders}?fieldSelector=metadata.name=secret`, undefined, { traceparent });
    const found = await span(`GET ${orders}`);
    const line = await until(() => log.find(({ msg }) => msg === 'request'));
    assert.equal(line.traceId, traceId);
    assert.equal(line.spanId, found.spanContext().spanId);
    assert.ok(!JSON.stringify([found.attributes, line]).includes('secret'));
  });

  test('errors of callers are no failures of the span, and nobody who made them up gets a name of a span', async () => {
    await send(`${orders}/missing`);
    const missing = await span(`GET ${orders}/{name}`);
    assert.equal(missing.attributes['http.response.status_code'], 404);
    assert.equal(missing.status.code, SpanStatusCode.UNSET);
    await send('/made/up/7');
    const unmatched = await span('GET');
    assert.equal(unmatched.attributes['http.route'], undefined);
    assert.equal(unmatched.attributes['url.path'], '/made/up/7');
  });

  test('probes and scrapes have none', async () => {
    for (const path of ['/livez', '/readyz', '/metrics', '/v3/about']) await send(path);
    await span('GET /v3/about');
    assert.deepEqual(
      spans(/^GET/).map(({ name }) => name),
      ['GET /v3/about'],
    );
  });

  test('requests at the same time keep their traces apart, also in the code of a plugin', async () => {
    const ids = Array.from({ length: 200 }, (_, i) => i.toString(16).padStart(32, 'a'));
    const found = await Promise.all(
      ids.map(async (id) => {
        const response = await send('/apis/api.shop.example.com/v1/traces', undefined, {
          traceparent: `00-${id}-${spanId}-01`,
        });
        return ((await response.json()) as { trace: string }).trace;
      }),
    );
    assert.deepEqual(found, ids);
  });

  test('a reconcile is a trace of its own, which links to the write that caused it', async () => {
    await create('linked', { traceparent });
    const found = await until(() =>
      spans('reconcile shop/orders').find(
        ({ attributes }) => attributes['kindred.object'] === 'orders.shop.example.com/linked',
      ),
    );
    assert.notEqual(found.spanContext().traceId, traceId);
    assert.equal(found.parentSpanContext, undefined);
    assert.equal(reconciled.get('linked'), found.spanContext().traceId);
    const [post] = spans(`POST ${orders}`);
    assert.deepEqual(
      found.links.map(({ context: { traceId: id, spanId: one } }) => [id, one]),
      [[traceId, post!.spanContext().spanId]],
    );
  });

  test('a reconcile that throws has failed', async () => {
    await create('bad');
    const found = await until(() =>
      spans('reconcile shop/orders').find(({ status }) => status.code === SpanStatusCode.ERROR),
    );
    assert.equal(found.attributes['error.type'], 'NotReady');
    await service.client.delete(Order, 'bad');
  });

  test('a delivery hands its trace to the receiver and links to the write; a refused one has failed', async () => {
    let refuse = true;
    receiver.reply = () => (refuse ? { status: 503 } : {});
    await send('/api/v1alpha1/secrets', {
      apiVersion: 'v1alpha1',
      kind: 'Secret',
      metadata: { name: 'signing' },
      data: { key: Buffer.from('a key that only the two of us know').toString('base64') },
    });
    const made = await send(hooks, {
      apiVersion: 'webhook.platform.run/v1alpha1',
      kind: 'Webhook',
      metadata: { name: 'hook' },
      spec: { url: `${receiver.url}?token=hidden`, resources: ['orders.shop.example.com'], secretName: 'signing' },
    });
    assert.equal(made.status, 201, await made.text());
    const response = await create('sent', { traceparent });
    const revision = Number(response.headers.get('kindred-revision'));
    const refused = await span('deliver hook');
    refuse = false;
    assert.equal(refused.status.code, SpanStatusCode.ERROR);
    assert.equal(refused.attributes['http.response.status_code'], 503);
    const accepted = await until(() =>
      spans('deliver hook').find(({ status }) => status.code !== SpanStatusCode.ERROR),
    );
    assert.equal(accepted.kind, SpanKind.CLIENT);
    assert.equal(accepted.attributes['kindred.revision'], revision);
    assert.equal(accepted.attributes['http.response.status_code'], 204);
    assert.ok(!JSON.stringify(accepted.attributes).includes('hidden'));
    assert.equal(accepted.links[0]?.context.traceId, traceId);
    const { traceId: ofDelivery, spanId: own } = accepted.spanContext();
    assert.equal(receiver.accepted[0]?.headers.traceparent, `00-${ofDelivery}-${own}-01`);

    const text = await (await fetch(`${url}/metrics`)).text();
    assert.match(text, /^kindred_webhook_attempts_total\{webhook="hook",outcome="accepted"\} 1$/m);
    assert.match(text, /^kindred_webhook_attempts_total\{webhook="hook",outcome="refused"\} [1-9]/m);
    assert.match(text, /^kindred_webhook_deliveries_waiting\{webhook="hook"\} 0$/m);
    assert.match(text, /^kindred_webhook_deliveries_dropped_total\{webhook="hook"\} 0$/m);
    assert.match(text, /^kindred_feed_lag_revisions\{store="default"\} 0$/m);
  });

  test('inside of the span of somebody else, a request is a part of it', async () => {
    // As an instrumentation of node:http does it.
    const tracer = trace.getTracer('other');
    await tracer.startActiveSpan('outer', async (outer) => {
      const { Tracing } = await import('../../src/telemetry/tracing.ts');
      const tracing = new Tracing(await import('@opentelemetry/api'), tracer);
      const headers = { traceparent };
      const request = {
        method: 'GET',
        path: '/',
        authority: undefined,
        address: undefined,
        id: 'r',
        request: { headers },
      };
      tracing.request(request, 'http').end('/', 200, undefined);
      outer.end();
      const inner = await span('GET /');
      assert.equal(inner.kind, SpanKind.INTERNAL);
      assert.equal(inner.parentSpanContext?.spanId, outer.spanContext().spanId);
    });
  });

  test('the meter gets what /metrics has', async () => {
    await create('counted');
    const { resourceMetrics, errors } = await reader.collect();
    assert.deepEqual(errors, []);
    const found = new Map(
      resourceMetrics.scopeMetrics.flatMap(({ scope, metrics: all }) =>
        scope.name === 'kindred' ? all.map((one) => [one.descriptor.name, one] as const) : [],
      ),
    );
    const text = await (await fetch(`${url}/metrics`)).text();
    for (const [, name] of text.matchAll(/^# TYPE (\w+) /gm)) {
      const series = text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
      const exported = name === 'kindred_http_request_duration_seconds' ? 'http.server.request.duration' : name!;
      const isEmpty = series.length === 0 && !text.includes(`\n${name}_count`);
      assert.ok(isEmpty || found.has(exported), `${exported} is not exported`);
    }
    const objects = found.get('kindred_objects')!.dataPoints.find(({ attributes }) => attributes.kind === 'Order')!;
    assert.equal(objects.value, (await service.client.listNames(Order)).length);
    const durations = found.get('http.server.request.duration')!;
    assert.equal(durations.descriptor.unit, 's');
    const posts = durations.dataPoints.find(
      ({ attributes }) => attributes['http.request.method'] === 'POST' && attributes['http.route'] === orders,
    )!;
    const [, count] =
      /kindred_http_request_duration_seconds_count\{method="POST",route="\S+orders",status="201"\} (\d+)/.exec(text)!;
    assert.equal((posts.value as { count: number }).count, Number(count));
    const batches = found.get('kindred_commit_writes')!.dataPoints[0]!.value as { sum: number; count: number };
    assert.ok(batches.count > 0 && batches.sum >= batches.count);
  });
});

test('without an SDK the service says that nothing is recorded, and serves', async () => {
  const warnings: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line: string) => void warnings.push(JSON.parse(line).msg) });
  const service = await start({ telemetry: { traces: true, metrics: true }, logger });
  try {
    assert.deepEqual(
      warnings.map((text) => text.split(' is on')[0]),
      ['"telemetry.traces"', '"telemetry.metrics"'],
    );
    const { url } = await service.start();
    assert.equal((await fetch(`${url}${orders}`, { headers: { traceparent } })).status, 200);
  } finally {
    await service.stop();
  }
});

test('off, nothing is loaded, and a header of a trace is nothing', async () => {
  const service = await start({});
  try {
    const { url } = await service.start();
    assert.equal((await fetch(`${url}${orders}`, { headers: { traceparent } })).status, 200);
  } finally {
    await service.stop();
  }
});

function start(options: ServiceOptions): Promise<Service> {
  return createService({ port: 0, database: 'sqlite::memory:', auth: false, plugins: [shop], ...options });
}
