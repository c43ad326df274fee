import { setMaxListeners } from 'node:events'
import { messageOf } from '../../tool/errors.js'
import type { ShellJob, ShellOptions, ShellOutcome } from '../../tool/runtime.js'
import { looksIntoNested, nestedRefused } from '../git/refuse-nested.js'
import type { SandboxMode } from '../sandbox/choose.js'
import { CapturedOutput, neverStarted, wholeCharacters } from '../shell/captured-output.js'
import { checkedVariables, quietVariables } from '../shell/child-env.js'
import { ShellClosedError, ShellDirectoryError, ShellJobError } from '../shell/errors.js'
import { shellArgv } from '../shell/guarded-git.js'
import type { WorkspaceShell } from '../shell/local-shell.js'
import type { BackendProcess, WorkspaceCommands } from './backend.js'
import { WorkspaceBackendError } from './errors.js'

export type BackendShellOptions = {
  readonly root: string
  /** Returns the real path of a directory of the workspace; throws for one outside. */
  readonly resolve: (path: string) => Promise<string>
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly sandbox: SandboxMode
  /** Creates a private file for a long output and returns its path. */
  readonly scratchFile: (label: string) => Promise<string>
  readonly onNotice?: ((text: string) => void) | undefined
  readonly now?: (() => number) | undefined
}

const memoryBytes = 256 * 1024
const fileBytes = 512 * 1024 * 1024
const readBytes = 64 * 1024
const maxEndedJobs = 64

/**
 * Runs commands on a backend, with deadline, abort, output limits and background jobs. When a command ends, all its
 * processes are ended too. Without `commands`, every command is refused.
 */
export function createBackendShell(
  kind: string,
  commands: WorkspaceCommands | undefined,
  options: BackendShellOptions,
): WorkspaceShell {
  const now = options.now ?? Date.now
  const env = { ...quietVariables, ...checkedVariables(options.env ?? {}) }
  const closing = new AbortController()
  setMaxListeners(0, closing.signal)
  const active = new Set<Promise<unknown>>()
  const jobs = new Map<string, Job>()
  let jobCount = 0
  let noticed = false

  /** Throws when the backend has no commands, or when they are not confined as the session requires. */
  function usable(): WorkspaceCommands {
    if (closing.signal.aborted) throw new ShellClosedError()
    if (commands === undefined)
      throw new WorkspaceBackendError(
        'commands_unavailable',
        `This workspace (${kind}) runs no commands. Work with the file tools: read, write, edit, patch, ls, glob, grep.`,
      )
    if (commands.sandbox !== 'none') return commands
    if (options.sandbox !== 'auto' && options.sandbox !== 'off')
      throw new WorkspaceBackendError(
        'commands_unavailable',
        `The command was not run: the session requires a sandbox, and nothing confines the commands of this workspace (${kind}). Use a backend that does, or set sandbox to auto or off.`,
      )
    if (options.sandbox === 'auto' && !noticed) {
      noticed = true
      options.onNotice?.(
        `Commands run without a sandbox, with all permissions of the account that the workspace (${kind}) uses.`,
      )
    }
    return commands
  }

  async function begin(
    command: string,
    { cwd = '.', guardGit, maxBytes = memoryBytes, onOutput }: ShellOptions,
  ): Promise<Running> {
    const runner = usable()
    const directory = await options.resolve(cwd).catch((error: unknown) => {
      throw new ShellDirectoryError(
        `The working directory ${JSON.stringify(cwd)} is not in the workspace. ${messageOf(error)}`,
      )
    })
    if (guardGit === true && runner.sandbox === 'none') await refuseNested(runner, command, directory, env)
    const process = await runner.start({
      argv: shellArgv(command, guardGit),
      cwd: directory,
      // No private home, as commands on this machine get: it would lack the setup of the backend's account.
      env,
    })
    const output = new CapturedOutput({
      maxBytes,
      maxFileBytes: fileBytes,
      newFile: () => options.scratchFile('command output'),
      onText: onOutput,
    })
    const read = collect(process, output)
    // The error is handled where the command is awaited; a rejection before that must not end this process.
    process.exit.catch(() => undefined)
    read.catch(() => undefined)
    return { process, output, read, startedAtMs: now() }
  }

  async function run(command: string, request: ShellOptions): Promise<ShellOutcome> {
    const signals = [closing.signal, ...(request.signal === undefined ? [] : [request.signal])]
    const runner = usable()
    if (signals.some(({ aborted }) => aborted)) return neverStarted(runner.sandbox)
    const running = await begin(command, request)
    const { process, output } = running
    let stopped: 'timeout' | 'abort' | undefined
    let ending: Promise<void> | undefined
    const stop = (why: 'timeout' | 'abort'): void => {
      stopped ??= why
      ending ??= process.end()
      // Awaited below.
      ending.catch(() => undefined)
    }
    const onAbort = (): void => stop('abort')
    const { timeoutMs } = request
    const timer =
      timeoutMs === undefined
        ? undefined
        : setTimeout(() => stop('timeout'), Math.min(timeoutMs, 2 ** 31 - 1))
    for (const signal of signals) signal.addEventListener('abort', onAbort, { once: true })
    if (signals.some(({ aborted }) => aborted)) onAbort()
    try {
      const exit = await process.exit.catch((error: unknown): ExitOf => {
        if (stopped === undefined) throw error
        return { exitCode: null }
      })
      await ending
      await running.read
      return {
        exitCode: stopped === undefined ? exit.exitCode : null,
        ...(exit.signal === undefined ? {} : { signal: exit.signal }),
        output: output.text(),
        outputBytes: output.bytes,
        truncated: output.truncated,
        ...(output.path === undefined ? {} : { outputPath: output.path }),
        timedOut: stopped === 'timeout',
        aborted: stopped === 'abort',
        durationMs: now() - running.startedAtMs,
        sandbox: runner.sandbox,
        blocked: [],
      }
    } finally {
      clearTimeout(timer)
      for (const signal of signals) signal.removeEventListener('abort', onAbort)
      await output.close()
    }
  }

  async function start(command: string, request: Pick<ShellOptions, 'cwd'>): Promise<ShellJob> {
    const running = await begin(command, request)
    jobCount += 1
    const job: Job = { ...running, id: `job-${jobCount}`, command, exitCode: null, isOver: false }
    jobs.set(job.id, job)
    const over = (exitCode: number | null): void => {
      job.exitCode = exitCode
      job.isOver = true
      forgetOldest()
    }
    running.process.exit
      .then(async ({ exitCode }) => {
        await running.read
        over(exitCode)
      })
      .catch(() => over(null))
    if (closing.signal.aborted) await running.process.end()
    return describe(job)
  }

  function forgetOldest(): void {
    const ended = [...jobs.values()].filter(({ isOver }) => isOver)
    for (const job of ended.slice(0, Math.max(0, ended.length - maxEndedJobs))) {
      jobs.delete(job.id)
      void job.output.close()
    }
  }

  function jobOf(id: string): Job {
    const job = jobs.get(id)
    if (job === undefined) throw new ShellJobError(id, [...jobs.keys()])
    return job
  }

  function track<T>(work: Promise<T>): Promise<T> {
    active.add(work)
    const forget = (): void => void active.delete(work)
    work.then(forget, forget)
    return work
  }

  return {
    run: async (command, request = {}) => track(run(command, request)),
    start: async (command, request = {}) => track(start(command, request)),
    jobs: () => [...jobs.values()].map(describe),
    readJob: async (id, from = 0) => {
      const job = jobOf(id)
      const { bytes, from: begun } = await job.output.read(from, readBytes)
      const complete = wholeCharacters(bytes)
      const taken = job.isOver || complete.length === 0 ? bytes : complete
      const skipped = begun > from ? `[… bytes ${from} to ${begun} are no longer kept …]\n` : ''
      const text = skipped + new TextDecoder().decode(taken)
      return { text, next: begun + taken.length, job: describe(job) }
    },
    killJob: async (id) => {
      const job = jobOf(id)
      await job.process.end()
      await job.process.exit.catch(() => undefined)
      await job.read.catch(() => undefined)
      job.isOver = true
      return describe(job)
    },
    close: async () => {
      closing.abort()
      await Promise.allSettled(active)
      await Promise.allSettled(Array.from(jobs.values(), ({ process }) => process.end()))
      await Promise.allSettled(Array.from(jobs.values(), ({ read }) => read))
      await Promise.allSettled(Array.from(jobs.values(), ({ output }) => output.close()))
      jobs.clear()
    },
  }
}

type ExitOf = Awaited<BackendProcess['exit']>

type Running = {
  readonly process: BackendProcess
  readonly output: CapturedOutput
  /** Resolves when all output has been read. */
  readonly read: Promise<void>
  readonly startedAtMs: number
}

type Job = Running & {
  readonly id: string
  readonly command: string
  exitCode: number | null
  isOver: boolean
}

/**
 * Throws for a git command that reads nested repositories, if there are any: without a sandbox, nothing stops git from
 * starting the programs that their configuration names, and that configuration cannot be examined from here.
 */
async function refuseNested(
  commands: WorkspaceCommands,
  command: string,
  cwd: string,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  if (!looksIntoNested(command)) return
  const argv = ['find', '.', '-mindepth', '2', '-name', '.git', '-print', '-quit'] as const
  const process = await commands.start({ argv, cwd, env })
  let found = ''
  for await (const chunk of process.output) found += new TextDecoder().decode(chunk).slice(0, 1000)
  const { exitCode } = await process.exit
  if (exitCode === 0 && found === '') return
  throw nestedRefused(found === '' ? 'the workspace could not be searched' : `there is ${found.trim()}`)
}

async function collect({ output }: BackendProcess, captured: CapturedOutput): Promise<void> {
  try {
    for await (const chunk of output) await captured.append(Buffer.from(chunk))
  } finally {
    await captured.end()
  }
}

function describe({ id, command, isOver, exitCode, startedAtMs }: Job): ShellJob {
  return { id, command, running: !isOver, exitCode, startedAtMs }
}
