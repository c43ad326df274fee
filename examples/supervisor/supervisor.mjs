// @ts-nocheck: plain JavaScript, run as it is.
// A supervisor for sessions: it gets a report of what they do and is asked before they do it. Plain Node, nothing to
// install.
//
//   over standard streams, started by the session:  new StdioTransport('node', ['examples/supervisor/supervisor.mjs'])
//   over HTTP, started by you:                      SUPERVISOR_TOKEN=... node examples/supervisor/supervisor.mjs --http 8787
//                                                   new HttpTransport('http://127.0.0.1:8787/ahp', token)
//
// With SUPERVISOR_LOG=<file> every event is written there, one line of JSON each.
import { timingSafeEqual } from 'node:crypto'
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createInterface } from 'node:readline'

/** What this supervisor thinks of things. Change this; the rest is the protocol. */
function decide({ event_type: type, payload, depth }) {
  if (type === 'pre_prompt')
    return /password/i.test(payload.prompt)
      ? { decision: 'block', reason: 'No passwords in prompts, please.' }
      : { decision: 'allow' }
  if (type !== 'pre_action') return { decision: 'allow' }
  const { tool, arguments: args } = payload
  const command = tool === 'bash' ? String(args.command) : ''
  if (/\bgit\s+push\b/.test(command))
    return { decision: 'escalate', reason: 'Pushing is for a person to decide.' }
  if (/\brm\b/.test(command)) return { decision: 'block', reason: 'Nothing is deleted here.' }
  if (depth > 0 && /\b(curl|wget)\b/.test(command))
    return { decision: 'block', reason: 'Subagents stay off the network.' }
  // A long time limit is cut down instead of being argued about.
  if (tool === 'bash' && args.timeout > 60_000)
    return { decision: 'modify', modified_payload: { arguments: { ...args, timeout: 60_000 } } }
  return { decision: 'allow' }
}

const methods = {
  'ahp/handshake': () => ({
    protocol_version: '2.4',
    harness_info: {
      name: 'sample supervisor',
      version: '1.0.0',
      capabilities: ['pre_action', 'pre_prompt', 'post_action', 'run_lifecycle', 'batch'],
    },
    config: { timeout_ms: 5_000, batch_size: 50 },
  }),
  'ahp/event': (event) => {
    log(event)
    return decide(event)
  },
  'ahp/batch': ({ events }) => ({ decisions: events.map((event) => methods['ahp/event'](event)) }),
}

/** The answer to one message; undefined for one that wants none. */
function answer(text) {
  let request
  try {
    request = JSON.parse(text)
  } catch {
    return { jsonrpc: '2.0', id: null, error: { code: -32700, message: 'That is not JSON.' } }
  }
  const { id, method, params } = request
  const handle = Object.hasOwn(methods, method) ? methods[method] : undefined
  const result = handle?.(params)
  if (id === undefined) return undefined
  if (handle === undefined)
    return { jsonrpc: '2.0', id, error: { code: -32601, message: `There is no method ${method}.` } }
  return { jsonrpc: '2.0', id, result }
}

function log(event) {
  const file = process.env.SUPERVISOR_LOG
  if (file) appendFileSync(file, `${JSON.stringify(event)}\n`)
}

function overStreams() {
  createInterface({ input: process.stdin }).on('line', (line) => {
    const message = answer(line)
    if (message !== undefined) process.stdout.write(`${JSON.stringify(message)}\n`)
  })
}

function overHttp(port) {
  const token = process.env.SUPERVISOR_TOKEN
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST' || request.url !== '/ahp') return response.writeHead(404).end()
    if (token && !same(request.headers.authorization ?? '', `Bearer ${token}`))
      return response.writeHead(401).end()
    let text = ''
    for await (const chunk of request.setEncoding('utf8')) {
      text += chunk
      if (text.length > 4_000_000) return response.writeHead(413).end()
    }
    const message = answer(text)
    if (message === undefined) return response.writeHead(204).end()
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(message))
  })
  server.listen(port, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/ahp`))
}

function same(given, expected) {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}

const at = process.argv.indexOf('--http')
if (at < 0) overStreams()
else overHttp(Number(process.argv[at + 1] ?? 0))
