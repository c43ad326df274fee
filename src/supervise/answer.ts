import { tryOr } from '../tool/errors.js'
import { isRecord } from '../tool/json.js'
import { SupervisionError } from './errors.js'

/** A JSON-RPC response. `id` is null when the other side could not parse the request. */
export type Answer = { readonly id: string | null } & (
  | { readonly result: unknown }
  | { readonly error: string }
)

/**
 * Parses a message. Throws if it is invalid; returns undefined for a message that is not a response, such as a
 * notification.
 */
export function readAnswer(text: string): Answer | undefined {
  // Invalid JSON is reported without the text, which may contain anything.
  const value: unknown = tryOr(() => JSON.parse(text), undefined)
  if (!isRecord(value) || value['jsonrpc'] !== '2.0')
    throw new SupervisionError(
      'supervision_protocol',
      'it sent something that is not a message of the protocol',
    )
  const { id, method, error } = value
  if (method !== undefined) return undefined
  if (typeof id !== 'string' && id !== null)
    throw new SupervisionError('supervision_protocol', 'it sent an answer without the id of a question')
  if (isRecord(error)) return { id, error: errorWords(error) }
  if (!('result' in value) || error !== undefined)
    throw new SupervisionError('supervision_protocol', 'it sent an answer with neither a result nor an error')
  return { id, result: value['result'] }
}

function errorWords({ code, message }: Readonly<Record<string, unknown>>): string {
  const words = typeof message === 'string' && message !== '' ? message : 'no reason given'
  return typeof code === 'number' ? `${words} (${code})` : words
}
