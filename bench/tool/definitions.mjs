// Creating tools, and listing their definitions for a model.
import { createJsonTool, createTool, ToolSet } from 'capstan/tool'
import { z } from 'zod'
import { growthExponent, growthSizes, interleave, keep } from '../measure.mjs'
import { timingArea } from '../report.mjs'
import { toolParts } from '../synthetic.mjs'

/** @typedef {import('capstan/tool').AnyGovernedTool} AnyGovernedTool */

const perSample = 100

/** @param {number} seconds */
export async function measureCreation(seconds) {
  const parts = Array.from({ length: perSample }, (_, number) => toolParts(number))
  // A schema remembers what was derived from it, zod's as well as a compiled JSON Schema: every sample needs new ones.
  let inputs = parts.map(({ input }) => input())
  let schemas = parts.map(({ parameters }) => parameters())
  const newInputs = () => {
    inputs = parts.map(({ input }) => input())
  }
  const newSchemas = () => {
    schemas = parts.map(({ parameters }) => parameters())
  }
  const execute = () => 'done'
  const viaZod = () => inputs.map((input, at) => createTool({ ...nameOf(at), input, execute }))
  const viaJson = () =>
    schemas.map((parameters, at) => createJsonTool({ ...nameOf(at), parameters, execute }))
  const nameOf = (/** @type {number} */ at) => {
    const { name = '', description = '' } = parts[at] ?? {}
    return { name, description }
  }
  const cases = [
    {
      name: 'z.toJSONSchema',
      before: newInputs,
      run: () => keep(inputs.map((input) => z.toJSONSchema(input, { io: 'input' }))),
    },
    {
      name: 'z.strictObject, to make those schemas',
      run: () => keep(parts.map(({ input }) => input())),
    },
    { name: 'createTool', before: newInputs, run: () => keep(viaZod()) },
    { name: 'createJsonTool', before: newSchemas, run: () => keep(viaJson()) },
  ]
  return timingArea(
    'Making tools',
    'Each from a schema of five fields of its own; ratio to only converting the zod schemas. µs a tool are ms for 1,000.',
    await interleave(
      cases.map((one) => ({ ...one, times: parts.length })),
      { seconds },
    ),
    'tool',
  )
}

/** @param {number} seconds @param {readonly AnyGovernedTool[]} tools at least 1,000 */
export async function measureListing(seconds, tools) {
  const thousand = tools.slice(0, 1000)
  const sets = growthSizes(tools.length).map((size) => ({
    size,
    set: ToolSet.fromTools(tools.slice(0, size)),
  }))
  const cases = [
    {
      name: 'by hand, 1,000 tools: an array of the three fields',
      run: (/** @type {number} */ times) => {
        for (let i = 0; i < times; i++)
          keep(thousand.map(({ name, description, parameters }) => ({ name, description, parameters })))
      },
    },
    ...sets.map(({ size, set }) => ({
      name: `getToolDefinitions, ${size.toLocaleString('en-US')} tools`,
      run: async (/** @type {number} */ times) => {
        for (let i = 0; i < times; i++) keep(await set.getToolDefinitions())
      },
    })),
  ]
  const timings = await interleave(cases, { seconds })
  const area = timingArea(
    'Listing definitions',
    'The definitions of every tool, once a turn; ratio to the plain array of 1,000.',
    timings,
    'list',
  )
  const points = sets.map(({ size }, at) => ({ size, value: timings[at + 1]?.micros.median ?? Number.NaN }))
  const exponent = growthExponent(points)
  console.log(`  grows with the number of tools to the power ${exponent.toFixed(2)} (1: in proportion)`)
  return { ...area, exponent }
}
