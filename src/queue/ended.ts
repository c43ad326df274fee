import { type Envelope, errorEnvelope } from '../tool/envelope.js'
import type { TaskEnding } from './engine.js'
import { workerEnvelope } from './worker-result.js'

/** How one attempt at a call ended. */
export type Failed = {
  readonly how: 'failed'
  readonly error: string
  readonly mayRetry: boolean
  readonly mayHaveRun: boolean
  readonly envelope: Envelope
}
export type Ended = { readonly how: 'answered' | 'cancelled'; readonly envelope: Envelope } | Failed
type Work = { readonly toolName: string; readonly idempotent: boolean }

/**
 * Whether a call got no answer. An error that the tool returns is an answer, and a retry would return the same; a
 * timeout or a retryable error is not.
 */
export function gotNoAnswer({ type, metadata }: Envelope): boolean {
  return type === 'error' && (metadata['timed_out'] === true || metadata['retryable'] === true)
}

/** The tool started in this process, and how far it got is unknown. */
export function noAnswer(envelope: Envelope, mayRetry: boolean): Failed {
  const error = envelope.type === 'error' ? envelope.error_text : ''
  return { how: 'failed', error, mayRetry, mayHaveRun: true, envelope }
}

export function cancelled(toolName: string, began: boolean): Ended {
  const how = began
    ? 'was cancelled because the run was aborted; effects of a worker may remain'
    : 'was not run: the run was aborted while the call waited'
  return { how: 'cancelled', envelope: errorEnvelope(`Tool "${toolName}" ${how}.`) }
}

/**
 * The result for a call that a later process makes again with other arguments than those that workers were offered.
 */
export function changedSince(toolName: string, began: boolean): Failed {
  const what = began ? 'a worker had started it, and its outcome is unknown' : 'it was not run'
  return failed(
    `Tool "${toolName}": ${what}. Its arguments are no longer those that were offered to workers.`,
    false,
    began,
  )
}

export function endedBy({ toolName, idempotent }: Work, timeoutMs: number, ending: TaskEnding): Ended {
  switch (ending.how) {
    case 'completed': {
      const { success, result, error = 'External task failed' } = ending.completion
      if (success) return { how: 'answered', envelope: workerEnvelope(result) }
      return failed(`Tool "${toolName}" failed on a worker: ${error}`, idempotent, true)
    }
    case 'aborted':
      return cancelled(toolName, ending.began)
    case 'released':
      return failed(`Tool "${toolName}" was not run: the worker returned it.`, true, false)
    case 'lost': {
      if (!ending.began)
        return failed(
          `Tool "${toolName}" was not run: the worker that took it has disconnected.`,
          true,
          false,
        )
      const unknown = `The worker that ran tool "${toolName}" has disconnected, and its outcome is unknown.`
      return failed(unknown, idempotent, true)
    }
    case 'timeout': {
      const what = ending.began
        ? 'no worker returned a result; its outcome is unknown'
        : 'it was not run: no worker started it'
      return failed(`Tool "${toolName}": ${what} within ${timeoutMs} ms.`, false, ending.began)
    }
  }
}

function failed(error: string, mayRetry: boolean, mayHaveRun: boolean): Failed {
  const metadata = { ...(mayHaveRun && { untrusted: true }) }
  return { how: 'failed', error, mayRetry, mayHaveRun, envelope: errorEnvelope(error, metadata) }
}
