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
  return marked({ type: 'error', error_text: errorText, metadata: { duration_ms: 0, ...metadata } })
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
 * Whether a tool made this envelope on purpose. Shape alone is not enough here: what a server or a file says could imitate
 * an envelope, and with it metadata such as `output_path` that only the runtime may set. The mark survives no JSON.
 */
export function isMadeEnvelope(value: unknown): value is Envelope {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, mark)
}

function marked<Any extends Envelope>(envelope: Any): Any {
  return Object.defineProperty(envelope, mark, { value: true })
}
