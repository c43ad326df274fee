import { isRecord } from '../tool/json.js'
import { visibleLine, visibleText } from '../toolbox/untrusted-text.js'
import type { Connection, RequestLimits } from './connection.js'
import { McpError } from './errors.js'
import { toolId, toolLabel } from './names.js'
import { listAll } from './offered-tools.js'
import type { McpServerSpec } from './server-options.js'

/** A prompt that a server offers: a slash command of the session. */
export type OfferedPrompt = {
  /** The name that the server uses. */
  readonly name: string
  /** `mcp__<server>__<prompt>`. */
  readonly command: string
  readonly description: string
  readonly arguments: readonly { readonly name: string; readonly required: boolean }[]
}

const maxPrompts = 100

export async function listPrompts(
  spec: McpServerSpec,
  connection: Connection,
  problems: string[],
): Promise<readonly OfferedPrompt[]> {
  const found = await listAll(connection, 'prompts/list', 'prompts', spec.startTimeoutMs, problems)
  return found.slice(0, maxPrompts).flatMap((given) => {
    const name = isRecord(given) ? given['name'] : undefined
    if (!isRecord(given) || typeof name !== 'string' || name === '') return []
    const args = Array.isArray(given['arguments']) ? given['arguments'].slice(0, 20) : []
    return [
      {
        name,
        command: toolId(spec.label, toolLabel(name, spec.label)),
        description: visibleLine(String(given['description'] ?? ''), 200),
        arguments: args.flatMap((one: unknown) =>
          isRecord(one) && typeof one['name'] === 'string'
            ? [{ name: one['name'], required: one['required'] === true }]
            : [],
        ),
      },
    ]
  })
}

/** Returns the text of a prompt. Words after the command are arguments: `name=value` by name, the others in order. */
export async function promptText(
  connection: Connection,
  prompt: OfferedPrompt,
  written: string,
  limits: RequestLimits,
): Promise<string> {
  const args = readArguments(prompt, written)
  const result = await connection.request('prompts/get', { name: prompt.name, arguments: args }, limits)
  const messages = isRecord(result) && Array.isArray(result['messages']) ? result['messages'] : []
  const texts = messages.slice(0, 50).flatMap((message: unknown) => {
    const content = isRecord(message) ? message['content'] : undefined
    return (Array.isArray(content) ? content : [content]).flatMap(textOf)
  })
  if (texts.length === 0) throw new McpError('mcp_protocol', `the prompt "${prompt.name}" has no text`)
  return visibleText(texts.join('\n\n').slice(0, maxPromptLength))
}

const maxPromptLength = 100_000

function readArguments(prompt: OfferedPrompt, written: string): Record<string, string> {
  const names = prompt.arguments.map(({ name }) => name)
  const words = written.match(/[\w-]+="[^"]*"|"[^"]*"|\S+/g) ?? []
  const args: Record<string, string> = {}
  const rest: string[] = []
  for (const word of words) {
    const [, name = '', value = ''] = /^([\w-]+)=(.*)$/s.exec(word) ?? []
    if (names.includes(name)) args[name] = unquoted(value)
    else rest.push(unquoted(word))
  }
  const open = names.filter((name) => args[name] === undefined)
  // The last argument gets all remaining words: most prompts have one argument, and it is a sentence.
  for (const [at, name] of open.entries()) {
    const value = at === open.length - 1 ? rest.slice(at).join(' ') : rest[at]
    if (value !== undefined && value !== '') args[name] = value
  }
  const missing = prompt.arguments.filter(({ name, required }) => required && args[name] === undefined)
  if (missing.length > 0)
    throw new McpError(
      'mcp_refused',
      `/${prompt.command} needs: ${missing.map(({ name }) => name).join(', ')}`,
    )
  return args
}

function unquoted(word: string): string {
  return /^".*"$/s.test(word) ? word.slice(1, -1) : word
}

function textOf(content: unknown): string[] {
  if (!isRecord(content)) return []
  if (content['type'] === 'text' && typeof content['text'] === 'string') return [content['text']]
  const { resource } = content
  return isRecord(resource) && typeof resource['text'] === 'string' ? [resource['text']] : []
}
