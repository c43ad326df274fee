import { isToolResultContentArray, type ToolResultContent, toolResultContentToText } from '../tool/content.js'
import type { AnyGovernedTool } from '../tool/contract.js'
import { type Envelope, errorEnvelope, outputEnvelope } from '../tool/envelope.js'
import { applyToolOutput, type ToolOutcomeContent } from '../tool/middleware.js'
import { toolCallIdOf } from './approval-step.js'
import type { CallState } from './gate.js'
import type { GateParts } from './gate-parts.js'
import { afterWork } from './guarded.js'
import { errorPrefix, modelText } from './tool-message.js'

/**
 * Returns the result after `onToolOutput`. Middleware gets the text that the model would read, and the model reads
 * exactly what middleware returns. A failure remains a failure. `tool` is undefined for the refusal of a call that
 * names no known tool.
 */
export function rewriteOutput(
  state: CallState,
  tool: AnyGovernedTool | undefined,
  envelope: Envelope,
): Envelope | Promise<Envelope> {
  state.step = 'output'
  const middleware = state.parts.middleware ?? []
  const rewrites = middleware.some((one) => one.onToolOutput ?? one.onResult)
  return rewrites ? outputFromMiddleware(state, middleware, tool, envelope) : envelope
}

async function outputFromMiddleware(
  state: CallState,
  middleware: NonNullable<GateParts['middleware']>,
  tool: AnyGovernedTool | undefined,
  envelope: Envelope,
): Promise<Envelope> {
  const { request } = state
  const result = modelText(envelope)
  const content =
    envelope.type === 'output' && isToolResultContentArray(envelope.data) ? envelope.data : undefined
  const applied = applyToolOutput(
    middleware,
    {
      toolName: request.name,
      args: state.text,
      result: content === undefined ? result : toolResultContentToText(content),
      turn: request.turn ?? 0,
      internalCallId: state.id,
      ...(content === undefined ? {} : { structuredResult: content }),
      ...toolCallIdOf(request),
    },
    tool,
  )
  const rewritten = await afterWork(request.signal, applied)
  // Middleware may remove secrets, so a result that it has not processed is not shown.
  if (rewritten === undefined)
    return errorEnvelope(
      `The result of "${request.name}" is withheld: the run was aborted before middleware had seen it.`,
      envelope.metadata,
    )
  return replaced(envelope, rewritten, { result, content })
}

/**
 * Returns an envelope with the text from middleware. `replaced` in its metadata prevents that anything is added to
 * it.
 */
function replaced(
  envelope: Envelope,
  { result, structuredResult }: ToolOutcomeContent,
  before: { readonly result: string; readonly content: ToolResultContent[] | undefined },
): Envelope {
  const { metadata } = envelope
  const marked = { ...metadata, replaced: true }
  if (structuredResult !== undefined) {
    if (structuredResult === before.content) return envelope
    if (envelope.type === 'error') return errorEnvelope(result, { ...marked, content: structuredResult })
    return outputEnvelope(structuredResult, structuredResult.length === 0 ? marked : metadata)
  }
  if (before.content === undefined && result === before.result) return envelope
  if (envelope.type === 'output') return outputEnvelope(result, metadata.truncated ? marked : metadata)
  return result.startsWith(errorPrefix) && !metadata['rejected']
    ? errorEnvelope(result.slice(errorPrefix.length), metadata)
    : errorEnvelope(result, marked)
}
