// One call through the gate, in process, against calling the tool directly.
import { defaultWatchdog } from 'capstan/authority'
import { createGate, createSessionAuthority } from 'capstan/gate'
import { createJsonTool, ToolSet } from 'capstan/tool'
import { interleave, keep } from '../measure.mjs'
import { timingArea } from '../report.mjs'

const lookUp = createJsonTool({
  name: 'look_up',
  description: 'Look something up in a file.',
  kind: 'read',
  requires: { fs: { read: ['{workspace}/**'] } },
  parameters: {
    type: 'object',
    properties: { path: { type: 'string' }, line: { type: 'integer' } },
    required: ['path'],
  },
  touches: (args) => [{ fs: 'read', path: String(args['path']) }],
  execute: (args) => ({ found: args['line'] }),
})
const scope = { variables: { workspace: ['/ship'] }, home: '/home/someone' }
const text = '{"path":"src/index.ts","line":12}'

/** @param {number} seconds */
export async function measureGate(seconds) {
  const tools = ToolSet.fromTools([lookUp])
  const policy = {
    deny: ['write(**/.env*)', 'read(**/.ssh/**)'],
    ask: ['bash(git push*)'],
    allow: ['read(*)', 'look_up(src/**)', 'bash(npm run build*)'],
  }
  const authority = createSessionAuthority({ scope: () => scope, tools: () => tools.values(), policy })
  let ids = 0
  const bare = {
    tools: { get: (/** @type {string} */ name) => tools.get(name), names: () => ['look_up'] },
    authorityFor: (/** @type {import('capstan/tool').AnyGovernedTool} */ tool) => authority.for(tool),
    spill: async () => 'nowhere',
    now: () => performance.now(),
    newId: () => `call-${++ids}`,
  }
  /** @type {unknown[]} */
  const records = []
  const plain = createGate(bare)
  const everything = createGate({
    ...bare,
    watchdog: defaultWatchdog,
    middleware: [{ onToolInput: () => undefined, onToolOutput: () => undefined }],
    before: () => ({ action: 'continue' }),
    after: () => undefined,
    budget: () => undefined,
    toolTimeoutMs: 60_000,
    run: { agentId: 'a', runId: 'r', sessionId: 's' },
    record: (record) => {
      records.length = 0
      records.push(record)
    },
  })
  const through =
    (/** @type {import('capstan/gate').Gate} */ gate) => async (/** @type {number} */ times) => {
      for (let i = 0; i < times; i++)
        keep(await gate.call({ name: 'look_up', origin: 'model', input: { text } }))
    }
  const direct = async (/** @type {number} */ times) => {
    for (let i = 0; i < times; i++) keep(await tools.call('look_up', text))
  }
  const checked = await plain.call({ name: 'look_up', origin: 'model', input: { text } })
  if (checked.envelope.type !== 'output') throw new Error(`the gate refused: ${checked.envelope.error_text}`)
  const timings = await interleave(
    [
      { name: 'ToolSet.call, no gate', run: direct },
      { name: 'gate: checked, granted, judged, bounded', run: through(plain) },
      { name: 'gate with watchdog, hooks, middleware, deadline, record', run: through(everything) },
    ],
    { seconds },
  )
  const explanation = 'One call of an in-process tool, JSON text in; ratio to calling the tool set directly.'
  return {
    areas: [timingArea('The gate', explanation, timings)],
    micros: timings[2]?.micros.median ?? Number.NaN,
  }
}
