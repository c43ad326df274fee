import { messageOf } from './errors.js'
import { isRecord, type JsonValue } from './json.js'

/** What every envelope says about its call. Tools may add JSON of their own, such as `exit_code`. */
export type EnvelopeMetadata = {
  readonly duration_ms: number
  /** The output was longer than the tool's limit: `data` has the head, `output_path` the whole. */
  readonly truncated?: boolean
  readonly output_path?: string
  readonly [extra: string]: JsonValue | undefined
}

export type OutputEnvelope<Data = unknown> = {
  readonly type: 'output'
  readonly data: Data
  readonly metadata: EnvelopeMetadata
}
export type ErrorEnvelope = {
  readonly type: 'error'
  readonly error_text: string
  readonly metadata: EnvelopeMetadata
}

/** What every tool call gives, whoever made the call and however it ended. */
export type Envelope<Data = unknown> = OutputEnvelope<Data> | ErrorEnvelope

/** What a tool that returns a value, or an envelope of one, puts out. */
export type Unwrapped<Returned> =
  Returned extends OutputEnvelope<infer Data> ? Data : Returned extends ErrorEnvelope ? never : Returned

const mark = Symbol.for('capstan.envelope')

/** An envelope around what a tool put out. */
export function outputEnvelope<Data>(data: Data, metadata?: Partial<EnvelopeMetadata>): OutputEnvelope<Data> {
  return marked({ type: 'output', data, metadata: { duration_ms: 0, ...metadata } })
}

/** An envelope for a call that failed, in words its caller can act on. */
export function errorEnvelope(errorText: string, metadata?: Partial<EnvelopeMetadata>): ErrorEnvelope {
  // Callers without types pass what an error had for a message, which may be nothing.
  const error_text = typeof errorText === 'string' ? errorText : messageOf({ message: errorText })
  return marked({ type: 'error', error_text, metadata: { duration_ms: 0, ...metadata } })
}

/** Whether a value has the shape of an envelope, for data that comes back from a log or over a wire. */
export function isEnvelope(value: unknown): value is Envelope {
  if (
    !isRecord(value) ||
    !isRecord(value['metadata']) ||
    typeof value['metadata']['duration_ms'] !== 'number'
  )
    return false
  if (value['type'] === 'output') return Object.hasOwn(value, 'data') && !Object.hasOwn(value, 'error_text')
  return value['type'] === 'error' && typeof value['error_text'] === 'string' && !Object.hasOwn(value, 'data')
}

export function isOutputEnvelope<Data>(envelope: Envelope<Data>): envelope is OutputEnvelope<Data> {
  return envelope.type === 'output'
}

export function isErrorEnvelope(envelope: Envelope): envelope is ErrorEnvelope {
  return envelope.type === 'error'
}

/**
 * The envelope that a tool returned, or undefined when it returned plain data. One that was not made by {@link outputEnvelope}
 * or {@link errorEnvelope} may be what a server or a file said: it loses the metadata that only a runtime may set. The mark that
 * tells them apart survives no JSON.
 */
export function returnedEnvelope(returned: unknown): Envelope | undefined {
  if (typeof returned !== 'object' || returned === null) return undefined
  if (Object.hasOwn(returned, mark)) return returned as Envelope
  if (!isEnvelope(returned)) return undefined
  const { truncated: _, output_path: __, replaced: ___, ...metadata } = returned.metadata
  return { ...returned, metadata }
}

function marked<Any extends Envelope>(envelope: Any): Any {
  return Object.defineProperty(envelope, mark, { value: true })
}
