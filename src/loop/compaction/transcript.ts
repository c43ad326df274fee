import type { Message } from '../../tool/completion.js'
import { serializeToolOutput } from '../../tool/serialize.js'

/** Returns messages as plain text to be summarised, in pieces of at most `maxCharacters`. */
export function transcripts(messages: readonly Message[], maxCharacters: number): string[] {
  const pieces: string[] = []
  let piece = ''
  for (const message of messages) {
    const text = cut(lineFor(message), maxCharacters)
    if (text === '') continue
    if (piece !== '' && piece.length + text.length > maxCharacters) {
      pieces.push(piece)
      piece = ''
    }
    piece += `${text}\n\n`
  }
  return piece === '' ? pieces : [...pieces, piece]
}

function lineFor(message: Message): string {
  switch (message.role) {
    case 'system':
      return ''
    case 'user':
      return entry(
        'USER:',
        message.content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('\n'),
      )
    case 'assistant':
      return message.content
        .flatMap((part) => {
          if (part.type === 'text') return [entry('ASSISTANT:', part.text)]
          if (part.type !== 'tool_call') return []
          const { name, arguments: given } = part.function
          return [entry('CALL', `${name} ${cut(serializeToolOutput(given), maxPartLength)}`)]
        })
        .join('\n')
    case 'tool':
      return message.content
        .map((result) => {
          const text = result.content.map((part) => (part.type === 'text' ? part.text : '[image]')).join('\n')
          return entry('RESULT', `${result.toolName ?? ''} ${cut(text, maxPartLength)}`)
        })
        .join('\n')
  }
}

/**
 * Prefixes continuation lines: a line break in a tool's output must not start an entry that looks like the user's.
 */
function entry(who: string, text: string): string {
  return `${who} ${text.replace(/\r\n|[\n\r\u2028\u2029]/g, '\n| ')}`
}

const maxPartLength = 2_000

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)} … [${text.length - most} more characters]`
}
