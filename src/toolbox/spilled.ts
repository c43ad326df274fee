import type { ToolCallContext } from '../tool/contract.js'
import { type OutputEnvelope, outputEnvelope } from '../tool/envelope.js'
import { messageOf } from '../tool/errors.js'
import type { JsonValue } from '../tool/json.js'
import { fittingHead } from './fitting-head.js'

/** An output that did not fit: the part to show, the total count, and the content of a file with more. */
export type Overflow = {
  readonly label: string
  readonly total: number
  /** Returns the part to show, given the path of the file with more, if there is one. */
  readonly head: (path: string | undefined) => string
  readonly whole: () => string
  readonly metadata: Readonly<Record<string, JsonValue>>
}

/** The output limit of a tool, minus the text around the head. */
const maxBytes = 199 * 1024

/** Returns a truncated output: its head, and the path of a file with more of it, which `read` accepts. */
export async function spilledOutput(
  { runtime }: ToolCallContext,
  { label, total, head, whole, metadata }: Overflow,
): Promise<OutputEnvelope<{ head: string; total: number }>> {
  let path: string | undefined
  let problem: string | undefined
  try {
    path = await runtime?.scratch?.write(label, whole())
  } catch (error) {
    // The results are still returned when the file with the rest cannot be written.
    problem = messageOf(error)
  }
  return outputEnvelope(
    { head: fittingHead(head(path), maxBytes), total },
    {
      ...metadata,
      truncated: true,
      ...(path === undefined ? {} : { output_path: path }),
      ...(problem === undefined ? {} : { spill_error: problem }),
    },
  )
}
