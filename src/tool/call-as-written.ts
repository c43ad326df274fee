import { coerceToSchema } from './coerce-args.js'
import {
  type AnyGovernedTool,
  type AnyTool,
  isGovernedTool,
  type Preparation,
  type ToolCallContext,
} from './contract.js'
import { governTool } from './govern.js'
import { isRejection } from './validation.js'

/** Checked arguments, with the coerced value if only that value passed the check. */
export type PreparedAsWritten = {
  readonly prepared: Preparation
  readonly read?: { readonly value: unknown; readonly coercions: readonly string[] }
}

/**
 * Checks arguments that a model wrote. Arguments that do not fit are coerced by the schema (see `coerceToSchema`) and
 * checked again. If they still do not fit, the first error is returned.
 */
export async function prepareAsWritten(tool: AnyGovernedTool, value: unknown): Promise<PreparedAsWritten> {
  const prepared = await tool.prepare(value)
  if (prepared.ok) return { prepared }
  const read = coerceToSchema(tool.parameters, value)
  if (read.coercions.length === 0) return { prepared }
  const again = await tool.prepare(read.value)
  return again.ok ? { prepared: again, read } : { prepared }
}

/** Calls a tool with arguments as a model writes them, read the same way as in a run. */
export async function callAsWritten(
  tool: AnyTool,
  args: unknown,
  context?: ToolCallContext,
): Promise<unknown> {
  if (!isGovernedTool(tool)) return callByHand(tool, args, context)
  try {
    return await tool.call(args, context)
  } catch (thrown) {
    if (!isRejection(thrown, tool.name, args)) throw thrown
    const { prepared, read } = await prepareAsWritten(tool, args)
    if (!prepared.ok || read === undefined) throw thrown
    return tool.call(read.value, context)
  }
}

/** Calls a hand-written tool, which parses its own arguments. It gets the coerced ones if only those fit. */
async function callByHand(tool: AnyTool, args: unknown, context?: ToolCallContext): Promise<unknown> {
  const { read } = await prepareAsWritten(await governTool(tool), args)
  return tool.call(read === undefined ? args : read.value, context)
}
