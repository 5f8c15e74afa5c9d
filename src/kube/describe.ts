/** The routes that tell clients what there is: discovery, and the descriptions in OpenAPI. */
import { hash } from 'node:crypto';
import type { Exchange, HeaderList } from '../http/server/exchange.ts';
import { json } from '../http/server/exchange.ts';
import { matchesEtag, parseEtags } from '../resource/etag.ts';
import type { AggregatedVersion } from './discovery.ts';
import { aggregated, aggregatedType, apiGroup, apiGroupList, apiResourceList, apiVersions } from './discovery.ts';
import type { KubeModels } from './models.ts';
import { mediaRanges, notAcceptable } from './negotiate.ts';
import type { KubeDocument } from './openapi.ts';
import { KubeOpenApi } from './openapi.ts';
import { reviewKinds } from './review.ts';
import type { FacadeRoute } from './routes.ts';
import type { ShownModel } from './shown.ts';
import { rootOf, shownModel } from './shown.ts';
import { noResource } from './status.ts';

export interface DescribeDependencies {
  /** Path of the façade, such as `/kube`. */
  readonly prefix: string;
  /** Of the product. */
  readonly version: string;
}

export function describingRoutes({ prefix, version }: DescribeDependencies, models: KubeModels): FacadeRoute[] {
  const openApi = new KubeOpenApi(version);
  const shown = (): ShownModel[] => [...models.all().map(shownModel), ...reviewKinds];
  const described = async (exchange: Exchange, place: string): Promise<void> => {
    assertJson(exchange);
    sendDocument(exchange, await openApi.v3(shown(), place, exchange.timeSlice()), json);
  };
  return [
    get('/', (exchange) => sendDiscovery(exchange, { paths: pathsOf(shown()) })),
    get('/api', (exchange) =>
      sendNegotiated(
        exchange,
        () => apiVersions(exchange.authority ?? ''),
        (one) => aggregated(shown(), 'api', one),
      ),
    ),
    get('/apis', (exchange) =>
      sendNegotiated(
        exchange,
        () => apiGroupList(shown()),
        (one) => aggregated(shown(), 'apis', one),
      ),
    ),
    get('/apis/{group}', (exchange, [group]) => sendDiscovery(exchange, apiGroup(shown(), group!))),
    get('/apis/{group}/{version}', (exchange, [group, one]) =>
      sendDiscovery(exchange, apiResourceList(shown(), group!, one!)),
    ),
    get('/api/{version}', (exchange, [one]) => sendDiscovery(exchange, apiResourceList(shown(), '', one!))),
    get('/openapi/v3', async (exchange) =>
      sendDiscovery(exchange, await openApi.index(shown(), prefix, exchange.timeSlice())),
    ),
    get('/openapi/v3/api/{version}', (exchange, [one]) => described(exchange, `api/${one}`)),
    get('/openapi/v3/apis/{group}/{version}', (exchange, [group, one]) => described(exchange, `apis/${group}/${one}`)),
    get('/openapi/v2', async (exchange) => {
      const form = formOfV2(exchange);
      const type = form === 'protobuf' ? answeredProtobuf : json;
      sendDocument(exchange, await openApi.v2(shown(), form, exchange.timeSlice()), type);
    }),
  ];
}

function get(path: string, serve: FacadeRoute['serve']): FacadeRoute {
  return { path, method: 'GET', serve };
}

function pathsOf(models: readonly ShownModel[]): string[] {
  const roots = models.flatMap((model) => (model.group === '' ? [] : [`/apis/${model.group}`, rootOf(model)]));
  const service = ['/healthz', '/livez', '/openapi/v2', '/openapi/v3', '/readyz', '/version'];
  return ['/api', '/api/v1', '/apis', ...new Set(roots)].sort().concat(service);
}

/** An aggregated answer for those who ask for it. */
function sendNegotiated(exchange: Exchange, plain: () => object, whole: (version: AggregatedVersion) => object): void {
  for (const { type, parameters } of mediaRanges(exchange.request.headers.accept)) {
    const version = parameters.get('v');
    const isAggregated =
      type === json &&
      parameters.get('g') === 'apidiscovery.k8s.io' &&
      parameters.get('as') === 'APIGroupDiscoveryList';
    if (isAggregated && (version === 'v2' || version === 'v2beta1')) {
      const body = Buffer.from(JSON.stringify(whole(version)));
      return sendTagged(exchange, body, ['Content-Type', aggregatedType(version), 'Vary', 'Accept']);
    }
    if (isJson(type) && !parameters.has('as')) break;
  }
  sendDiscovery(exchange, plain());
}

function sendDiscovery(exchange: Exchange, value: object | undefined): void {
  if (!value) throw noResource();
  assertJson(exchange);
  sendTagged(exchange, Buffer.from(JSON.stringify(value)), ['Content-Type', json, 'Vary', 'Accept']);
}

function sendTagged(exchange: Exchange, body: Buffer, headers: HeaderList): void {
  const etag = `"${hash('sha256', body, 'hex').slice(0, 32)}"`;
  if (isKnown(exchange, etag)) return exchange.send(304, ['ETag', etag]);
  exchange.send(200, ['ETag', etag, ...headers], body);
}

const year = 365 * 24 * 60 * 60;

function sendDocument(exchange: Exchange, document: KubeDocument | undefined, type: string): void {
  if (!document) throw noResource();
  const { hash: tag, length, pieces } = document;
  const etag = `"${tag}"`;
  const isNamed = new URLSearchParams(exchange.query).get('hash') === tag;
  // What is asked for by its hash never changes.
  const caching = isNamed ? `private, max-age=${year}, immutable` : 'no-cache, private';
  const headers = ['ETag', etag, 'Vary', 'Accept', 'Cache-Control', caching];
  if (isKnown(exchange, etag)) return exchange.send(304, headers);
  exchange.sendLarge(200, [...headers, 'Content-Type', type], length, pieces);
}

function isKnown({ request }: Exchange, etag: string): boolean {
  const ifNoneMatch = request.headers['if-none-match'];
  return ifNoneMatch !== undefined && matchesEtag(parseEtags(ifNoneMatch), etag, 'weak');
}

/** As clients ask for it. Go cannot parse `@` in the type of an answer, so that it has a dot there. */
const askedProtobuf = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
const answeredProtobuf = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

/** @throws KindredError NotAcceptable */
function formOfV2({ request }: Exchange): 'v2' | 'protobuf' {
  const ranges = mediaRanges(request.headers.accept);
  if (ranges.length === 0) return 'v2';
  for (const { type } of ranges) {
    if (type === askedProtobuf || type === answeredProtobuf) return 'protobuf';
    if (isJson(type)) return 'v2';
  }
  throw notAcceptable([json, askedProtobuf]);
}

/** @throws KindredError NotAcceptable */
function assertJson({ request }: Exchange): void {
  const ranges = mediaRanges(request.headers.accept);
  if (ranges.length > 0 && !ranges.some(({ type }) => isJson(type))) throw notAcceptable([json]);
}

function isJson(type: string): boolean {
  return type === json || type === 'application/*' || type === '*/*';
}
