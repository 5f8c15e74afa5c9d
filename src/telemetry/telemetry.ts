/**
 * OpenTelemetry through its API package alone, loaded only when an option asks for it: the SDK, which records and exports, is
 * brought and registered by whoever runs the process.
 */
import type { Meter } from '@opentelemetry/api';
import type { TelemetryOptions } from './options.ts';
import { Tracing } from './tracing.ts';

export interface Telemetry {
  /** Undefined: there are no spans, and no trace context is read or sent. */
  readonly tracing?: Tracing;
  /** Undefined: metrics are at `/metrics` alone. */
  readonly meter?: Meter;
}

/** Names the instrumentation to the SDK. */
const scope = 'kindred';

/**
 * @param version of the service
 * @param warn told when nothing would come of it
 * @throws a plain error when the package is not installed
 */
export async function openTelemetry(
  { traces, metrics }: Required<TelemetryOptions>,
  version: string,
  warn: (message: string) => void,
): Promise<Telemetry> {
  if (!traces && !metrics) return {};
  const api = await load(traces ? 'telemetry.traces' : 'telemetry.metrics');
  const provider = api.trace.getTracerProvider();
  const meter = api.metrics.getMeter(scope, version);
  const isTraced = !(provider instanceof api.ProxyTracerProvider) || isRegistered(provider.getDelegate(), api);
  const missing = [
    ...(traces && !isTraced ? ['telemetry.traces'] : []),
    ...(metrics && meter === api.createNoopMeter() ? ['telemetry.metrics'] : []),
  ];
  for (const name of missing) {
    warn(`"${name}" is on, but no SDK of OpenTelemetry is registered: load one before the service, with node --import`);
  }
  return {
    ...(traces && { tracing: new Tracing(api, api.trace.getTracer(scope, version)) }),
    ...(metrics && { meter }),
  };
}

function isRegistered(provider: unknown, api: typeof import('@opentelemetry/api')): boolean {
  return provider !== new api.ProxyTracerProvider().getDelegate();
}

async function load(option: string): Promise<typeof import('@opentelemetry/api')> {
  try {
    return await import('@opentelemetry/api');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new Error(`the option "${option}" needs the package @opentelemetry/api: npm install @opentelemetry/api`);
  }
}
