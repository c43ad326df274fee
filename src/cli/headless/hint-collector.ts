import type { AgentEvent } from '../../loop/events.js'

/** What kept calls from being done that no rule could have allowed, and the flag that helps; each is told once. */
export class HintCollector {
  readonly #hints = new Set<string>()

  look(event: AgentEvent): void {
    if (event.type !== 'tool_end') return
    for (const { sign, hint } of known) if (sign.test(event.toolOutput)) this.#hints.add(hint)
  }

  hints(): readonly string[] {
    return [...this.#hints]
  }
}

const known: readonly { readonly sign: RegExp; readonly hint: string }[] = [
  {
    sign: /There is no network in the sandbox|not among the allowed hosts/,
    hint: 'commands reach only hosts that are named: --allow-host HOST',
  },
  {
    sign: /is outside the grant: .*extend `fs\.(read|write)`/,
    hint: 'a session works in its directory alone; -C DIR works in another',
  },
]
