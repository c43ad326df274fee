import { isRecord, type JsonObject } from '../tool/json.js'
import { MemoryError } from './errors.js'

/** The kinds of memories: events, facts, procedures, and work in progress. */
export const memoryTypes = ['episodic', 'semantic', 'procedural', 'working'] as const
/** The kind of a memory. */
export type MemoryType = (typeof memoryTypes)[number]

/** One memory. Items are immutable: a change creates another object. */
export type MemoryItem = {
  /** The id, which is also the name of its file in stores with files. */
  readonly id: string
  readonly content: string
  readonly createdAtMs: number
  /** From 0 to 1. */
  readonly importance: number
  readonly tags: readonly string[]
  readonly memoryType: MemoryType
  readonly metadata: JsonObject
}

/** The limits of one item. */
export const itemLimits = {
  contentBytes: 16 * 1024,
  tags: 64,
  tagCharacters: 128,
  metadataBytes: 4 * 1024,
} as const

/** Throws for an invalid item, and returns a copy that no other code references. */
export function checkMemoryItem(item: MemoryItem): MemoryItem {
  const { id, content, createdAtMs, importance, tags, memoryType } = item
  if (!isMemoryId(id)) throw badId(id)
  if (typeof content !== 'string' || content.trim() === '') throw invalid('its content is empty')
  tooLarge('content', Buffer.byteLength(content), itemLimits.contentBytes)
  if (!Number.isFinite(new Date(createdAtMs).getTime())) throw invalid('createdAtMs is not a time')
  if (!(importance >= 0 && importance <= 1)) throw invalid('its importance is not a number from 0 to 1')
  if (!memoryTypes.includes(memoryType)) throw invalid(`memoryType is not one of ${memoryTypes.join(', ')}`)
  if (tags.length > itemLimits.tags) throw invalid(`it has ${tags.length} tags, more than ${itemLimits.tags}`)
  if (!tags.every(isTag))
    throw invalid(`a tag is not text of 1 to ${itemLimits.tagCharacters} characters on one line`)
  const metadata = JSON.stringify(isRecord(item.metadata) ? item.metadata : {})
  tooLarge('metadata', Buffer.byteLength(metadata), itemLimits.metadataBytes)
  return {
    id,
    content: wellFormed(content).replace(/\r\n?/g, '\n'),
    createdAtMs: new Date(createdAtMs).getTime(),
    importance,
    tags: [...new Set(tags.map((tag) => wellFormed(tag).trim()))],
    memoryType,
    metadata: JSON.parse(metadata) as JsonObject,
  }
}

/**
 * Whether a text is a valid id: on every system it is the name of one file in its directory, and of nothing outside.
 */
export function isMemoryId(id: unknown): id is string {
  return (
    typeof id === 'string' &&
    fileName.test(id) &&
    !deviceName.test(id) &&
    Buffer.byteLength(id) <= maxIdLength &&
    wellFormed(id) === id
  )
}

function badId(id: unknown): MemoryError {
  const shown = typeof id === 'string' && id.length <= 80 ? JSON.stringify(id) : `a ${typeof id}`
  return invalid(
    `${shown} cannot be its id. An id names a file: 1 to ${maxIdLength} bytes, no separators or control characters, no dot or space at either end`,
  )
}

const maxIdLength = 180
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
const fileName = /^(?![. ])[^\x00-\x1f\x7f/\\:*?"<>|]+(?<![. ])$/
const deviceName = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i

function isTag(tag: unknown): boolean {
  return (
    typeof tag === 'string' &&
    tag.length <= itemLimits.tagCharacters &&
    /^\P{Cc}+$/u.test(tag) &&
    tag.trim() !== ''
  )
}

/** Replaces unpaired surrogates, which cannot be encoded as UTF-8. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString()
}

function tooLarge(what: string, bytes: number, limit: number): void {
  if (bytes <= limit) return
  throw new MemoryError(
    'memory_too_large',
    `The memory was not saved: its ${what} has ${bytes} bytes, and ${limit} is the limit. Remember a summary of it.`,
  )
}

function invalid(why: string): MemoryError {
  return new MemoryError('memory_invalid', `The memory was not saved: ${why}.`)
}
