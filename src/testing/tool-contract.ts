import { assertVariables } from '../authority/variables.js'
import type { AnyGovernedTool, AnyTool } from '../tool/contract.js'
import { isEnvelope } from '../tool/envelope.js'
import { messageOf } from '../tool/errors.js'
import { governTool } from '../tool/govern.js'
import { compileJsonSchema } from '../tool/json-schema.js'
import { serializeToolOutput } from '../tool/serialize.js'

/** Arguments that a tool must accept, and others that it must reject. None of them is run. */
export type ToolSamples = { valid: readonly unknown[]; invalid?: readonly unknown[] }

const nonsense: readonly unknown[] = [
  undefined,
  null,
  3,
  'text',
  [],
  Number.NaN,
  () => undefined,
  JSON.parse('{"__proto__":{"polluted":true}}'),
]

/**
 * Checks a tool against the contract and returns a list of problems, empty when there are none. The tool's work is
 * not run: only its definition, its check of arguments, and its subjects are checked.
 *
 * @example
 * ```ts
 * expect(await checkToolContract(myTool, { valid: [{ path: 'a.txt' }], invalid: [{ path: 3 }] })).toEqual([])
 * ```
 */
export async function checkToolContract(tool: AnyTool, samples: ToolSamples): Promise<string[]> {
  let governed: AnyGovernedTool
  try {
    governed = await governTool(tool)
  } catch (error) {
    return [`it cannot be registered: ${messageOf(error)}`]
  }
  const problems = await publishedProblems(governed, (await tool.definition('')).name)
  for (const args of samples.valid) problems.push(...(await validProblems(governed, args)))
  for (const args of samples.invalid ?? []) problems.push(...(await invalidProblems(governed, args)))
  for (const args of nonsense) problems.push(...(await neverThrows(governed, args)))
  return problems
}

async function publishedProblems(tool: AnyGovernedTool, definedName: string): Promise<string[]> {
  const problems: string[] = []
  if (definedName !== tool.name || tool.id !== tool.name)
    problems.push('its id, name and definition disagree')
  if (tool.description.trim() === '') problems.push('its description is empty')
  try {
    compileJsonSchema(tool.parameters)
  } catch (error) {
    problems.push(messageOf(error))
  }
  for (const keyword of ['oneOf', 'anyOf', 'allOf']) {
    if (keyword in tool.parameters)
      problems.push(`its parameters have "${keyword}" at the top, which several providers reject`)
  }
  try {
    assertVariables(tool.requires)
  } catch (error) {
    problems.push(messageOf(error))
  }
  return problems
}

async function validProblems(tool: AnyGovernedTool, args: unknown): Promise<string[]> {
  const before = show(args)
  const prepared = await tool.prepare(args)
  if (!prepared.ok)
    return [`it rejects ${show(args)}, which should be valid: ${prepared.envelope.error_text}`]
  const aborted = await prepared.run({ signal: AbortSignal.abort() })
  const problems = aborted.type === 'error' ? [] : [`it ran ${show(args)} although the run was aborted`]
  if (show(args) !== before) problems.push(`it changed its arguments ${show(args)}`)
  return problems
}

async function invalidProblems(tool: AnyGovernedTool, args: unknown): Promise<string[]> {
  const prepared = await tool.prepare(args)
  return prepared.ok ? [`it accepts ${show(args)}, which should be invalid`] : []
}

async function neverThrows(tool: AnyGovernedTool, args: unknown): Promise<string[]> {
  try {
    const prepared = await tool.prepare(args)
    return prepared.ok || isEnvelope(prepared.envelope)
      ? []
      : [`it answers ${show(args)} with something that is not an envelope`]
  } catch (error) {
    return [`it throws on ${show(args)}: ${messageOf(error)}`]
  }
}

function show(args: unknown): string {
  return typeof args === 'function' ? 'a function' : serializeToolOutput(args)
}
