import type { Manifest } from '../authority/manifest.js'
import type { TaskAgent } from '../feature/task.js'
import { CapstanError, markErrorClass } from '../tool/errors.js'
import { nearestNames, quoteNames } from '../tool/nearest.js'
import { visibleLine } from '../toolbox/untrusted-text.js'

/** A named agent: its prompt, its tools and its permissions. */
export type AgentDefinition = TaskAgent & {
  /** One line for the model or user that chooses among agents. */
  readonly description: string
  /** Other names of the agent. */
  readonly aliases?: readonly string[]
  /**
   * `primary`: opened by a host; `subagent`: given tasks; `all` (default): both. It sets where the agent is listed, not
   * its permissions.
   */
  readonly mode?: 'primary' | 'subagent' | 'all'
  /** Hides the agent in lists; a task that names it is still run. */
  readonly hidden?: boolean
  /** Whether its session is listed separately for users, while it runs and later. */
  readonly inspectable?: boolean
  /** `agent`: in a task, its prompt says in one line that an agent reads its answer. */
  readonly caller?: 'agent'
  /** The requirements and rules that it declares. */
  readonly manifest?: Manifest
  /** `provider/model` of the configuration; absent: the model of the caller. */
  readonly model?: string
  /**
   * What happens to calls that its own rules ask about: the user of the parent is asked (the default), they are
   * refused, or allowed. Calls that the parent's rules ask about are always asked about.
   */
  readonly confirmationInheritance?: 'inherit_parent' | 'deny_on_ask' | 'auto_approve'
}

/** A file that could not be read as an agent. */
export type UnreadAgent = {
  /** The names that the agent may have had, as far as they are known. */
  readonly names: readonly string[]
  readonly problem: string
  /** Reported only when an agent of this name is requested. */
  readonly onlyByName?: boolean
}

/** Thrown when no agent has the name. `unread` lists invalid files that may define it. */
export class AgentNotFoundError extends CapstanError {
  constructor(name: string, known: readonly string[], unread: readonly UnreadAgent[] = []) {
    const near = nearestNames(name, known)
    const hint = near.length === 0 ? ` Known are ${known.join(', ')}.` : ` Did you mean ${quoteNames(near)}?`
    super('agent_not_found', [`agent '${name}' not found.${hint}`, ...problemsFor(name, unread)].join('\n'))
  }
}

/** Returns the problems of files with the requested name; if there are none, of all files meant to be agents. */
function problemsFor(name: string, unread: readonly UnreadAgent[]): string[] {
  const named = unread.filter(({ names }) => names.includes(name))
  const shown = named.length > 0 ? named : unread.filter(({ onlyByName }) => onlyByName !== true)
  const lines = shown.slice(0, maxProblems).map(({ problem }) => visibleLine(problem, 400))
  return shown.length <= maxProblems
    ? lines
    : [...lines, `${shown.length - maxProblems} more files could not be read.`]
}

const maxProblems = 5

markErrorClass(AgentNotFoundError, 'AgentNotFoundError')

/**
 * Returns the agent of this name; of two, the first in the list. Throws {@link AgentNotFoundError}, which reports the
 * files of `unread`.
 */
export function agentNamed(
  name: string,
  agents: readonly AgentDefinition[],
  unread: readonly UnreadAgent[] = [],
): AgentDefinition {
  const found =
    agents.find((agent) => agent.name === name) ?? agents.find(({ aliases }) => aliases?.includes(name))
  if (found !== undefined) return found
  const known = new Set(agents.filter(({ hidden }) => !hidden).map((agent) => agent.name))
  throw new AgentNotFoundError(name, [...known], unread)
}

/** Whether the agent can be given tasks. */
export function takesTasks({ mode = 'all' }: AgentDefinition): boolean {
  return mode !== 'primary'
}

/** Lists agents for a model, one line each, up to a limit. */
export function agentLines(agents: readonly AgentDefinition[]): string[] {
  const shown = agents.filter((agent) => takesTasks(agent) && !agent.hidden)
  const lines = shown.slice(0, maxLines).map(({ name, description }) => {
    const line = `- ${name}: ${description.replace(/\s+/g, ' ').trim()}`
    return line.length <= maxLineLength ? line : `${line.slice(0, maxLineLength - 1)}…`
  })
  return shown.length <= maxLines ? lines : [...lines, `- and ${shown.length - maxLines} more`]
}

const maxLines = 40
const maxLineLength = 160
