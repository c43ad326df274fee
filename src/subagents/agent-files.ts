import { resolve } from 'node:path'
import { SingleFlight } from '../feature/single-flight.js'
import type { AgentDefinition } from './agent-definition.js'
import { AgentRegistry } from './agent-registry.js'
import {
  type ReadAgents,
  readAgentDirectory,
  readProjectAgents,
  readUserAgents,
} from './files/read-agents.js'
import { workerAgent } from './files/worker-spec.js'
import type { SubagentSession } from './options.js'

/**
 * Collects the agents that a session starts with. Agents that the host names come first, then those of the user,
 * those of the package, and those of the project: a repository cannot replace any of the others.
 */
export function findAgents(session: SubagentSession): AgentRegistry {
  const { options, projectRoot = '.' } = session
  const { children } = session.setup
  const known = children?.agents ?? []
  const registry = new AgentRegistry(known)
  // Without child sessions, no agent can be given a task.
  if (children === undefined) return registry
  if (options.discoverAgents !== false) {
    const { project, user } = looked.get(session) ?? lookNow(session)
    looked.delete(session)
    const taken = new Set([...known, ...user.agents].flatMap(({ name, aliases = [] }) => [name, ...aliases]))
    for (const { name } of project.agents.filter((agent) => taken.has(agent.name)))
      registry.problems.push(
        `the agent "${name}" of the project was left out: there is one of that name already`,
      )
    addAgents(registry, { ...project, agents: project.agents.filter(({ name }) => !taken.has(name)) })
    addAgents(registry, user)
  }
  for (const path of options.agentDirs ?? [])
    addAgents(registry, readAgentDirectory(resolve(projectRoot, path), known))
  for (const spec of options.workerAgents ?? []) registry.add(workerAgent(spec, known))
  return registry
}

/** Reads the files once for all sessions that start at this moment; `findAgents` uses what was read. */
export async function readAgentFiles(session: SubagentSession): Promise<void> {
  const { options, projectRoot, userDir } = session
  const { children } = session.setup
  if (options.discoverAgents === false || children === undefined) return
  const one = families.get(children.agents) ?? new SingleFlight<Discovered>()
  families.set(children.agents, one)
  looked.set(session, await one.ask(JSON.stringify([projectRoot, userDir]), () => lookNow(session)))
}

const none: ReadAgents = { agents: [], problems: [], unread: [] }

type Discovered = { readonly project: ReadAgents; readonly user: ReadAgents }

/** By the known agents, because the result depends on them. */
const families = new WeakMap<readonly AgentDefinition[], SingleFlight<Discovered>>()
const looked = new WeakMap<SubagentSession, Discovered>()

function lookNow({ projectRoot, userDir, setup }: SubagentSession): Discovered {
  const known = setup.children?.agents ?? []
  return {
    project: projectRoot === undefined ? none : readProjectAgents(projectRoot, known),
    user: readUserAgents(userDir, known),
  }
}

export function addAgents(registry: AgentRegistry, { agents, problems, unread }: ReadAgents): void {
  for (const agent of agents) registry.add(agent)
  registry.problems.push(...problems)
  registry.unread.push(...unread)
}
