import { createParser } from 'eventsource-parser'
import { maxEventChars } from '../answer-limits.js'

/** Takes a body apart: into the data of server-sent events, or, where it is something else, into its whole text. */
export type EventText = {
  feed(text: string): void
  /** What came when it was no event stream: JSON, a web page, or nothing. */
  end(): string | undefined
}

export type EventTextOptions = {
  onData(data: string, event: string | undefined): void
  /** An event, or a body that is none, became longer than anyone needs. */
  onTooLong(limit: number): never
}

const byteOrderMark = /^\ufeff/

/** What a body is shows in its first character, whatever its `content-type` says. */
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
        // Blanks in front mean nothing, however many there are.
        text = ''
        return
      }
      kind = first === '{' || first === '[' || first === '<' ? 'text' : 'events'
      if (kind === 'events') parser.feed(text)
    },
    end() {
      if (kind !== 'events') return text.trim()
      // The last event counts even when its blank line is missing.
      parser.feed('\n\n')
      return undefined
    },
  }
}
