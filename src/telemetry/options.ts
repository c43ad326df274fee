import type { OtelMeter, OtelTracer } from './otel.js'

/**
 * Where telemetry goes. Tracer and meter are those of the host's own OpenTelemetry set-up.
 *
 * @example
 * const agent = await Agent.create(config, { telemetry: { tracer: trace.getTracer('my-app') } })
 */
export type TelemetryOptions = {
  readonly tracer?: OtelTracer | undefined
  readonly meter?: OtelMeter | undefined
  /** Whether spans contain messages, arguments and results, redacted as in the session's log. Default: false. */
  readonly recordContent?: boolean | undefined
  /**
   * The hosts whose HTTP requests get a `traceparent` header: those of models, and of tools that use the network of
   * their runtime. Patterns as in rules: `api.example.com`, `*.example.com`, `*`. Default: none. Servers of the Model
   * Context Protocol get it always.
   */
  readonly propagateTo?: readonly string[] | undefined
}
