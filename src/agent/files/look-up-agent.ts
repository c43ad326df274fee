import { resolve } from 'node:path'
import type { AgentDefinition } from '../../subagents/agent-definition.js'
import {
  askingFirst,
  readAgentDirectory,
  readProjectAgents,
  readUserAgents,
} from '../../subagents/files/read-agents.js'
import { builtinAgents, findAgent } from '../named-agents.js'

export type AgentPlaces = {
  /** The real path of the workspace; undefined when it is not on this machine. */
  readonly root: string | undefined
  readonly userDir: string
  /** The directories of the host. */
  readonly directories: readonly string[]
  /** Whether the agents of the user and of the project are searched as well. */
  readonly discover: boolean
}

/**
 * Finds an agent by name: in the directories of the host, of the user, of the package, of the project, in this order.
 * An agent of the project asks before it does what its own rules allow. Throws `AgentNotFoundError`.
 */
export function lookUpAgent(
  name: string,
  { root, userDir, directories, discover }: AgentPlaces,
): { readonly agent: AgentDefinition; readonly problems: readonly string[] } {
  const given = directories.map((path) => readAgentDirectory(resolve(root ?? '.', path), builtinAgents))
  const user = discover ? readUserAgents(userDir, builtinAgents) : none
  const trusted = [...given, user].flatMap(({ agents }) => agents)
  const isKnown = [...trusted, ...builtinAgents].some(
    (one) => one.name === name || one.aliases?.includes(name),
  )
  const project = isKnown || !discover || root === undefined ? none : readProjectAgents(root, builtinAgents)
  const read = [...given, user, project]
  const unread = read.flatMap((place) => place.unread)
  return {
    agent: findAgent(name, [...trusted, ...project.agents.map(askingFirst)], unread),
    problems: read.flatMap(({ problems }) => problems),
  }
}

const none = { agents: [], problems: [], unread: [] } as const
