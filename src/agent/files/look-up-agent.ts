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
  /** The real path of the workspace. */
  readonly root: string
  readonly userDir: string
  /** Directories that the host names. */
  readonly directories: readonly string[]
  /** Whether the user's and the project's own are looked for. */
  readonly discover: boolean
}

/**
 * The agent of a name: of the directories that the host names, of the user, of the package, of the project. One of the project asks
 * before it does what its own rules would allow. Throws `AgentNotFoundError`.
 */
export function lookUpAgent(
  name: string,
  { root, userDir, directories, discover }: AgentPlaces,
): { readonly agent: AgentDefinition; readonly problems: readonly string[] } {
  const given = directories.map((path) => readAgentDirectory(resolve(root, path), builtinAgents))
  const user = discover ? readUserAgents(userDir, builtinAgents) : none
  const trusted = [...given, user].flatMap(({ agents }) => agents)
  const isKnown = [...trusted, ...builtinAgents].some(
    (one) => one.name === name || one.aliases?.includes(name),
  )
  const project = isKnown || !discover ? none : readProjectAgents(root, builtinAgents)
  const read = [...given, user, project]
  const unread = read.flatMap((place) => place.unread)
  return {
    agent: findAgent(name, [...trusted, ...project.agents.map(askingFirst)], unread),
    problems: read.flatMap(({ problems }) => problems),
  }
}

const none = { agents: [], problems: [], unread: [] } as const
