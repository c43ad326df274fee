import { prepareAsWritten } from '../tool/call-as-written.js'
import type { AnyGovernedTool, Preparation } from '../tool/contract.js'
import { messageOf } from '../tool/errors.js'
import { readToolArgs } from '../tool/repair-json.js'
import { serializeToolOutput } from '../tool/serialize.js'
import type { CallState } from './gate.js'
import { Stopped } from './stopped.js'

/** Parses the arguments that a model wrote, repairing invalid JSON where possible; the record states the repairs. */
export function readWritten(state: CallState, written: string): unknown {
  state.text = written
  try {
    const { value, text, repairs } = readToolArgs(written)
    state.text = text
    state.notices.push(...repairs.map((repair) => `the arguments were not JSON: ${repair}`))
    state.written = { value }
    return value
  } catch (error) {
    throw new Stopped(`The arguments of tool "${state.request.name}" are not JSON. ${messageOf(error)}`)
  }
}

/**
 * Checks arguments. If arguments that a model wrote do not fit, they are coerced by the schema and checked again; the
 * coerced value is then judged, shown, recorded and run. Arguments from code are not coerced.
 */
export async function prepareWritten(
  state: CallState,
  tool: AnyGovernedTool,
  value: unknown,
): Promise<Preparation> {
  if (state.written?.value !== value) return tool.prepare(value)
  const { prepared, read } = await prepareAsWritten(tool, value)
  if (read === undefined) return prepared
  state.text = serializeToolOutput(read.value)
  state.notices.push(...read.coercions)
  return prepared
}
