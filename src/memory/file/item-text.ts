import { tryOr } from '../../tool/errors.js'
import { isRecord, type JsonObject } from '../../tool/json.js'
import { readYaml } from '../../workspace/yaml/read-yaml.js'
import { itemLimits, type MemoryItem, type MemoryType, memoryTypes } from '../memory-item.js'

/** Returns the text of an item's file: its fields as YAML front matter, then its content. */
export function itemText({
  content,
  createdAtMs,
  importance,
  tags,
  memoryType,
  metadata,
}: MemoryItem): string {
  const lines = [
    `type: ${memoryType}`,
    `importance: ${importance}`,
    `created: ${new Date(createdAtMs).toISOString()}`,
    `tags: ${JSON.stringify(tags)}`,
    ...(Object.keys(metadata).length === 0 ? [] : [`metadata: ${JSON.stringify(metadata)}`]),
  ]
  return `${fence}\n${lines.join('\n')}\n${fence}\n\n${content}\n`
}

/**
 * Parses an item's file. People edit these files: missing fields have defaults, and a note without front matter is an
 * item too. Throws, with a message for people, only for invalid YAML.
 */
export function readItem(id: string, text: string, fileMs: number): MemoryItem | undefined {
  const { front, content } = parts(text.startsWith('\ufeff') ? text.slice(1) : text)
  if (content.trim() === '') return undefined
  const fields = front === undefined ? {} : (plainFields(front) ?? readYaml(front, 2).fields)
  return {
    id,
    content,
    createdAtMs: timeOf(fields['created']) ?? fileMs,
    importance: shareOf(fields['importance']) ?? defaultImportance,
    tags: tagsOf(fields['tags']),
    memoryType: typeOf(fields['type']),
    metadata: isRecord(fields['metadata']) ? (fields['metadata'] as JsonObject) : {},
  }
}

const fence = '---'
const defaultImportance = 0.5

/** The store adds one line break before and after the content; all others belong to the content. */
function parts(text: string): { readonly front?: string; readonly content: string } {
  const [, front, content] = /^---[ \t]*\r?\n([\s\S]*?)(?<=\n)---[ \t]*(?:\r?\n|$)([\s\S]*)$/.exec(text) ?? []
  if (front === undefined || content === undefined) return { content: trimmedLine(text) }
  return { front, content: trimmedLine(content.replace(/^\r?\n/, '')) }
}

function trimmedLine(text: string): string {
  return text.replace(/\r?\n$/, '')
}

/**
 * Parses the front matter without a YAML parser, which is enough for what the store writes and most edits; undefined
 * when a parser is needed.
 */
function plainFields(front: string): Record<string, unknown> | undefined {
  const fields: Record<string, unknown> = {}
  for (const line of front.split(/\r?\n/)) {
    if (line === '') continue
    const [, name, value = ''] = /^(\w+): (.+?)[ \t]*$/.exec(line) ?? []
    if (name === undefined) return undefined
    if (!known.has(name)) continue
    const read = plainValue(value)
    if (read === undefined) return undefined
    fields[name] = read
  }
  return fields
}

const known: ReadonlySet<string> = new Set(['type', 'importance', 'created', 'tags', 'metadata'])

function plainValue(value: string): unknown {
  if (/^[A-Za-z]+$/.test(value)) return /^(?:true|false|null|yes|no)$/i.test(value) ? undefined : value
  if (/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)) return value
  // YAML has more notations than JSON.
  return tryOr(() => JSON.parse(value) ?? undefined, undefined)
}

function timeOf(value: unknown): number | undefined {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isFinite(ms) ? ms : undefined
}

function shareOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? Math.min(1, Math.max(0, value)) : undefined
}

function tagsOf(value: unknown): string[] {
  const given = typeof value === 'string' ? value.split(',') : Array.isArray(value) ? value : []
  const tags = given
    .filter((tag): tag is string | number => typeof tag === 'string' || typeof tag === 'number')
    .map((tag) => String(tag).trim())
  return [...new Set(tags.filter((tag) => tag !== '' && tag.length <= itemLimits.tagCharacters))].slice(
    0,
    itemLimits.tags,
  )
}

function typeOf(value: unknown): MemoryType {
  return memoryTypes.find((type) => type === value) ?? 'semantic'
}
