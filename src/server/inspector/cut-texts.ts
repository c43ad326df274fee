import type { AgentEvent } from '../../loop/events.js'
import { isRecord } from '../../tool/json.js'

/** An event, and how many characters of its texts are missing. */
export type CutEvent = { readonly event: AgentEvent; readonly cutChars?: number | undefined }

/**
 * Shortens every string in an event to `maxText` characters, so that a list of events stays small. Arguments, which are
 * JSON in a string, stay valid JSON: the strings in them are shortened. The event itself is not changed.
 */
export function cutTexts(event: AgentEvent, maxText: number): CutEvent {
  let cutChars = 0
  const cut = (value: unknown, key: string): unknown => {
    if (typeof value === 'string') {
      if (value.length <= maxText) return value
      const parsed = key === 'args' ? parsedObject(value) : undefined
      if (parsed !== undefined) return JSON.stringify(cut(parsed, ''))
      const end = isHighSurrogate(value.charCodeAt(maxText - 1)) ? maxText - 1 : maxText
      cutChars += value.length - end
      return value.slice(0, end)
    }
    if (Array.isArray(value)) return value.map((one) => cut(one, ''))
    if (!isRecord(value)) return value
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, cut(one, name)]))
  }
  const short = cut(event, '') as AgentEvent
  return cutChars === 0 ? { event } : { event: short, cutChars }
}

function parsedObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : undefined
  } catch {
    // Text that is not JSON is shortened like any other.
    return undefined
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
