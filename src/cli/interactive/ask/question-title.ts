import type { AskRequest } from '../../../loop/ask.js'
import { isRecord } from '../../../tool/json.js'
import { safeLine } from '../../terminal/safe-text.js'
import { callTitle } from '../run/tool-lines.js'

/**
 * The question about one call, naming the tool and what it works on: `Run "rm -rf src"?`, `Edit "a.txt"?`. It can be understood without
 * anything else on the screen.
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

function quoted(text: string): string {
  return `"${safeLine(text, 160)}"`
}
