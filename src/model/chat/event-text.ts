import { createParser } from 'eventsource-parser'
import { maxEventChars } from '../answer-limits.js'

/** Splits a body into the data of server-sent events, or returns its whole text if it is something else. */
export type EventText = {
  feed(text: string): void
  /** Returns the body if it was not an event stream: JSON, a web page, or nothing. */
  end(): string | undefined
}

export type EventTextOptions = {
  onData(data: string, event: string | undefined): void
  /** Called when an event, or another body, exceeds the limit. */
  onTooLong(limit: number): never
}

const byteOrderMark = /^\ufeff/

/** Detects the kind of a body by its first character, regardless of its `content-type`. */
export function createEventText({ onData, onTooLong }: EventTextOptions): EventText {
  const parser = createParser({
    onEvent: (event) => onData(event.data, event.event),
    onError: (error) => {
      if (error.type === 'max-buffer-size-exceeded') onTooLong(maxEventChars)
    },
    maxBufferSize: maxEventChars,
  })
  let kind: 'unknown' | 'events' | 'text' = 'unknown'
  let text = ''
  return {
    feed(piece) {
      if (kind === 'events') return parser.feed(piece)
      text += text === '' ? piece.replace(byteOrderMark, '') : piece
      if (text.length > maxEventChars) onTooLong(maxEventChars)
      if (kind === 'text') return
      const first = /\S/.exec(text)?.[0]
      if (first === undefined) {
        // Leading whitespace of any length is ignored.
        text = ''
        return
      }
      kind = first === '{' || first === '[' || first === '<' ? 'text' : 'events'
      if (kind === 'events') parser.feed(text)
    },
    end() {
      if (kind !== 'events') return text.trim()
      // The last event counts even without its blank line.
      parser.feed('\n\n')
      return undefined
    },
  }
}
