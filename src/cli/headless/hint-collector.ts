import type { AgentEvent } from '../../loop/events.js'

/** Collects hints about calls that failed for a reason that no rule can change. Each hint is printed once. */
export class HintCollector {
  readonly #hints = new Set<string>()

  add(event: AgentEvent): void {
    if (event.type !== 'tool_end') return
    const { code, network_refused: networkRefused } = event.metadata
    if (code === 'outside_grant') this.#hints.add(hints.outsideGrant)
    if (networkRefused === true) this.#hints.add(hints.network)
  }

  hints(): readonly string[] {
    return [...this.#hints]
  }
}

const hints = {
  network: 'sandboxed commands can connect only to hosts that you allow: --allow-host HOST',
  outsideGrant: 'a session works in its own directory; use -C DIR to work in another',
} as const
