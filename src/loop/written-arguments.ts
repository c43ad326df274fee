import { prepareAsWritten } from '../tool/call-as-written.js'
import type { AnyGovernedTool, Preparation } from '../tool/contract.js'
import { messageOf } from '../tool/errors.js'
import { readToolArgs } from '../tool/repair-json.js'
import { serializeToolOutput } from '../tool/serialize.js'
import type { CallState } from './gate.js'
import { Stopped } from './stopped.js'

/** Reads what a model wrote, mended where it was not quite JSON; the record says what was mended. */
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
 * Checks arguments. What a model wrote and does not fit gets a second reading by the schema; it is that reading which
 * is then judged, shown, recorded and run. What comes from code fits or does not.
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
