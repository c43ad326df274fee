import type { AskRequest } from '../../../loop/ask.js'
import { isRecord } from '../../../tool/json.js'
import { safeLine } from '../../terminal/safe-text.js'
import { callTitle } from '../run/tool-lines.js'

/**
 * Formats the question about one call, with its tool and subject: `Run "rm -rf src"?`. It is clear without other lines.
 */
export function questionTitle(request: AskRequest): string {
  const { toolName, args, subjects } = request
  const asker = request.run?.agentId
  const by = asker === undefined || asker === 'capstan' ? '' : ` for the agent ${safeLine(asker, 60)}`
  const command = isRecord(args) && typeof args['command'] === 'string' ? args['command'] : undefined
  if (command !== undefined && subjects.some((subject) => 'shell' in subject)) {
    const lines = command.trim().split('\n').length
    return `Run ${quoted(command)}${lines > 1 ? ` (${lines} lines)` : ''}${by}?`
  }
  const verb = fileVerbs[toolName]
  const written = subjects.flatMap((subject) =>
    'fs' in subject && subject.fs === 'write' ? [subject.path] : [],
  )
  if (verb !== undefined && written.length > 0) {
    const named = [...new Set(written)]
    const more = named.length > maxPaths ? ` and ${named.length - maxPaths} more files` : ''
    return `${verb} ${named.slice(0, maxPaths).map(quoted).join(', ')}${more}${by}?`
  }
  const { name, about } = callTitle(toolName, JSON.stringify(args) ?? '')
  return `Call ${name}${about === '' ? '' : ` ${quoted(about)}`}${by}?`
}

const fileVerbs: Readonly<Record<string, string>> = { edit: 'Edit', write: 'Write', patch: 'Patch' }
const maxPaths = 3

/**
 * Quotes a text on one line. Of a long text, it shows the start and the end, because the important part can be at
 * either.
 */
function quoted(text: string): string {
  const line = safeLine(text, text.length * maxEscape)
  const letters = Array.from(line)
  if (letters.length <= maxHead + maxTail) return `"${line}"`
  return `"${letters.slice(0, maxHead).join('')} … ${letters.slice(-maxTail).join('')}"`
}

const maxHead = 100
const maxTail = 60
/** The length of the longest escape of one character: `\u{10ffff}`. */
const maxEscape = 10
