import { type ParsedCommand, parseCommand } from '../feature/parse-command.js'
import { messageOf } from '../tool/errors.js'
import { nearestNames } from '../tool/nearest.js'
import { builtinCommands } from './builtins.js'
import type { CommandHandler, CommandInfo, CommandSession } from './command.js'
import { CommandError } from './errors.js'

/** The slash commands of a session. */
export interface Commands {
  /** Adds a command, or replaces an added one of the same name. Built-in commands cannot be replaced. */
  register(name: string, description: string, handler: CommandHandler, timeoutMs?: number): void
  /** Removes a command; returns whether it existed. */
  unregister(name: string): boolean
  /** Returns all commands, sorted by name. */
  list(): CommandInfo[]
  /**
   * Runs the command in the text. Returns undefined if the text is not a command; errors are returned as text. Never
   * rejects.
   */
  run(
    text: string,
    session: CommandSession,
    options?: { readonly signal?: AbortSignal },
  ): Promise<string | undefined>
}

/**
 * Creates the commands of a session, including the built-in ones.
 *
 * @example
 * const commands = createCommands()
 * commands.register('status', 'Say how it goes', (args, { sessionId }) => `${sessionId}: fine ${args}`)
 * await commands.run('/status today', session) // 's1: fine today'
 */
export function createCommands(): Commands {
  const added = new Map<string, Added>()
  const list = (): CommandInfo[] =>
    [...builtinCommands, ...added.values()]
      .map(({ name, description, usage }) => ({
        name,
        description,
        ...(usage === undefined ? {} : { usage }),
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
  return {
    register: (name, description, handler, timeoutMs = defaultTimeoutMs) => {
      added.set(name, readCommand(name, description, handler, timeoutMs))
    },
    unregister: (name) => added.delete(name),
    list,
    run: async (text, session, { signal } = {}) => {
      const command = parseCommand(text)
      if (command === undefined) return undefined
      const work = workFor(command, session, added, list)
      if (work === undefined) return unknownCommand(command.name, list())
      return settle(command.name, work, signal)
    },
  }
}

type Added = CommandInfo & { readonly handler: CommandHandler; readonly timeoutMs: number }
type Work = {
  run(signal: AbortSignal): unknown
  readonly timeoutMs?: number
}

const defaultTimeoutMs = 5_000
/** The maximum delay of a timer. */
const maxTimeoutMs = 2 ** 31 - 1

function readCommand(name: string, description: string, handler: CommandHandler, timeoutMs: number): Added {
  if (typeof name !== 'string' || parseCommand(`/${name}`)?.name !== name)
    throw new CommandError(
      `${JSON.stringify(name)} is not a name for a command: use up to 64 letters, digits, "_" and "-"`,
    )
  if (builtinCommands.some((one) => one.name === name))
    throw new CommandError(`/${name} is built in and cannot be replaced: use another name`)
  if (typeof description !== 'string') throw new CommandError(`The description of /${name} is not a string`)
  if (typeof handler !== 'function') throw new CommandError(`The handler of /${name} is not a function`)
  if (!(timeoutMs > 0) || timeoutMs > maxTimeoutMs)
    throw new CommandError(
      `The timeoutMs of /${name} is ${timeoutMs}: it must be above 0 and at most ${maxTimeoutMs}`,
    )
  return { name, description, handler, timeoutMs }
}

function workFor(
  { name, args }: ParsedCommand,
  session: CommandSession,
  added: ReadonlyMap<string, Added>,
  list: () => CommandInfo[],
): Work | undefined {
  const builtin = builtinCommands.find((one) => one.name === name)
  if (builtin !== undefined)
    return { run: (signal) => builtin.run({ args, session, signal, commands: list() }) }
  const own = added.get(name)
  if (own === undefined) return undefined
  return {
    run: (signal) => own.handler(args, session.context(), { signal }),
    timeoutMs: own.timeoutMs,
  }
}

function unknownCommand(name: string, known: readonly CommandInfo[]): string {
  const near = nearestNames(
    name,
    known.map((one) => one.name),
    1,
  )
  const hint = near.map((one) => `\nDid you mean /${one}?`).join('')
  return `Unknown command: /${name}\nType /help for available commands.${hint}`
}

/** Returns the text of a command, or of its error. */
async function settle(name: string, work: Work, signal: AbortSignal | undefined): Promise<string> {
  const own = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  let onAbort: () => void = () => undefined
  const left = new Promise<string>((resolve) => {
    onAbort = () => resolve(`command '${name}' was stopped: the run was aborted`)
    if (signal?.aborted) onAbort()
    signal?.addEventListener('abort', onAbort, { once: true })
    const { timeoutMs } = work
    if (timeoutMs === undefined) return
    timer = setTimeout(() => resolve(`command '${name}' timed out after ${timeoutMs}ms`), timeoutMs)
  })
  const run = async (): Promise<string> => {
    if (signal?.aborted) return left
    const result = await work.run(own.signal)
    return typeof result === 'string' ? result : `command '${name}' must return a string`
  }
  try {
    return await Promise.race([run(), left])
  } catch (error) {
    return `command '${name}' failed: ${messageOf(error)}`
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
    own.abort(ignoreRejection)
  }
}

/** Shared, because creating an exception is expensive. */
const ignoreRejection = new DOMException('the caller of this command no longer waits', 'AbortError')
