// What is measured against: the least code that can do the same with `fetch`, as one would write it by hand.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

const tools = [
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
 * Asks until the model calls no tool, and gives the last text.
 * @param {{ url: string, root: string, messages: BareMessage[], onText?: (text: string) => void }} run
 */
export async function bareLoop({ url, root, messages, onText = () => undefined }) {
  for (;;) {
    const { text, calls } = await ask(url, messages, onText)
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
    for (const { id, input } of calls) {
      const { file_path } = JSON.parse(input)
      messages.push({
        role: 'tool',
        tool_call_id: id,
        content: await readFile(join(root, file_path), 'utf8'),
      })
    }
  }
}

/** @param {string} url @param {BareMessage[]} messages @param {(text: string) => void} onText */
async function ask(url, messages, onText) {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'm',
      stream: true,
      stream_options: { include_usage: true },
      tools,
      messages,
    }),
  })
  const reader = response.body?.getReader()
  if (!response.ok || reader === undefined) throw new Error(`the model server answered ${response.status}`)
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
