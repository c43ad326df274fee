import { createRequire } from 'node:module'
import { CapstanError, messageOf } from '../tool/errors.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import type { TelemetryOptions } from './options.js'
import type { OtelMeter, OtelTracer } from './otel.js'

/** Where spans and metrics are sent over OTLP. */
export type OtlpConfig = {
  /** The address of the collector (default: `OTEL_EXPORTER_OTLP_ENDPOINT`, else http://127.0.0.1:4318). */
  readonly endpoint?: string
  /** Additional headers, such as a key. */
  readonly headers?: Readonly<Record<string, string>>
  /** The `service.name` (default: `OTEL_SERVICE_NAME`, else `capstan`). */
  readonly serviceName?: string
  /** Whether spans contain messages, arguments and results (default: false). */
  readonly recordContent?: boolean
  /** The hosts whose HTTP requests get a `traceparent` header (default: none). */
  readonly propagateTo?: readonly string[]
}

/** Tracer and meter of our own exporter. `close` sends remaining data. */
export type OpenedOtlp = { readonly telemetry: TelemetryOptions; close(): Promise<void> }

/**
 * Opens an exporter with the OpenTelemetry packages that are installed next to Capstan. Throws when one is missing,
 * with the command that installs them.
 */
export function openOtlp(config: OtlpConfig, env: Readonly<Record<string, string | undefined>>): OpenedOtlp {
  const libraries = loadLibraries()
  const endpoint = (config.endpoint ?? env['OTEL_EXPORTER_OTLP_ENDPOINT'] ?? 'http://127.0.0.1:4318').replace(
    /\/+$/,
    '',
  )
  const attributes = { 'service.name': config.serviceName ?? env['OTEL_SERVICE_NAME'] ?? 'capstan' }
  const resource = libraries.resources.resourceFromAttributes(attributes)
  const target = (path: string): ExporterOptions => ({
    url: `${endpoint}/v1/${path}`,
    ...omitUndefined({ headers: config.headers }),
  })
  const traces = new libraries.trace.BasicTracerProvider({
    resource,
    spanProcessors: [
      new libraries.trace.BatchSpanProcessor(new libraries.traceExporter.OTLPTraceExporter(target('traces'))),
    ],
  })
  const metrics = new libraries.metrics.MeterProvider({
    resource,
    readers: [
      new libraries.metrics.PeriodicExportingMetricReader({
        exporter: new libraries.metricExporter.OTLPMetricExporter(target('metrics')),
      }),
    ],
  })
  return {
    telemetry: {
      tracer: traces.getTracer('capstan'),
      meter: metrics.getMeter('capstan'),
      recordContent: config.recordContent,
      propagateTo: config.propagateTo,
    },
    async close() {
      const ended = await Promise.allSettled([traces.shutdown(), metrics.shutdown()])
      for (const outcome of ended)
        if (outcome.status === 'rejected')
          process.emitWarning(
            withoutPassword(`Telemetry could not be sent to ${endpoint}: ${messageOf(outcome.reason)}`),
          )
    },
  }
}

/** An address can contain a user name and a password. */
function withoutPassword(text: string): string {
  return text.replace(/(\bhttps?:\/\/)[^\s/@]*@/gi, '$1')
}

const packages = {
  trace: '@opentelemetry/sdk-trace-base',
  traceExporter: '@opentelemetry/exporter-trace-otlp-http',
  metrics: '@opentelemetry/sdk-metrics',
  metricExporter: '@opentelemetry/exporter-metrics-otlp-http',
  resources: '@opentelemetry/resources',
} as const

/**
 * Loads only packages that are installed next to Capstan: the working directory of an agent must not provide code.
 */
function loadLibraries(): Libraries {
  const load = createRequire(import.meta.url)
  try {
    return {
      trace: load(packages.trace),
      traceExporter: load(packages.traceExporter),
      metrics: load(packages.metrics),
      metricExporter: load(packages.metricExporter),
      resources: load(packages.resources),
    }
  } catch (error) {
    throw new CapstanError(
      'telemetry_packages_missing',
      `Telemetry over OTLP needs packages that are not installed next to Capstan. Run: npm install ${Object.values(packages).join(' ')} @opentelemetry/api`,
      { cause: error },
    )
  }
}

type ExporterOptions = { url: string; headers?: Readonly<Record<string, string>> }
type Provider = { shutdown(): Promise<void> }

/**
 * The parts of the packages that are used, as structural types, because the packages and their types are optional.
 */
type Libraries = {
  readonly trace: {
    readonly BasicTracerProvider: new (options: {
      resource: unknown
      spanProcessors: unknown[]
    }) => Provider & { getTracer(name: string): OtelTracer }
    readonly BatchSpanProcessor: new (exporter: unknown) => unknown
  }
  readonly traceExporter: { readonly OTLPTraceExporter: new (options: ExporterOptions) => unknown }
  readonly metrics: {
    readonly MeterProvider: new (options: {
      resource: unknown
      readers: unknown[]
    }) => Provider & { getMeter(name: string): OtelMeter }
    readonly PeriodicExportingMetricReader: new (options: { exporter: unknown }) => unknown
  }
  readonly metricExporter: { readonly OTLPMetricExporter: new (options: ExporterOptions) => unknown }
  readonly resources: { resourceFromAttributes(attributes: Record<string, string>): unknown }
}
