/** What clients ask of the service itself: its version and health. */
import type { Exchange } from '../http/server/exchange.ts';
import type { Readiness } from '../http/server/health.ts';
import type { FacadeRoute } from './routes.ts';

/** The Kubernetes whose rules hold where nothing else is said. */
const spoken = { major: '1', minor: '33' };

export interface ServiceDependencies {
  readonly version: string;
  readonly health: () => Readiness;
}

export function serviceRoutes({ version, health }: ServiceDependencies): FacadeRoute[] {
  const { major, minor } = spoken;
  const answer = {
    major,
    minor,
    gitVersion: `v${major}.${minor}.0+kindred-${version}`,
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '1970-01-01T00:00:00Z',
    goVersion: '',
    compiler: '',
    platform: 'linux/amd64',
  };
  const isReady = (exchange: Exchange) => !exchange.closing && health().status === 'ready';
  return [
    { path: '/version', method: 'GET', open: true, serve: (exchange) => exchange.sendJson(200, answer) },
    { path: '/livez', method: 'GET', open: true, serve: (exchange) => sendHealth(exchange, true) },
    { path: '/healthz', method: 'GET', open: true, serve: (exchange) => sendHealth(exchange, isReady(exchange)) },
    { path: '/readyz', method: 'GET', open: true, serve: (exchange) => sendHealth(exchange, isReady(exchange)) },
  ];
}

function sendHealth(exchange: Exchange, isWell: boolean): void {
  const headers = ['Content-Type', 'text/plain; charset=utf-8', 'Cache-Control', 'no-store'];
  exchange.send(isWell ? 200 : 503, headers, Buffer.from(isWell ? 'ok' : 'not ready'));
}
