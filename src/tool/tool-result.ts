import { isToolResultContentArray, toolResultContentToText } from './content.js'
import {
  type Envelope,
  type EnvelopeMetadata,
  errorEnvelope,
  isEnvelope,
  outputEnvelope,
} from './envelope.js'
import { isRecord } from './json.js'
import { parseJsonText } from './json-text.js'
import { serializeToolOutput } from './serialize.js'

/** The result of a host's direct call: text for a person or program, with the envelope it came from. */
export type ToolResult<Data = unknown> = {
  readonly name: string
  readonly output: string
  /** 0 on success; a command's exit code where there is one; 1 for every other failure. */
  readonly exitCode: number
  /** The metadata as JSON text. */
  readonly metadataJson: string
  readonly metadata?: EnvelopeMetadata
  readonly envelope: Envelope<Data>
}

/** The documented fields of a {@link ToolResult}, which remain after a network or a log. */
export type PlainToolResult = Pick<ToolResult, 'name' | 'output' | 'exitCode'> & {
  readonly metadataJson?: string | undefined
  readonly envelope?: unknown
}

/** Converts an envelope to the result of a host's direct call. */
export function toToolResult<Data>(name: string, envelope: Envelope<Data>): ToolResult<Data> {
  const { metadata } = envelope
  return {
    name,
    output: outputText(envelope),
    exitCode: exitCodeOf(envelope),
    metadataJson: JSON.stringify(metadata),
    metadata,
    envelope,
  }
}

/** Returns the envelope of a result; rebuilt from the documented fields when the result has none. */
export function fromToolResult(result: PlainToolResult): Envelope {
  if (isEnvelope(result.envelope)) return result.envelope
  const metadata = readMetadata(result.metadataJson)
  if (result.exitCode === 0) return outputEnvelope(result.output, metadata)
  return errorEnvelope(result.output, { exit_code: result.exitCode, ...metadata })
}

/** Returns the text of a result, as a host reads it. */
export function outputText(envelope: Envelope): string {
  if (envelope.type === 'error') return envelope.error_text
  const { data, metadata } = envelope
  // An empty list of blocks, which only middleware can return, has no text.
  if (metadata['replaced'] === true && Array.isArray(data) && data.length === 0) return ''
  return isToolResultContentArray(data) ? toolResultContentToText(data) : serializeToolOutput(data)
}

/** Returns the exit code of a result: 0 on success, and that of a command where there is one. */
export function exitCodeOf({ type, metadata }: Envelope): number {
  const own = metadata['exit_code']
  if (typeof own === 'number' && Number.isInteger(own) && (type === 'output' || own !== 0)) return own
  return type === 'output' ? 0 : 1
}

function readMetadata(json: string | undefined): Partial<EnvelopeMetadata> {
  if (json === undefined) return {}
  const parsed = parseJsonText(json)
  return isRecord(parsed) ? (parsed as Partial<EnvelopeMetadata>) : {}
}
