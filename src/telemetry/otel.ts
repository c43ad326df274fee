/**
 * The parts of OpenTelemetry that Capstan uses, as structural types: every version of its API whose tracer and meter
 * have these members is compatible, and no package is required here.
 */

/** The value of an attribute. */
export type OtelAttribute = string | number | boolean | string[]
export type OtelAttributes = Record<string, OtelAttribute>

/** The ids of a span, with which other processes continue a trace. */
export type OtelSpanContext = {
  readonly traceId: string
  readonly spanId: string
  readonly traceFlags: number
  readonly isRemote?: boolean
}

export interface OtelSpan {
  setAttributes(attributes: OtelAttributes): unknown
  setStatus(status: { code: number; message?: string }): unknown
  spanContext(): OtelSpanContext
  /** False for a span that is not sampled. */
  isRecording?(): boolean
  end(endTime?: number): void
}

export interface OtelContext {
  getValue(key: symbol): unknown
  setValue(key: symbol, value: unknown): OtelContext
  deleteValue(key: symbol): OtelContext
}

export type OtelSpanOptions = {
  kind?: number
  attributes?: OtelAttributes
  startTime?: number
  links?: { context: OtelSpanContext }[]
}

/** A tracer, such as the result of `trace.getTracer('my-app')`. */
export interface OtelTracer {
  // Declared as a method, so that tracers of every API version are assignable.
  startSpan(name: string, options?: OtelSpanOptions, context?: OtelContext): OtelSpan
}

export interface OtelHistogram {
  record(value: number, attributes?: OtelAttributes): void
}

export type OtelMetricOptions = { description?: string; unit?: string }

/** A value that is read whenever metrics are collected. */
export interface OtelObservable {
  addCallback(callback: never): unknown
}

export interface OtelObservations {
  observe(observable: OtelObservable, value: number, attributes?: OtelAttributes): void
}

/**
 * A meter, such as the result of `metrics.getMeter('my-app')`. The state of a queue is reported if it has all
 * members.
 */
export interface OtelMeter {
  createHistogram(name: string, options?: OtelMetricOptions): OtelHistogram
  createObservableGauge?(name: string, options?: OtelMetricOptions): OtelObservable
  createObservableCounter?(name: string, options?: OtelMetricOptions): OtelObservable
  addBatchObservableCallback?(
    callback: (result: OtelObservations) => Promise<void>,
    observables: OtelObservable[],
  ): void
  removeBatchObservableCallback?(
    callback: (result: OtelObservations) => Promise<void>,
    observables: OtelObservable[],
  ): void
}

/** The numbers of span kinds and status codes in the API. */
export const spanKind = { internal: 0, client: 2 } as const
export const statusCode = { error: 2 } as const

/** The key under which every version of the API stores the span of a context. */
const spanKey = Symbol.for('OpenTelemetry Context Key SPAN')

/** Returns a context with a span, based on another context. */
export function contextWith(
  span: Pick<OtelSpan, 'spanContext'>,
  base: OtelContext = emptyContext,
): OtelContext {
  return base.setValue(spanKey, span)
}

/** Returns the active context of the host's code, if the process has the API and a context manager. */
export function activeContext(): OtelContext | undefined {
  const api = (globalThis as Record<symbol, unknown>)[Symbol.for('opentelemetry.js.api.1')]
  const manager = (api as { context?: { active?(): OtelContext } } | undefined)?.context
  return manager?.active?.()
}

/**
 * Returns the `traceparent` of a span, with which another process continues its trace. Undefined for a span without
 * ids.
 */
export function traceparentOf(span: Pick<OtelSpan, 'spanContext'>): string | undefined {
  const { traceId, spanId, traceFlags } = span.spanContext()
  const text = `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, '0')}`
  return remoteSpan(text) === undefined ? undefined : text
}

/** Creates a span of another process from a `traceparent` header; undefined if the header is invalid. */
export function remoteSpan(traceparent: string): Pick<OtelSpan, 'spanContext'> | undefined {
  const match = /^00-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})$/.exec(traceparent.trim().toLowerCase())
  const [, traceId = '', spanId = '', flags = ''] = match ?? []
  if (match === null || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true }
  return { spanContext: () => context }
}

class PlainContext implements OtelContext {
  readonly #values: ReadonlyMap<symbol, unknown>

  constructor(values: ReadonlyMap<symbol, unknown> = new Map()) {
    this.#values = values
  }

  getValue(key: symbol): unknown {
    return this.#values.get(key)
  }

  setValue(key: symbol, value: unknown): OtelContext {
    return new PlainContext(new Map(this.#values).set(key, value))
  }

  deleteValue(key: symbol): OtelContext {
    const values = new Map(this.#values)
    values.delete(key)
    return new PlainContext(values)
  }
}

const emptyContext: OtelContext = new PlainContext()
