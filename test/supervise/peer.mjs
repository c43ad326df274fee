// @ts-nocheck: plain JavaScript, run as it is.
// A supervisor over standard streams that does what its first argument says, right or wrong. The second one marks its
// processes.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

const [, , how, word = ''] = process.argv
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const hello = {
  protocol_version: '2.4',
  harness_info: { name: 'peer', version: '1', capabilities: ['pre_action'] },
  // Short only for those whose answer never comes: on a busy machine any other may take long.
  config: { timeout_ms: ['silent', 'wrong-id'].includes(how) ? 300 : 60_000 },
}

const faults = {
  allow: ({ id }) => send({ id, result: { decision: 'allow' } }),
  dies: () => process.exit(3),
  'dies-saying': () => {
    process.stderr.write(`could not continue with ${process.env.SECRET}\n`)
    process.exit(3)
  },
  garbage: () => process.stdout.write('not a message at all\n'),
  'half-json': () => process.stdout.write('{"jsonrpc":"2.0","id":\n'),
  silent: () => undefined,
  'wrong-id': () => send({ id: 'another', result: { decision: 'allow' } }),
  'number-id': ({ id }) => send({ id: Number(id), result: { decision: 'allow' } }),
  'null-id': () => send({ id: null, error: { code: -32700, message: 'what?' } }),
  error: ({ id }) => send({ id, error: { code: -32000, message: 'no idea' } }),
  'no-result': ({ id }) => send({ id }),
  'odd-decision': ({ id }) => send({ id, result: { decision: 'sure' } }),
  'no-decision': ({ id }) => send({ id, result: 'allow' }),
  flood: () => {
    for (let at = 0; at < 3_000; at++) send({ method: 'ahp/hello', params: {} })
  },
  'long-line': () => process.stdout.write('x'.repeat(3_000_000)),
  'closes-output': () => process.stdout.end(),
  'shouts-on-stderr': ({ id }) => {
    for (let at = 0; at < 200; at++) process.stderr.write(`${'noise '.repeat(1_000)}\n`)
    send({ id, result: { decision: 'allow' } })
  },
}

if (how === 'daemonises') spawn('sleep', ['1000'], { argv0: word, detached: true, stdio: 'ignore' }).unref()
if (how === 'ignores-sigterm' || how === 'daemonises') process.on('SIGTERM', () => undefined)
if (how === 'ignores-sigterm') setInterval(() => undefined, 1_000)
if (how === 'never-starts') process.exit(1)

createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line)
  if (message.id === undefined) return
  if (message.method === 'ahp/batch') return send({ id: message.id, result: { decisions: [] } })
  if (message.method !== 'ahp/handshake') return (faults[how] ?? faults.allow)(message)
  if (how === 'hangs-at-start') return undefined
  if (how === 'old') return send({ id: message.id, result: { ...hello, protocol_version: '1.0' } })
  return send({ id: message.id, result: hello })
})
