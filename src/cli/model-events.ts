import type { AgentEvent } from '../loop/events.js'

/** The message for an event about a model request that failed or waits; undefined for other events. */
export function modelEventText(event: AgentEvent): string | undefined {
  switch (event.type) {
    case 'model_retry':
      return `${whose(event)}retrying the model request in ${pause(event.delayMs)}: ${event.reason}`
    case 'model_rate_limit_wait':
      return `${whose(event)}waiting for the rate limit of ${event.model}${event.waitMs > 0 ? `, at least ${pause(event.waitMs)}` : ''}`
    case 'answer_restarted':
      return 'the answer was cut off and starts again; ignore the text above'
    case 'model_fallback':
      return `${whose(event)}${event.to} takes over from ${event.from}: ${event.reason}`
    case 'model_circuit_opened':
      return `${whose(event)}${event.model} is not used for ${pause(event.openMs)}: ${event.failures} requests in a row failed`
    default:
      return undefined
  }
}

function whose({ agent }: { readonly agent?: string | undefined }): string {
  return agent === undefined ? '' : `${agent}: `
}

/** Formats a pause, with enough precision for short ones. */
function pause(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${Number((ms / 1000).toFixed(1))} s`
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`
}
