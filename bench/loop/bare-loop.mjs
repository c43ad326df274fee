// The baseline: the minimal hand-written code that does the same with `fetch`.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

const readOnly = [
  {
    type: 'function',
    function: {
      name: 'read',
      description: 'Read a file.',
      parameters: { type: 'object', properties: { file_path: { type: 'string' } }, required: ['file_path'] },
    },
  },
]

/** @typedef {{ role: string, content: unknown, tool_calls?: unknown, tool_call_id?: string }} BareMessage */
/** @typedef {{ id: string, name: string, input: string }} BareCall */

/**
 * Asks until the model calls no tool, and returns the last text.
 * @param {{ url: string, read: (args: { file_path: string }) => Promise<string>, messages: BareMessage[], stream?:
 * boolean, onText?: (text: string) => void, tools?: readonly unknown[] }} run
 */
export async function bareLoop({
  url,
  read,
  messages,
  stream = true,
  onText = () => undefined,
  tools = readOnly,
}) {
  for (;;) {
    const { text, calls } = await (stream
      ? ask(url, { tools, messages }, onText)
      : askWhole(url, { tools, messages }))
    messages.push({
      role: 'assistant',
      content: text,
      ...(calls.length > 0 && {
        tool_calls: calls.map(({ id, name, input }) => ({
          id,
          type: 'function',
          function: { name, arguments: input },
        })),
      }),
    })
    if (calls.length === 0) return text
    const results = calls.map(async ({ id, input }) => ({
      role: 'tool',
      tool_call_id: id,
      content: await read(JSON.parse(input)),
    }))
    messages.push(...(await Promise.all(results)))
  }
}

/** @typedef {{ tools: readonly unknown[], messages: BareMessage[] }} Said */

/** @param {string} url @param {Said} said @param {(text: string) => void} onText */
async function ask(url, said, onText) {
  const response = await post(url, { stream: true, stream_options: { include_usage: true }, ...said })
  const reader = response.body?.getReader()
  if (reader === undefined) throw new Error('the model server answered nothing')
  const decoder = new TextDecoder()
  /** @type {BareCall[]} */
  const calls = []
  let text = ''
  let rest = ''
  for (;;) {
    const { value, done } = await reader.read()
    if (done) return { text, calls }
    rest += decoder.decode(value, { stream: true })
    const events = rest.split('\n\n')
    rest = events.pop() ?? ''
    for (const event of events) {
      const data = event.slice('data: '.length)
      if (data === '[DONE]') continue
      const delta = JSON.parse(data).choices[0]?.delta
      if (delta?.content) {
        text += delta.content
        onText(delta.content)
      }
      for (const { index, id, function: call } of delta?.tool_calls ?? []) {
        calls[index] ??= { id, name: call.name, input: '' }
        calls[index].input += call.arguments
      }
    }
  }
}

/** @param {string} url @param {Said} said */
async function askWhole(url, said) {
  const { choices } = await (await post(url, said)).json()
  const { content, tool_calls = [] } = choices[0].message
  /** @type {BareCall[]} */
  const calls = tool_calls.map((/** @type {any} */ { id, function: call }) => ({
    id,
    name: call.name,
    input: call.arguments,
  }))
  return { text: content ?? '', calls }
}

/** @param {string} url @param {Record<string, unknown>} body */
async function post(url, body) {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', ...body }),
  })
  if (!response.ok) throw new Error(`the model server answered ${response.status}`)
  return response
}

/** The tool: a file below the root, whole. @param {string} root */
export function readBelow(root) {
  return (/** @type {{ file_path: string }} */ { file_path }) => readFile(join(root, file_path), 'utf8')
}
