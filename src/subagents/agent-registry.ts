import { type AgentDefinition, agentNamed, takesTasks, type UnreadAgent } from './agent-definition.js'

/** Shared by the many sessions that add no agent. */
const noAgents = new Map<string, AgentDefinition>()

/** The agents that a session knows: its initial ones, and those added later, which take precedence. */
export class AgentRegistry {
  readonly #own: readonly AgentDefinition[]
  #added = noAgents
  /** The problems of files that should define agents, one sentence each. */
  readonly problems: string[] = []
  /** Files that could not be read as agents. */
  readonly unread: UnreadAgent[] = []

  constructor(own: readonly AgentDefinition[]) {
    this.#own = own
  }

  /** Adds an agent, or replaces the one with the same name. */
  add(agent: AgentDefinition): void {
    if (this.#added === noAgents) this.#added = new Map()
    this.#added.set(agent.name, agent)
  }

  list(): readonly AgentDefinition[] {
    return [...this.#added.values(), ...this.#own.filter(({ name }) => !this.#added.has(name))]
  }

  /** The agents that were added later, which the tool's description does not list. */
  added(): readonly AgentDefinition[] {
    return [...this.#added.values()]
  }

  /** Returns the agent that performs tasks under this name. Throws `AgentNotFoundError`. */
  forTask(name: string): AgentDefinition {
    return agentNamed(name, this.list().filter(takesTasks), this.unread)
  }
}
