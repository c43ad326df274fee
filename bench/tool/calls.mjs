// One tool call from text to text: what checking and governing it costs over doing the same by hand.
import { Validator } from '@cfworker/json-schema'
import { createJsonTool, createTool, ToolSet } from 'capstan/tool'
import { z } from 'zod'
import { interleave, keep } from '../measure.mjs'
import { timingArea } from '../report.mjs'

const input = z.object({
  city: z.string().min(1),
  days: z.number().int().min(1).max(14),
  units: z.enum(['metric', 'imperial']).optional(),
  tags: z.array(z.string()),
})
/** @type {import('@cfworker/json-schema').Schema} */
const parameters = {
  type: 'object',
  properties: {
    city: { type: 'string', minLength: 1 },
    days: { type: 'integer', minimum: 1, maximum: 14 },
    units: { enum: ['metric', 'imperial'] },
    tags: { type: 'array', items: { type: 'string' } },
  },
  required: ['city', 'days', 'tags'],
}
const text = JSON.stringify({ city: 'Reykjavík', days: 3, units: 'metric', tags: ['wind', 'rain', 'sun'] })

/** @param {z.infer<typeof input>} args */
const forecast = ({ city, days, units, tags }) => ({ city, days, units, high: days + 7, tags: tags.length })

/** @param {number} seconds */
export async function measureCalls(seconds) {
  const description = 'The weather of the next days.'
  const viaZod = createTool({ name: 'zod', description, input, execute: forecast })
  const viaJson = createJsonTool({
    name: 'json',
    description,
    parameters: { ...parameters },
    execute: (args) => forecast(/** @type {z.infer<typeof input>} */ (args)),
  })
  const set = ToolSet.fromTools([viaZod, viaJson])
  const validator = new Validator(structuredClone(parameters), '2020-12', false)

  const byHand = () => JSON.stringify(forecast(input.parse(JSON.parse(text))))
  const byHandJson = () => {
    const args = JSON.parse(text)
    if (!validator.validate(args).valid) throw new TypeError('invalid')
    return JSON.stringify(forecast(args))
  }
  const envelopeOf = async (/** @type {typeof viaZod | typeof viaJson} */ tool) => {
    const envelope = await tool.execute(JSON.parse(text))
    return JSON.stringify(envelope.type === 'output' ? envelope.data : envelope.error_text)
  }
  const cases = [
    sync('zod by hand: parse, zod.parse, function, stringify', byHand),
    asynchronous('  the same in an async function', async () => byHand()),
    sync('no check: parse, function, stringify', () => JSON.stringify(forecast(JSON.parse(text)))),
    asynchronous('ToolSet.call, zod tool', () => set.call('zod', text)),
    asynchronous('parse, tool.execute, stringify, zod tool', () => envelopeOf(viaZod)),
    sync('JSON Schema by hand: the validator Capstan uses', byHandJson),
    asynchronous('ToolSet.call, JSON Schema tool', () => set.call('json', text)),
    asynchronous('parse, tool.execute, stringify, JSON Schema tool', () => envelopeOf(viaJson)),
  ]
  return timingArea(
    'Calls',
    'One call, JSON text in and JSON text out; ratio to the same by hand with zod and no runtime around it.',
    await interleave(cases, { seconds }),
  )
}

/** @param {string} name @param {() => string} work */
function sync(name, work) {
  const run = (/** @type {number} */ times) => {
    for (let i = 0; i < times; i++) keep(work())
  }
  return { name, run }
}

/** @param {string} name @param {() => Promise<unknown>} work */
function asynchronous(name, work) {
  const run = async (/** @type {number} */ times) => {
    for (let i = 0; i < times; i++) keep(await work())
  }
  return { name, run }
}
