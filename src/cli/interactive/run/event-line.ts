import type { AgentEvent } from '../../../loop/events.js'
import { toCliWording } from '../../cli-wording.js'
import { modelEventText } from '../../model-events.js'
import type { Colors } from '../../terminal/colors.js'
import { safeLine } from '../../terminal/safe-text.js'
import { wrapText } from '../../terminal/wrap.js'

/** Lines for what happens beside answers and calls; undefined for what needs none. */
export function eventLine(event: AgentEvent, colors: Colors, columns: number): string[] | undefined {
  const { dim, yellow, red, green } = colors
  const told = (paint: (text: string) => string, text: string): string[] =>
    wrapText(safeLine(text, 1_000), columns, '  ').map(paint)
  switch (event.type) {
    case 'notice':
      return told(dim, `note from ${event.source}: ${toCliWording(event.message)}`)
    case 'model_retry':
    case 'answer_restarted':
    case 'model_fallback':
    case 'model_circuit_opened':
      return told(dim, modelEventText(event) ?? '')
    case 'persistence_failed':
      return told(yellow, `warning: the session could not be stored (${event.operation}): ${event.error}`)
    case 'compaction_failed':
      return told(yellow, `warning: the conversation could not be shortened: ${event.error}`)
    case 'context_compacted':
      return told(
        dim,
        `the conversation was made shorter: ${event.beforeMessages} messages became ${event.afterMessages}`,
      )
    case 'verification_check_end':
      return told(event.status === 'passed' ? green : yellow, `check ${event.checkId}: ${event.status}`)
    case 'steered':
      return told(dim, 'the model has read what you said')
    case 'budget_threshold_hit':
      return told(yellow, `budget: ${event.message ?? `${event.resource}, ${event.kind} limit`}`)
    case 'agent_cancelled':
      return told(yellow, 'cancelled')
    case 'error':
      return told(red, `capstan: ${toCliWording(event.error)}`)
    default:
      return undefined
  }
}
