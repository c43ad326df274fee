import { messageOf } from './errors.js'
import { isRecord, type JsonValue } from './json.js'

/** Metadata of every envelope. Tools can add JSON fields of their own, such as `exit_code`. */
export type EnvelopeMetadata = {
  readonly duration_ms: number
  /** The output was longer than the tool's limit: `data` has the beginning, the file `output_path` has all of it. */
  readonly truncated?: boolean
  readonly output_path?: string
  readonly [extra: string]: JsonValue | undefined
}

/** The envelope of a successful call. */
export type OutputEnvelope<Data = unknown> = {
  readonly type: 'output'
  readonly data: Data
  readonly metadata: EnvelopeMetadata
}
/** The envelope of a failed call. */
export type ErrorEnvelope = {
  readonly type: 'error'
  readonly error_text: string
  readonly metadata: EnvelopeMetadata
}

/** The form of every result of a tool call, successful or not, for every kind of caller. */
export type Envelope<Data = unknown> = OutputEnvelope<Data> | ErrorEnvelope

/** The output type of a function that returns a value or an envelope of it. */
export type Unwrapped<Returned> =
  Returned extends OutputEnvelope<infer Data> ? Data : Returned extends ErrorEnvelope ? never : Returned

const mark = Symbol.for('capstan.envelope')

/** Creates the envelope of a successful call. */
export function outputEnvelope<Data>(data: Data, metadata?: Partial<EnvelopeMetadata>): OutputEnvelope<Data> {
  return marked({ type: 'output', data, metadata: { duration_ms: 0, ...metadata } })
}

/** Creates the envelope of a failed call, with a text that its caller can act on. */
export function errorEnvelope(errorText: string, metadata?: Partial<EnvelopeMetadata>): ErrorEnvelope {
  // Callers without types may pass an error's message that is undefined.
  const error_text = typeof errorText === 'string' ? errorText : messageOf({ message: errorText })
  return marked({ type: 'error', error_text, metadata: { duration_ms: 0, ...metadata } })
}

/** Returns whether a value has the shape of an envelope, for data read from a log or from a network. */
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

/** Returns whether an envelope is that of a successful call. */
export function isOutputEnvelope<Data>(envelope: Envelope<Data>): envelope is OutputEnvelope<Data> {
  return envelope.type === 'output'
}

/** Returns whether an envelope is that of a failed call. */
export function isErrorEnvelope(envelope: Envelope): envelope is ErrorEnvelope {
  return envelope.type === 'error'
}

/**
 * Returns the envelope that a tool returned, or undefined when it returned plain data. An envelope that was not made
 * by {@link outputEnvelope} or {@link errorEnvelope} may come from a server or a file, so it loses the metadata that
 * only the runtime sets. The mark that distinguishes the two does not survive JSON.
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
