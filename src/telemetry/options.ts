/** Option `telemetry` of the service. */
export interface TelemetryOptions {
  /** Spans of requests, commits, reconciles and deliveries, and the W3C trace context, through `@opentelemetry/api`. Default false. */
  readonly traces?: boolean;
  /** The metrics of `/metrics` through `@opentelemetry/api` too. Default false. */
  readonly metrics?: boolean;
}
