import { isToolResultContentArray } from '../tool/content.js'
import type { AnyGovernedTool } from '../tool/contract.js'
import { type Envelope, errorEnvelope, outputEnvelope } from '../tool/envelope.js'
import { applyToolOutput } from '../tool/middleware.js'
import { toToolResult } from '../tool/tool-result.js'
import { toolCallIdOf } from './approval-step.js'
import type { Passage } from './gate.js'
import { afterWork } from './guarded.js'

/**
 * The result after `onToolOutput`: what the model gets. A failure stays a failure, in other words. Without a tool it is the refusal of a
 * call that names none.
 */
export async function rewriteOutput(
  passage: Passage,
  tool: AnyGovernedTool | undefined,
  envelope: Envelope,
): Promise<Envelope> {
  passage.step = 'output'
  const { parts, request } = passage
  if (!parts.middleware?.some((one) => one.onToolOutput ?? one.onResult)) return envelope
  const { output } = toToolResult(request.name, envelope)
  const content =
    envelope.type === 'output' && isToolResultContentArray(envelope.data) ? envelope.data : undefined
  const applied = applyToolOutput(
    parts.middleware,
    {
      toolName: request.name,
      args: passage.text,
      result: output,
      turn: request.turn ?? 0,
      internalCallId: passage.id,
      ...(content === undefined ? {} : { structuredResult: content }),
      ...toolCallIdOf(request),
    },
    tool,
  )
  const rewritten = await afterWork(request.signal, applied)
  // Middleware may be what keeps a secret: what it has not seen is not shown.
  if (rewritten === undefined)
    return errorEnvelope(
      `What the call of "${request.name}" gave is withheld: the run was aborted before middleware had seen it.`,
      envelope.metadata,
    )
  if (rewritten.result === output && rewritten.structuredResult === content) return envelope
  if (envelope.type === 'error') return errorEnvelope(rewritten.result, envelope.metadata)
  return outputEnvelope(rewritten.structuredResult ?? rewritten.result, envelope.metadata)
}
