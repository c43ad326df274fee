// The tour behind `npm start`: tools are defined, called, refused and explained, then walk the gate on a workspace of their own. Needs
// no key and no network, and leaves nothing behind.
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  compileRequirements,
  createHashingEmbedding,
  createJsonTool,
  createLexicalToolIndex,
  createTool,
  createToolIndex,
  decideApproval,
  evaluateApproval,
  ToolSet,
  unionRequirements,
} from 'capstan'
import { defaultWatchdog } from 'capstan/authority'
import { createGate, createSessionAuthority, permitFor } from 'capstan/gate'
import { openWorkspace } from 'capstan/workspace'
import { z } from 'zod'

const color = process.stdout.isTTY && !process.env['NO_COLOR']
/** @param {number} code @param {string} text */
const paint = (code, text) => (color ? `\u001b[${code}m${text}\u001b[0m` : text)
/** @param {string} title */
const step = (title) => console.log(`\n${paint(1, title)}`)
/** @param {string} call @param {string} answer @param {boolean} [worked] */
const show = (call, answer, worked = true) => {
  const [first, ...rest] = answer.split('\n')
  const mark = worked ? paint(32, '✓') : paint(31, '✗')
  console.log([`  ${paint(36, call)}`, `  ${mark} ${first}`, ...rest.map((line) => `    ${line}`)].join('\n'))
}
/** @param {import('capstan').Envelope} envelope */
const said = (envelope) => (envelope.type === 'output' ? JSON.stringify(envelope.data) : envelope.error_text)

const stock = new Map([
  ['rope', 12],
  ['anchor', 1],
])

const checkStock = createTool({
  name: 'check_stock',
  description: 'How many pieces of an item are in the store.',
  input: z.object({ item: z.string().min(1), unit: z.enum(['pieces', 'crates']).default('pieces') }),
  kind: 'read',
  idempotent: true,
  requires: { fs: { read: ['{workspace}/stock/**'] } },
  touches: ({ item }) => [{ fs: 'read', path: `stock/${item}.json` }],
  execute: ({ item, unit }) => ({ item, unit, count: stock.get(item) ?? 0 }),
})

const order = createTool({
  name: 'order',
  description: 'Order more pieces of an item.',
  input: z.object({ item: z.string(), count: z.number().int().positive() }),
  requires: { net: { hosts: ['orders.example.com'] } },
  approval: {
    when: ({ args }) => args.count > 10,
    reason: ({ args }) => `${args.count} pieces is a large order`,
    rejectMessage: 'The purser did not agree. Order 10 or fewer.',
  },
  execute: ({ item, count }) => `ordered ${count} of ${item}`,
})

/** @type {import('capstan').GovernedTool<{ knots: number }, string>} */
const speed = createJsonTool({
  name: 'set_speed',
  description: 'Set the speed of the ship in knots.',
  parameters: {
    type: 'object',
    properties: { knots: { type: 'number', minimum: 0, maximum: 20 } },
    required: ['knots'],
    additionalProperties: false,
  },
  execute: ({ knots }) => `now at ${knots} knots`,
})

const tools = ToolSet.fromTools([checkStock, order, speed])

console.log(paint(1, 'Capstan: tools, and the gate they walk'))

step('1. A tool is called by name, with arguments as a model writes them')
show('check_stock {"item":"rope"}', String(await tools.call('check_stock', '{"item":"rope"}')))

step('2. Arguments that do not fit are explained, so that a model can repair them')
show('set_speed {"knots":"fast","knts":3}', said(await speed.execute({ knots: 'fast', knts: 3 })), false)
for (const [name, args] of [
  ['set_speed', '{"knots": 12'],
  ['chek_stock', '{}'],
]) {
  const error = await tools.call(name ?? '', args ?? '').catch((thrown) => thrown)
  show(`${name} ${args}`, error.message, false)
}

step('3. A call that needs a person is refused when the person says no')
const prepared = await order.prepare({ item: 'rope', count: 500 })
if (prepared.ok) {
  const request = await evaluateApproval(order.approval, {
    toolName: order.name,
    args: prepared.args,
    rawArgs: JSON.stringify(prepared.args),
    internalCallId: 'call-1',
    run: { agentId: 'quartermaster', runId: 'run-1' },
  })
  const outcome = request && (await decideApproval(request, { handler: () => false }))
  show(
    `order ${JSON.stringify(prepared.args)}  (${request?.reason})`,
    outcome?.approved === false ? outcome.message : 'ran',
    false,
  )
}
show('order {"item":"rope","count":5}', String(await tools.call('order', '{"item":"rope","count":5}')))

step('4. What the tools ask for is declared, joined, and tied to this machine')
const needs = unionRequirements(checkStock.requires, order.requires, speed.requires)
show('requires', JSON.stringify(needs))
show('compiled for /ship', JSON.stringify(compileRequirements(needs, { workspace: ['/ship'] })))
show('compiled without a workspace', JSON.stringify(compileRequirements(needs, {})))
try {
  compileRequirements({ fs: { read: ['{wrokspace}/**'] } }, { workspace: ['/ship'] })
} catch (error) {
  show('{wrokspace}/**', error instanceof Error ? error.message : String(error), false)
}

step('5. Tools are found by what they do')
const words = await createLexicalToolIndex(tools)
const vectors = await createToolIndex(createHashingEmbedding(), tools)
for (const query of ['how much rope is in the store', 'go faster, set knots']) {
  const [byWords] = await words.searchIds({ query, topK: 1 })
  const [byVectors] = await vectors.searchIds({ query, topK: 1 })
  show(query, `${byWords?.id} (words), ${byVectors?.id} (vectors)`)
}

step('6. On a workspace, every call walks the gate')
const place = await mkdtemp(join(tmpdir(), 'capstan-tour-'))
const ship = join(place, 'ship')
await mkdir(ship)
await writeFile(join(ship, 'log.txt'), 'fair wind, nine knots\n')
await writeFile(join(ship, '.env'), 'PORT_CODE=1234\n')
await symlink('/etc/hostname', join(ship, 'chart'))

const readFile = createTool({
  name: 'read',
  description: 'Read a file.',
  input: z.object({ path: z.string() }),
  kind: 'read',
  requires: { fs: { read: ['{workspace}/**'] } },
  touches: ({ path }) => [{ fs: 'read', path }],
  execute: ({ path }, { runtime }) => runtime?.files?.readText(path),
})
const writeToFile = createTool({
  name: 'write',
  description: 'Write a file.',
  input: z.object({ path: z.string(), text: z.string() }),
  kind: 'edit',
  requires: { fs: { write: ['{workspace}/**'] } },
  touches: ({ path }) => [{ fs: 'write', path }],
  execute: async ({ path, text }, { runtime }) => `${(await runtime?.files?.write(path, text))?.bytes} bytes`,
})
const bash = createTool({
  name: 'bash',
  description: 'Run a command.',
  input: z.object({ command: z.string() }),
  kind: 'execute',
  requires: { shell: [{ cmd: '*' }] },
  touches: ({ command }) => [{ shell: { text: command } }],
  execute: async ({ command }, { runtime }) => (await runtime?.shell?.run(command))?.output.trim(),
})
const crew = ToolSet.fromTools([readFile, writeToFile, bash])

/** @type {string[]} */
const notices = []
const workspace = openWorkspace({
  root: ship,
  scratchDir: place,
  ledgerDir: join(place, 'processes'),
  onNotice: (text) => notices.push(text),
})
const authority = createSessionAuthority({
  scope: () => workspace.scope,
  tools: () => crew.values(),
  policy: {
    deny: ['read(**/.env*)', 'bash(rm -rf*)'],
    allow: ['bash(wc *)', 'bash(cat *)', 'bash(touch *)'],
  },
})
let calls = 0
const gate = createGate({
  tools: { get: (name) => crew.get(name), names: () => crew.values().map(({ name }) => name) },
  authorityFor: (tool) => authority.for(tool),
  watchdog: defaultWatchdog,
  onAsk: ({ toolName, args }) => {
    const yes = toolName === 'write'
    console.log(
      `  ${paint(33, `? may ${toolName} run with ${JSON.stringify(args)}?`)} ${yes ? 'once' : 'no'}`,
    )
    return yes ? { decision: 'once' } : { decision: 'reject', message: 'The captain said no.' }
  },
  runtimeFor: ({ call, authority: own, signal, origin }) =>
    workspace.runtimeFor(permitFor(call, own, origin === 'host'), signal),
  realPath: (path) => workspace.realPath(path),
  spill: (label, data) => workspace.scratch.write(label, data),
  now: () => performance.now(),
  newId: () => `call-${++calls}`,
})
/** @param {string} name @param {Record<string, string>} args */
const walk = async (name, args) => {
  const { envelope } = await gate.call({ name, origin: 'model', input: { text: JSON.stringify(args) } })
  show(`${name} ${JSON.stringify(args)}`, said(envelope).replaceAll(place, '…'), envelope.type === 'output')
}
try {
  await walk('read', { path: 'log.txt' })
  await walk('read', { path: '.env' })
  await walk('read', { path: 'chart' })
  await walk('write', { path: 'log.txt', text: 'calm\n' })
  await walk('bash', { command: 'wc -l log.txt' })
  await walk('bash', { command: 'wc -l log.txt && rm -r -f .' })
  await walk('bash', { command: 'echo $(cat .env)' })
  await walk('bash', { command: 'touch /etc/mutiny' })

  step('7. What a command may do to the machine')
  const { output, exitCode, sandbox } = await workspace.shell.run('touch /etc/mutiny; ls /root; echo done')
  show(
    `confined by: ${sandbox}`,
    sandbox === 'none' ? (notices[0] ?? '') : `${output.trim()} (exit ${exitCode})`,
    sandbox !== 'none',
  )
} finally {
  await workspace.close()
  await rm(place, { recursive: true, force: true })
}

console.log(`\nNext: README.md, then docs/tools.md, docs/authority.md, docs/workspace.md and docs/gate.md.`)
