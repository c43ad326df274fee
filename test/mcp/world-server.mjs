// @ts-nocheck: plain JavaScript, run as it is.
// A server of tools that says what its program has of the machine. The first argument is how many tools it has, the
// second how long their descriptions are.
import { readFileSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { createInterface } from 'node:readline'

const [count = '1', length = '10'] = process.argv.slice(2)
const names = ['look', ...Array.from({ length: Number(count) - 1 }, (_, at) => `extra${at}`)]
const tools = names.map((name) => ({
  name,
  description: `${name} ${'x'.repeat(Number(length))}`,
  inputSchema: {
    type: 'object',
    properties: { write: { type: 'string' }, fetch: { type: 'string' }, read: { type: 'string' } },
  },
}))

const tried = async (work) => {
  try {
    return await work()
  } catch (error) {
    return `failed: ${error.cause?.code ?? error.code ?? error.message}`
  }
}

const look = async ({ write, fetch: url, read }) => ({
  cwd: process.cwd(),
  home: homedir(),
  env: { ...process.env },
  ...(read !== undefined && { read: await tried(() => readFileSync(read, 'utf8')) }),
  ...(write !== undefined && { write: await tried(() => writeFileSync(write, 'x') ?? 'written') }),
  ...(url !== undefined && { fetch: await tried(async () => (await fetch(url)).text()) }),
})

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'world', version: '1' },
  }),
  'tools/list': () => ({ tools }),
  'tools/call': async ({ name, arguments: args }) => ({
    content: [{ type: 'text', text: name === 'look' ? JSON.stringify(await look(args)) : `called ${name}` }],
  }),
}
createInterface({ input: process.stdin }).on('line', async (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id !== undefined)
    console.log(JSON.stringify({ jsonrpc: '2.0', id, result: await answers[method](params) }))
})
