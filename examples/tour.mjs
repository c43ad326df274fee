// The tour behind `npm start`: a tool set is defined, called, refused and explained. Needs no key and no network.
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

console.log(paint(1, 'Capstan: the tool contract'))

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

console.log(`\nNext: README.md, then docs/tools.md.`)
