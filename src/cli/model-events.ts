import type { AgentEvent } from '../loop/events.js'

/** What people read about a request that failed; undefined for events about something else. */
export function modelEventText(event: AgentEvent): string | undefined {
  switch (event.type) {
    case 'model_retry':
      return `${whose(event)}the model is asked again in ${pause(event.delayMs)}: ${event.reason}`
    case 'answer_restarted':
      return 'the answer broke off and starts again; ignore its beginning above'
    case 'model_fallback':
      return `${whose(event)}${event.to} takes over from ${event.from}: ${event.reason}`
    case 'model_circuit_opened':
      return `${whose(event)}${event.model} is not asked for ${pause(event.openMs)}: ${event.failures} requests in a row failed`
    default:
      return undefined
  }
}

function whose({ agent }: { readonly agent?: string }): string {
  return agent === undefined ? '' : `${agent}: `
}

/** The pause as it is, not rounded to whole seconds while that would hide most of it. */
function pause(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${Number((ms / 1000).toFixed(1))} s`
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`
}
