import { basename, dirname, join } from 'node:path'
import { messageOf } from '../../tool/errors.js'
import { findFiles, isDirectory, type SearchedDirectory } from '../../workspace/find-files.js'
import { projectDirectories } from '../../workspace/project-directories.js'
import type { AgentDefinition, UnreadAgent } from '../agent-definition.js'
import { parseAgentFile } from './parse-agent-file.js'

export type ReadAgents = {
  readonly agents: readonly AgentDefinition[]
  readonly problems: readonly string[]
  /** Files that gave no agent. A search for an agent that is not there reports them. */
  readonly unread: readonly UnreadAgent[]
}

/**
 * The agents of a directory that a host names, of each name the first. Read at once; problems with a file are reported,
 * and the others count.
 */
export function readAgentDirectory(path: string, known: readonly AgentDefinition[]): ReadAgents {
  if (!isDirectory(path)) {
    const problem = `${path} is not a directory that can be read`
    return { agents: [], problems: [problem], unread: [{ names: [], problem }] }
  }
  return readDirectories([{ path, trees: [path] }], known)
}

/** The user's own agents: in `agents` below `~/.capstan`, and where other systems have theirs. */
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

/** Agents that came with the project, the nearest first. The user did not choose them: see {@link askingFirst}. */
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
    // A README next to agents is not a problem. It is one for a caller that wants an agent of its name.
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

/** The name that a file gives itself, also where the rest of it cannot be read. */
function nameWritten(text: string): string[] {
  const [, name] = /^[ \t]*["']?name["']?[ \t]*:[ \t]*["']?([A-Za-z0-9._:-]+)/m.exec(text) ?? []
  return name === undefined ? [] : [name]
}

/**
 * An agent of a project as a session of its own, without a parent whose rules limit it: what its rules would allow is
 * asked about. For a task this is not needed, since its permissions are a subset of the caller's.
 */
export function askingFirst({ permissions, ...agent }: AgentDefinition): AgentDefinition {
  if (permissions === undefined) return agent
  const { allow = [], ask = [], defaultDecision, ...rest } = permissions
  return {
    ...agent,
    permissions: {
      ...rest,
      ask: [...new Set([...ask, ...allow])],
      // Left out, reading the workspace is allowed and the rest is asked about.
      ...(defaultDecision !== undefined && defaultDecision !== 'allow' && { defaultDecision }),
    },
  }
}
