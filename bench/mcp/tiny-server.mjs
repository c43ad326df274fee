// The least server that clients of every age accept, over stdio, without a library: one tool, or as many as the argument says.
import { createInterface } from 'node:readline'

const tool = {
  name: 'echo',
  description: 'Returns its message.',
  inputSchema: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
}
const others = Array.from({ length: Number(process.argv[2] ?? 1) - 1 }, (_, at) => ({
  ...tool,
  name: `tool_${at}`,
  description: `Does what number ${at} does.`,
}))
/** @type {Record<string, (params: any) => unknown>} */
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'tiny', version: '1' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools: [tool, ...others] }),
  'tools/call': ({ arguments: { message } }) => ({ content: [{ type: 'text', text: `Echo: ${message}` }] }),
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  const answer = answers[method]
  const said = answer ? { result: answer(params) } : { error: { code: -32601, message: `no ${method}` } }
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, ...said })}\n`)
})
