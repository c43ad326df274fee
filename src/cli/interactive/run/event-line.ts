import type { AgentEvent } from '../../../loop/events.js'
import { modelEventText } from '../../model-events.js'
import { noticeText } from '../../notice-text.js'
import type { Colors } from '../../terminal/colors.js'
import { safeLine } from '../../terminal/safe-text.js'
import { wrapText } from '../../terminal/wrap.js'

/** The lines for an event that is neither part of an answer nor a call; undefined for events that are not shown. */
export function eventLine(event: AgentEvent, colors: Colors, columns: number): string[] | undefined {
  const { dim, yellow, red, green } = colors
  const lines = (paint: (text: string) => string, text: string): string[] =>
    wrapText(safeLine(text, 1_000), columns, '  ').map(paint)
  switch (event.type) {
    case 'notice':
      return lines(dim, `note from ${event.source}: ${noticeText(event)}`)
    case 'model_retry':
    case 'model_rate_limit_wait':
    case 'answer_restarted':
    case 'model_fallback':
    case 'model_circuit_opened':
      return lines(dim, modelEventText(event) ?? '')
    case 'persistence_failed':
      return lines(yellow, `warning: the session could not be stored (${event.operation}): ${event.error}`)
    case 'compaction_failed':
      return lines(yellow, `warning: compaction failed: ${event.error}`)
    case 'context_compacted':
      return lines(
        dim,
        `conversation compacted: ${event.beforeMessages} messages became ${event.afterMessages}`,
      )
    case 'verification_check_end':
      return lines(event.status === 'passed' ? green : yellow, `check ${event.checkId}: ${event.status}`)
    case 'goal_checked':
      return lines(
        event.met ? green : yellow,
        `goal check ${event.check}: ${event.met ? 'reached' : event.reason}`,
      )
    case 'goal_ended':
      return event.met ? undefined : lines(yellow, `the goal is not reached (${event.reason})`)
    case 'steered':
      return lines(dim, 'the model has read your message')
    case 'budget_threshold_hit':
      return lines(yellow, `budget: ${event.message ?? `${event.resource}, ${event.kind} limit`}`)
    case 'agent_cancelled':
      return lines(yellow, 'cancelled')
    case 'error':
      return lines(red, `capstan: ${event.error}`)
    default:
      return undefined
  }
}
