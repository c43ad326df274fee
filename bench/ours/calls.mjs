// A tool called by hand, by a tool set, and through the gate of a session with rules, watchdog and a hook.
import { join } from 'node:path'
import { Agent } from 'capstan'
import { createTool, ToolSet } from 'capstan/tool'
import { z } from 'zod'
import { hostOptions } from '../loop/host-options.mjs'
import { forecast, inputOf, text, times } from './forecast.mjs'

const description = 'The weather of the next days.'
const input =
  /** @type {z.ZodObject<{ city: z.ZodString, days: z.ZodNumber, units: z.ZodEnum<any>, tags: z.ZodArray<z.ZodString> }>} */ (
    inputOf(z)
  )
const make = () =>
  createTool({
    name: 'forecast',
    description,
    kind: 'read',
    input,
    execute: (args) => forecast(/** @type {any} */ (args)),
  })

/** @type {Record<string, import('../peers/sides.mjs').Side>} */
export const sides = {
  fetch: {
    title: 'by hand: parse, check, function, stringify',
    open: async () =>
      times(async () => JSON.stringify(forecast(/** @type {any} */ (input.parse(JSON.parse(text)))))),
  },
  capstan: {
    title: 'capstan: session.tool, rules, watchdog, hook',
    async open({ root, place }) {
      const agent = await Agent.create({}, { userDir: join(place, 'user'), env: {} })
      const { permissionPolicy = {}, ...options } = hostOptions
      const policy = { ...permissionPolicy, allow: [...(permissionPolicy.allow ?? []), 'forecast(*)'] }
      const session = agent.session(root, { ...options, permissionPolicy: policy, tools: [make()] })
      const args = JSON.parse(text)
      return { ...times(() => session.tool('forecast', args)), close: () => agent.close() }
    },
  },
  'capstan-set': {
    title: 'capstan: ToolSet.call, no gate',
    async open() {
      const set = ToolSet.fromTools([make()])
      return times(() => set.call('forecast', text))
    },
  },
}
