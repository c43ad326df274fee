import type { Goal } from '../feature/goal.js'
import type { RunRequest } from '../feature/run-request.js'
import type { UserContent, UserMessage } from '../tool/completion.js'
import { tryOr } from '../tool/errors.js'
import type { JsonObject } from '../tool/json.js'
import { mediaKind } from '../tool/media-type.js'
import { mergeMetadata } from '../tool/metadata.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { fromHistory, type HistoryMessage } from './history-blocks.js'

/** A file, image or recording that is sent with a prompt. */
export type Attachment = {
  /** Its bytes, base64 or a URL. For a text type also the text itself. */
  readonly data: Uint8Array | string
  readonly mediaType: string
  /**
   * How a string of a text type is encoded: `utf8` is the text itself, `base64` its bytes. Default: a string that is
   * base64 of readable text is decoded, and any other is the text itself.
   */
  readonly encoding?: 'utf8' | 'base64'
  readonly name?: string
}

/** A prompt with its attachments, history and metadata. */
export type SendRequest = {
  readonly prompt: string
  /** Sends the prompt on this history instead of the session's, which does not change. */
  readonly history?: readonly HistoryMessage[]
  readonly attachments?: readonly Attachment[]
  readonly signal?: AbortSignal
  /** Metadata that approval policies and tools read as `run.metadata`; it overrides that of the session. */
  readonly metadata?: JsonObject
  /**
   * The id of the run, 1 to 200 characters. Default: a random one. A session that already has a run with this id throws
   * `RunExistsError`, so a caller that is not sure whether its request arrived can send it again.
   */
  readonly runId?: string
  /** The goal of the run: the run ends when the goal is reached, or at a limit of the goal. */
  readonly goal?: Goal
}
/** Options of one run. */
export type SendOptions = Omit<SendRequest, 'prompt'>

const maxRunIdLength = 200

/** Parses a prompt in any of its accepted forms. */
export function readRequest(
  request: string | SendRequest,
  more: readonly HistoryMessage[] | SendOptions = {},
): RunRequest & { readonly message: UserMessage } {
  const given: SendRequest = typeof request === 'string' ? { prompt: request } : request
  const options: SendOptions = isHistory(more) ? { history: more } : more
  const { prompt, history, attachments, signal, metadata, runId, goal } = { ...given, ...options }
  if (typeof prompt !== 'string') throw new TypeError('The prompt must be a string.')
  if (prompt.trim() === '' && (attachments ?? []).length === 0)
    throw new TypeError('The prompt is empty: describe the task.')
  if (runId !== undefined && (typeof runId !== 'string' || runId === '' || runId.length > maxRunIdLength))
    throw new TypeError(`runId must be a string of 1 to ${maxRunIdLength} characters.`)
  return {
    text: prompt,
    runId,
    message: {
      role: 'user',
      content: [{ type: 'text', text: prompt }, ...(attachments ?? []).map(attached)],
    },
    history: history === undefined ? undefined : fromHistory(history),
    signal,
    goal,
    metadata: metadata === undefined ? undefined : mergeMetadata(metadata),
  }
}

function isHistory(value: readonly HistoryMessage[] | SendOptions): value is readonly HistoryMessage[] {
  return Array.isArray(value)
}

function attached({ data, mediaType, encoding, name }: Attachment): UserContent {
  if (encoding !== undefined && encoding !== 'utf8' && encoding !== 'base64')
    throw new TypeError('encoding of an attachment must be "utf8" or "base64".')
  const kind = mediaKind(mediaType)
  if (kind === 'text')
    return { type: 'document', data: textOf(data, encoding), mediaType, ...omitUndefined({ name }) }
  const base64 = typeof data === 'string' ? data : Buffer.from(data).toString('base64')
  return kind === 'image'
    ? { type: 'image', data: base64, mediaType }
    : { type: 'document', data: base64, mediaType, ...omitUndefined({ name }) }
}

function textOf(data: Uint8Array | string, encoding: Attachment['encoding']): string {
  if (typeof data !== 'string') return new TextDecoder().decode(data)
  if (encoding === 'utf8') return data
  if (encoding === 'base64') return new TextDecoder().decode(Buffer.from(data, 'base64'))
  return decodedText(data) ?? data
}

/** Decodes a base64 text. Undefined when it is not base64, or not UTF-8 without control characters. */
function decodedText(data: string): string | undefined {
  if (data === '' || data.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(data)) return undefined
  const bytes = Buffer.from(data, 'base64')
  const text = tryOr(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes), undefined)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a text has none of them.
  return /[\u0000-\u0008\u000b\u000e-\u001f\u007f]/.test(text ?? '') ? undefined : text
}
