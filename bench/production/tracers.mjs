// The tracers with which telemetry is measured.
import { createRequire } from 'node:module'
import { join } from 'node:path'

/** @typedef {'off' | 'empty' | 'bare' | 'sdk'} Kind */

/** Those of the ecosystem tests. */
const packages = join(import.meta.dirname, '../../.build/ecosystem/node_modules')

/** The option of an agent. @param {string} kind @returns {{ telemetry?: import('capstan').TelemetryOptions }} */
export function telemetryOf(kind) {
  if (kind === 'empty') return { telemetry: emptyTelemetry() }
  if (kind === 'bare') return { telemetry: bareTelemetry() }
  return kind === 'sdk' ? { telemetry: sdkTelemetry() } : {}
}

/** Does nothing, so that only the cost of Capstan's own code remains. */
function emptyTelemetry() {
  const place = { traceId: '1'.repeat(32), spanId: '1'.repeat(16), traceFlags: 1 }
  const span = {
    setAttributes: () => undefined,
    setStatus: () => undefined,
    spanContext: () => place,
    end: () => undefined,
  }
  return {
    tracer: { startSpan: () => span },
    meter: { createHistogram: () => ({ record: () => undefined }) },
  }
}

/**
 * The SDK with spans and durations that have no attribute: what it costs at least.
 * @returns {import('capstan').TelemetryOptions}
 */
function bareTelemetry() {
  const { tracer, meter } = sdkTelemetry()
  return {
    tracer: {
      startSpan: (name, _options, context) => {
        const span = tracer.startSpan(name, undefined, context)
        span.setAttributes = () => span
        return span
      },
    },
    meter: {
      createHistogram: (name, options) => {
        const histogram = meter.createHistogram(name, options)
        return { record: (value) => histogram.record(value) }
      },
    },
  }
}

/** The SDK with its batching processor and its histograms, which are collected every second; what is exported goes nowhere. */
function sdkTelemetry() {
  const load = createRequire(join(packages, 'entry.js'))
  const { BasicTracerProvider, BatchSpanProcessor } = load('@opentelemetry/sdk-trace-base')
  const { MeterProvider, PeriodicExportingMetricReader } = load('@opentelemetry/sdk-metrics')
  const exporter = {
    export: (/** @type {unknown} */ _exported, /** @type {(result: { code: number }) => void} */ done) =>
      done({ code: 0 }),
    forceFlush: async () => undefined,
    shutdown: async () => undefined,
  }
  const traces = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] })
  const reader = new PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: 1_000,
    exportTimeoutMillis: 500,
  })
  const metrics = new MeterProvider({ readers: [reader] })
  return { tracer: traces.getTracer('bench'), meter: metrics.getMeter('bench') }
}
