import { compileHostPattern } from '../authority/host-pattern.js'
import type { Telemetry } from './feature.js'
import type { TelemetryOptions } from './options.js'
import type { OtelMeter } from './otel.js'
import type { OtlpConfig } from './otlp.js'

/** The telemetry of an agent. */
export type OpenedTelemetry = {
  readonly spans: Telemetry
  readonly meter: OtelMeter | undefined
  /** Sends remaining data; absent when the host exports. */
  close?(): Promise<void>
}

/** Opens the telemetry of an agent: that of the host, else that of the configuration. Undefined without either. */
export async function openTelemetry(
  given: TelemetryOptions | undefined,
  config: OtlpConfig | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Promise<OpenedTelemetry | undefined> {
  if (given === undefined && config === undefined) return undefined
  // An invalid pattern must fail here, not in a session.
  for (const pattern of (given ?? config)?.propagateTo ?? []) compileHostPattern(pattern)
  const { SessionSpans } = await import('./session-spans.js')
  const spansWith =
    (options: TelemetryOptions): Telemetry =>
    (session, parent) =>
      new SessionSpans(session, options, parent)
  if (given !== undefined) return { spans: spansWith(given), meter: given.meter }
  const { openOtlp } = await import('./otlp.js')
  const otlp = openOtlp(config ?? {}, env)
  return { spans: spansWith(otlp.telemetry), meter: otlp.telemetry.meter, close: () => otlp.close() }
}
