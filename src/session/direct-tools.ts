import { isRecord } from '../tool/json.js'
import { type ToolResult, toToolResult } from '../tool/tool-result.js'
import type { SessionCore } from './core.js'
import { ToolFailedError } from './errors.js'
import { prepareServers } from './parts/mcp.js'
import { coreOf, SessionSurface } from './surface/session-surface.js'

export type GitCommand = {
  readonly command: string
  readonly subcommand?: string
  readonly name?: string
  readonly path?: string
  readonly newBranch?: boolean
  readonly base?: string
  readonly force?: boolean
  readonly maxCount?: number
  readonly message?: string
  readonly includeUntracked?: boolean
  readonly target?: string
  readonly ref?: string
}

export type ProgramRequest = {
  readonly source?: string
  /** A `.js`, `.mjs` or `.ts` file of the workspace, instead of the source. */
  readonly path?: string
  readonly language?: 'javascript' | 'typescript'
  readonly inputs?: unknown
  /** Absent: every tool but `program`. */
  readonly allowedTools?: readonly string[]
  readonly limits?: {
    readonly timeoutMs?: number
    readonly maxToolCalls?: number
    readonly maxOutputBytes?: number
  }
}

/** A call of the host's own: through the gate like every other, privileged as the host is. */
export async function callTool(
  core: SessionCore,
  name: string,
  args: unknown,
  signal?: AbortSignal,
): Promise<ToolResult> {
  core.assertOpen()
  const engine = core.engine()
  await core.start(core.closing.signal)
  const { gate } = await engine
  if (name.startsWith('mcp__') && core.shelf.get(name) === undefined)
    await prepareServers(core, core.closing.signal)
  const closing = core.closing.signal
  const { envelope, fatal } = await gate.call({
    name,
    input: { value: args },
    origin: 'host',
    signal: signal === undefined ? closing : AbortSignal.any([signal, closing]),
  })
  if (fatal !== undefined) throw fatal.error
  return toToolResult(name, envelope)
}

/** The calls that hosts make most, by name. */
export abstract class DirectTools extends SessionSurface {
  /** The text of a file as it is, or some of its lines. Rejects when it cannot be read. */
  async readFile(path: string, options: { offset?: number; limit?: number } = {}): Promise<string> {
    return this.#text('host_read_text', { file_path: path, ...options })
  }

  async writeFile(path: string, content: string): Promise<ToolResult> {
    return callTool(coreOf(this), 'write', { file_path: path, content })
  }

  async editFile(
    path: string,
    oldString: string,
    newString: string,
    replaceAll = false,
  ): Promise<ToolResult> {
    const args = { file_path: path, old_string: oldString, new_string: newString, replace_all: replaceAll }
    return callTool(coreOf(this), 'edit', args)
  }

  async patchFile(path: string, diff: string): Promise<ToolResult> {
    return callTool(coreOf(this), 'patch', { file_path: path, diff })
  }

  async ls(path = '.'): Promise<ToolResult> {
    return callTool(coreOf(this), 'ls', { path })
  }

  /** The paths that match, and nothing else. Rejects when the list would not be complete. */
  async glob(pattern: string, options: { path?: string } = {}): Promise<string[]> {
    const { envelope, output } = await callTool(coreOf(this), 'host_glob', { pattern, ...options })
    if (envelope.type === 'error' || !Array.isArray(envelope.data)) throw new ToolFailedError('glob', output)
    return envelope.data as string[]
  }

  async grep(pattern: string, options: Readonly<Record<string, unknown>> = {}): Promise<string> {
    return this.#text('grep', { ...options, pattern })
  }

  /** What the command put out, whatever its exit code; `tool('bash', …)` has that too. Rejects when it could not run. */
  async bash(command: string, options: { timeout?: number } = {}): Promise<string> {
    return this.#text('bash', { command, ...options })
  }

  /** One command of git, as an object or by position. */
  async git(
    command: string | GitCommand,
    subcommand?: string,
    name?: string,
    path?: string,
    newBranch?: boolean,
    base?: string,
    force?: boolean,
    maxCount?: number,
    message?: string,
    includeUntracked?: boolean,
    target?: string,
    ref?: string,
  ): Promise<ToolResult> {
    const given: GitCommand = isRecord(command)
      ? (command as GitCommand)
      : definedOf({
          command: command as string,
          subcommand,
          name,
          path,
          newBranch,
          base,
          force,
          maxCount,
          message,
          includeUntracked,
          target,
          ref,
        })
    if (typeof given.command !== 'string') throw new TypeError('git options must include a command field')
    const { newBranch: new_branch, maxCount: max_count, includeUntracked: include_untracked, ...rest } = given
    return callTool(coreOf(this), 'git', definedOf({ ...rest, new_branch, max_count, include_untracked }))
  }

  async webSearch(params: { readonly query: string; readonly limit?: number }): Promise<ToolResult> {
    const { query, limit } = params
    return callTool(coreOf(this), 'web_search', definedOf({ query, max_results: limit }))
  }

  /** Runs a script that calls tools. The same as `tool('program', …)` in the words of this language. */
  async program(program: ProgramRequest): Promise<ToolResult> {
    const { allowedTools: allowed_tools, ...rest } = program
    return callTool(coreOf(this), 'program', definedOf({ type: 'script', ...rest, allowed_tools }))
  }

  async #text(name: string, args: unknown): Promise<string> {
    const { envelope, output } = await callTool(coreOf(this), name, args)
    if (envelope.type === 'error') throw new ToolFailedError(name.replace('host_read_text', 'read'), output)
    return output
  }
}

function definedOf<Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]: Exclude<Fields[Name], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never
}
