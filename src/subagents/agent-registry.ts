import { type AgentDefinition, agentNamed, takesTasks, type UnreadAgent } from './agent-definition.js'

/** Most sessions add none. */
const noAgents = new Map<string, AgentDefinition>()

/** The agents that a session knows: those that come with it, and those that were added since, which go before them. */
export class AgentRegistry {
  readonly #own: readonly AgentDefinition[]
  #added = noAgents
  /** What was wrong with files that should be agents, a sentence each. */
  readonly problems: string[] = []
  /** Files that gave no agent. */
  readonly unread: UnreadAgent[] = []

  constructor(own: readonly AgentDefinition[]) {
    this.#own = own
  }

  /** Adds an agent, or puts another in the place of one with its name. */
  add(agent: AgentDefinition): void {
    if (this.#added === noAgents) this.#added = new Map()
    this.#added.set(agent.name, agent)
  }

  list(): readonly AgentDefinition[] {
    return [...this.#added.values(), ...this.#own.filter(({ name }) => !this.#added.has(name))]
  }

  /** The agents that were added, which the description of the tool does not name. */
  added(): readonly AgentDefinition[] {
    return [...this.#added.values()]
  }

  /** The agent that does tasks under this name. Throws `AgentNotFoundError`. */
  forTask(name: string): AgentDefinition {
    return agentNamed(name, this.list().filter(takesTasks), this.unread)
  }
}
