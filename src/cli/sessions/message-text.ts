import type { Message } from '../../tool/completion.js'
import { toolResultContentToText } from '../../tool/content.js'
import { serializeToolOutput } from '../../tool/serialize.js'
import type { Colors } from '../terminal/colors.js'
import { plainOutput, safeLine, safeText } from '../terminal/safe-text.js'

/** Formats one message: its role, its text, one line per call, and the first lines of each result. */
export function messageText(message: Message, { bold, cyan, dim, magenta, red }: Colors): string {
  if (message.role === 'system') return dim(safeText(message.content))
  if (message.role === 'tool')
    return message.content
      .map(({ toolName = 'tool', content, isError }) => {
        const lines = plainOutput(toolResultContentToText(content)).trimEnd().split('\n')
        const shown =
          lines.length > maxLines
            ? [...lines.slice(0, maxLines), `… ${lines.length - maxLines} more lines`]
            : lines
        return `${isError === true ? red(`${safeLine(toolName)} failed`) : dim(safeLine(toolName))}\n${shown.map((line) => dim(`  ${line}`)).join('\n')}`
      })
      .join('\n')
  const who = message.role === 'user' ? cyan(bold('you')) : bold('model')
  const parts = message.content.map((part) => {
    if (part.type === 'text') return safeText(part.text)
    if (part.type === 'reasoning') return dim(safeText(part.text))
    if (part.type === 'tool_call')
      return `${magenta(safeLine(part.function.name))} ${safeLine(serializeToolOutput(part.function.arguments), 400)}`
    return dim(`[${part.type}]`)
  })
  return `${who}\n${parts.join('\n').trimEnd()}`
}

/** The start of the first prompt. */
export function firstWords(messages: readonly Message[], maxLength: number): string {
  const first = messages.find(({ role }) => role === 'user')
  if (first === undefined || first.role !== 'user') return ''
  return safeLine(
    first.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join(' '),
    maxLength,
  )
}

const maxLines = 12
