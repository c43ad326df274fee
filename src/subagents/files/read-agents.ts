import { basename, dirname, join } from 'node:path'
import { messageOf } from '../../tool/errors.js'
import { findFiles, isDirectory, type SearchedDirectory } from '../../workspace/find-files.js'
import { projectDirectories } from '../../workspace/project-directories.js'
import type { AgentDefinition, UnreadAgent } from '../agent-definition.js'
import { parseAgentFile } from './parse-agent-file.js'

export type ReadAgents = {
  readonly agents: readonly AgentDefinition[]
  readonly problems: readonly string[]
  /** Files that could not be read as agents. The error for a missing agent reports them. */
  readonly unread: readonly UnreadAgent[]
}

/**
 * Reads the agents of a directory that the host names; of two with the same name, the first. Synchronous. Problems of
 * a file are reported, and the other files are used.
 */
export function readAgentDirectory(path: string, known: readonly AgentDefinition[]): ReadAgents {
  if (!isDirectory(path)) {
    const problem = `${path} is not a directory that can be read`
    return { agents: [], problems: [problem], unread: [{ names: [], problem }] }
  }
  return readDirectories([{ path, trees: [path] }], known)
}

/** Reads the user's own agents, from `agents` in `~/.capstan` and from the directories of other systems. */
export function readUserAgents(userDir: string, known: readonly AgentDefinition[]): ReadAgents {
  const others = basename(userDir) === '.capstan' ? ['.agents', '.claude'] : []
  const paths = [userDir, ...others.map((name) => join(dirname(userDir), name))]
    .map((path) => join(path, 'agents'))
    .filter(isDirectory)
  return readDirectories(
    paths.map((path) => ({ path, trees: paths })),
    known,
  )
}

/**
 * Reads the agents that came with the project, nearest first. The user did not choose them: see {@link askingFirst}.
 */
export function readProjectAgents(root: string, known: readonly AgentDefinition[]): ReadAgents {
  const directories = projectDirectories(root)
    .reverse()
    .flatMap(({ directory, tree }) =>
      projectPlaces
        .map((place) => join(directory, place))
        .filter(isDirectory)
        .map((path) => ({ path, trees: [tree] })),
    )
  return readDirectories(directories, known)
}

const projectPlaces = ['.capstan/agents', '.agents/agents', '.claude/agents']
const maxAgents = 500
const wanted = { names: /\.(?:md|ya?ml)$/i, maxBytes: 128 * 1024, maxDepth: 3 }

function readDirectories(
  directories: readonly SearchedDirectory[],
  known: readonly AgentDefinition[],
): ReadAgents {
  const agents = new Map<string, AgentDefinition>()
  const problems: string[] = []
  const unread: UnreadAgent[] = []
  const seen = new Set<string>()
  const leaveOut = (problem: string, ...names: string[]): void => {
    problems.push(problem)
    unread.push({ names, problem })
  }
  for (const directory of directories)
    for (const found of findFiles(directory, { ...wanted, seen })) {
      if ('problem' in found) leaveOut(`${found.path} ${found.problem}`)
      else if (agents.size >= maxAgents)
        leaveOut(`${found.path} was left out: there are ${maxAgents} agents already`, stemOf(found.path))
      else read(found)
    }
  return { agents: [...agents.values()], problems, unread }

  function read({ path, text }: { readonly path: string; readonly text: string }): void {
    const format = /\.md$/i.test(path) ? 'markdown' : 'yaml'
    const stem = stemOf(path)
    // A README next to agents is not an error. It is reported only if an agent of that name is requested.
    if (format === 'markdown' && !/^\ufeff?---[ \t]*\r?\n/.test(text)) {
      const problem = `${path} is not an agent: it does not begin with fields between two lines of ---`
      unread.push({ names: [stem], problem, onlyByName: true })
      return
    }
    try {
      const { agent, problems: odd } = parseAgentFile({ text, stem, format }, known)
      problems.push(...odd.map((problem) => `${path}: ${problem}`))
      if (agents.has(agent.name))
        problems.push(`${path} was left out: there is an agent "${agent.name}" already`)
      else agents.set(agent.name, agent)
    } catch (error) {
      leaveOut(`${path} is not an agent: ${messageOf(error)}`, stem, ...nameWritten(text))
    }
  }
}

function stemOf(path: string): string {
  return basename(path).replace(/\.[^.]*$/, '')
}

/** The name that a file states, even if the rest of it is invalid. */
function nameWritten(text: string): string[] {
  const [, name] = /^[ \t]*["']?name["']?[ \t]*:[ \t]*["']?([A-Za-z0-9._:-]+)/m.exec(text) ?? []
  return name === undefined ? [] : [name]
}

/**
 * Changes an agent of a project for a session of its own, which has no parent whose rules limit it: calls that its
 * rules would allow require approval. A task does not need this, because its permissions are a subset of the
 * caller's.
 */
export function askingFirst({ permissions, ...agent }: AgentDefinition): AgentDefinition {
  if (permissions === undefined) return agent
  const { allow = [], ask = [], defaultDecision, ...rest } = permissions
  return {
    ...agent,
    permissions: {
      ...rest,
      ask: [...new Set([...ask, ...allow])],
      // Without a default, reading the workspace is allowed, and everything else requires approval.
      ...(defaultDecision !== undefined && defaultDecision !== 'allow' && { defaultDecision }),
    },
  }
}
