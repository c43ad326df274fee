import { randomBytes } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { mkdtemp, rm, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { RuntimeShell, ShellJob, ShellOptions, ShellOutcome } from '../../tool/runtime.js'
import { gitWorkOf } from '../git/git-work.js'
import { refuseNested } from '../git/refuse-nested.js'
import { holdLimits, type LimitHold, type LimitWatch } from '../limits/hold-limits.js'
import { guardedTasks } from '../limits/open-group.js'
import type { ResourceLimits } from '../limits/resource-limits.js'
import type { SandboxMode, SandboxOptions } from '../sandbox/choose.js'
import { CapturedOutput, neverStarted } from './captured-output.js'
import { type CallConfinement, type ConfinedLaunch, noRefusals, type SandboxRefusals } from './confinement.js'
import { ShellClosedError } from './errors.js'
import { shellArgv } from './guarded-git.js'
import { Jobs } from './jobs.js'
import { type Exit, launch, type Running } from './launch.js'
import { openPiped } from './piped-process.js'
import type { PipedProcess } from './piped-streams.js'
import { earlier, type PidMoment, type ProcessEntry, readProcess } from './process-table.js'
import { runCommand } from './run-command.js'
import { markerValue, markerVariable, newToken } from './run-marker.js'
import { type EndOptions, endRun } from './run-trace.js'
import { openShellWorkspace, type ShellWorkspace } from './shell-workspace.js'
import { directoryAt, directoryInside } from './working-directory.js'

/** Options of {@link createLocalShell}. */
export type LocalShellOptions = {
  /** The workspace: commands run there and, in a sandbox, can write only there. */
  readonly root: string
  /** Further directories of the workspace: writable and protected like `root`, and usable as working directories. */
  readonly roots?: readonly string[] | undefined
  /** The directory in which this host records its processes; the same for every session of the host. */
  readonly ledgerDir: string
  readonly sandbox: SandboxMode
  readonly sandboxOptions?: SandboxOptions | undefined
  /** Variables passed to commands, in addition to a fixed list of harmless ones. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** The search path for programs. Default: a fixed list. */
  readonly path?: string | undefined
  /** All limits of each command. Default: `defaultLimits`. */
  readonly limits?: ResourceLimits | undefined
  /** `false`: limits are not enforced by control groups but measured, as on a machine without them. */
  readonly controlGroups?: boolean | undefined
  /** With the sandbox `off`: programs have the environment of the user, and `open` accepts any working directory. */
  readonly asUser?: boolean | undefined
  /**
   * Creates a new private file for a long output and returns its path. Default: a file that is removed with the shell.
   */
  readonly scratchFile?: ((label: string) => Promise<string>) | undefined
  /** Called once when there is no sandbox although one was requested. */
  readonly onNotice?: ((text: string) => void) | undefined
  readonly now?: (() => number) | undefined
  readonly graceMs?: number | undefined
}

/** Options of one command, with the confinement of its call. */
export type ConfinedShellOptions = ShellOptions & { readonly confine?: CallConfinement | undefined }

/** Runs the commands of a workspace, wherever it is. */
export interface WorkspaceShell extends RuntimeShell {
  run(command: string, options?: ConfinedShellOptions): Promise<ShellOutcome>
  start(command: string, options?: Pick<ConfinedShellOptions, 'cwd' | 'confine'>): Promise<ShellJob>
  /** Ends every command and job, and removes the files of the shell. */
  close(): Promise<void>
}

/** Runs commands on this machine, in a sandbox if there is one. */
export interface LocalShell extends WorkspaceShell {
  /** Whether no command was run, so that nothing has to be closed. */
  readonly isUnused: boolean
  /** Starts a program without a shell; the caller communicates with it over its streams until it ends. */
  open(
    argv: readonly string[],
    options?: Pick<ConfinedShellOptions, 'cwd' | 'confine'>,
  ): Promise<PipedProcess>
}

const memoryBytes = 256 * 1024
const fileBytes = 512 * 1024 * 1024
const killMs = 2000

/**
 * Creates a shell that runs commands on this machine, each in a new `/bin/bash` that reads no start-up file.
 *
 * ```ts
 * const ledgerDir = '/home/me/.capstan/processes'
 * const shell = createLocalShell({ root: '/srv/project', ledgerDir, sandbox: 'required' })
 * const { exitCode, output } = await shell.run('npm test', { timeoutMs: 60_000 })
 * await shell.close()
 * ```
 */
export function createLocalShell(options: LocalShellOptions): LocalShell {
  const { graceMs = 1000, now = Date.now } = options
  const closing = new AbortController()
  // Every running command adds a listener, so their number is not limited.
  setMaxListeners(0, closing.signal)
  const jobs = new Jobs({ now, graceMs, killMs })
  const active = new Set<Promise<unknown>>()
  const piped = new Set<PipedProcess>()
  const marks = new Set<number>()
  /** The start of the first process that has a mark; `since` is absent if that is unknown. */
  let firstMarked: { readonly since: PidMoment | undefined } | undefined
  let opening: Promise<ShellWorkspace> | undefined
  let closed: Promise<void> | undefined

  /** Opened by the first command, so that a session that never runs one has no cost. */
  function ground(): Promise<ShellWorkspace> {
    if (closing.signal.aborted) throw new ShellClosedError()
    opening ??= openShellWorkspace(options).catch((error: unknown) => {
      // The cause may be fixed later (the sandbox gets installed): the next command tries again.
      opening = undefined
      throw error
    })
    return opening
  }

  /** Returns a mark for the processes of a command that no pid namespace contains. */
  function markFor({ confinement, ledger }: ShellWorkspace): number | undefined {
    const mark = confinement.namespaces ? undefined : ledger.nextMark()
    if (mark !== undefined) marks.add(mark)
    return mark
  }

  function noteStart(since: PidMoment | undefined): void {
    firstMarked = { since: firstMarked === undefined ? since : earlier(firstMarked.since, since) }
  }

  function track<T>(work: Promise<T>): Promise<T> {
    active.add(work)
    const forget = (): void => void active.delete(work)
    work.then(forget, forget)
    return work
  }

  async function run(command: string, request: ConfinedShellOptions): Promise<ShellOutcome> {
    const signals = request.signal === undefined ? [closing.signal] : [request.signal, closing.signal]
    const base = await ground()
    const begun = await begin(base, command, { ...request, mayChangeGit: true }, signals)
    if (begun === undefined) return neverStarted(base.confinement.name)
    const { running, launched, limits, cleanUp } = begun
    const { output } = running
    const end = await runCommand(running, { timeoutMs: request.timeoutMs, signals, graceMs, killMs, limits })
    const text = output.text()
    let refused: SandboxRefusals = noRefusals
    let leftover: string | undefined
    if (end.left.length > 0) {
      // Their groups are recorded too: the watcher cannot find processes outside the command's group without a marker.
      const groups = groupsOf(end.left)
      for (const leader of groups) base.ledger.addGroup(leader)
      const finish = async (): Promise<void> => {
        for (const { pid } of groups) base.ledger.dropGroup(pid)
        await cleanUp(end, '')
      }
      leftover = jobs.add(command, running, { finish, limits, left: end.left }).id
    } else {
      refused = await cleanUp(end, text)
      await output.close()
    }
    return {
      exitCode: end.exitCode,
      ...(end.signal === undefined ? {} : { signal: end.signal }),
      output: text,
      outputBytes: output.bytes,
      truncated: output.truncated,
      ...(output.path === undefined ? {} : { outputPath: output.path }),
      timedOut: end.timedOut,
      aborted: end.aborted,
      durationMs: end.durationMs,
      sandbox: launched.name,
      blocked: refused.messages,
      ...(refused.network && { networkRefused: true }),
      ...(end.limit === undefined ? {} : { limit: end.limit }),
      ...(leftover === undefined ? {} : { leftover }),
    }
  }

  async function start(command: string, request: StartOptions): Promise<ShellJob> {
    const base = await ground()
    const { cwd, confine } = request
    const begun = await begin(base, command, { cwd, confine }, [closing.signal])
    if (begun === undefined) throw new ShellClosedError()
    const finish = async (exit: Exit): Promise<void> => void (await begun.cleanUp(exit, ''))
    return jobs.add(command, begun.running, { finish, limits: begun.limits })
  }

  async function open(argv: readonly string[], request: StartOptions): Promise<PipedProcess> {
    const base = await ground()
    const cwd =
      options.asUser === true
        ? await directoryAt(base.roots[0], request.cwd)
        : await directoryInside(base.roots, request.cwd)
    const token = newToken()
    const mark = markFor(base)
    const home = await mkdtemp(join(base.directory, 'home-'))
    let launched: ConfinedLaunch | undefined
    let hold: LimitHold | undefined
    try {
      launched = await base.confinement.confine({
        argv,
        cwd,
        home,
        tmp: base.tmp,
        marker: markerValue(base.ledger.token, token, process.env[markerVariable]),
        mark,
        maxTasks: await guardedTasks(base.limits, options.controlGroups),
        streams: 'apart',
        call: request.confine,
      })
      if (closing.signal.aborted) throw new ShellClosedError()
      const plan = launched
      const held = await limitsFor(base, home)
      hold = held
      const started = await openPiped(
        base.ledger,
        held.wrap(plan),
        { token, mark },
        {
          sandbox: base.confinement.name,
          graceMs,
          killMs,
          watch(trace) {
            noteStart(trace.since)
            return held.watch(trace)
          },
          async gone() {
            piped.delete(started)
            await held.release()
            await plan.finish({ exitCode: null, output: '' })
            await removeHome(home)
          },
        },
      )
      piped.add(started)
      return started
    } catch (error) {
      noteStart(undefined)
      await hold?.release()
      await launched?.finish({ exitCode: null, output: '' })
      await removeHome(home)
      throw error
    }
  }

  async function begin(
    base: ShellWorkspace,
    command: string,
    request: ConfinedShellOptions & { readonly mayChangeGit?: boolean },
    signals: readonly AbortSignal[],
  ): Promise<Begun | undefined> {
    const isAborted = (): boolean => signals.some((signal) => signal.aborted)
    const cwd = await directoryInside(base.roots, request.cwd)
    if (isAborted()) return undefined
    // Without mounts, nothing else hides the configuration of nested repositories from git.
    if (request.guardGit === true && !base.confinement.namespaces) await refuseNested(command, cwd)
    const token = newToken()
    const mark = markFor(base)
    const home = await mkdtemp(join(base.directory, 'home-'))
    let launched: ConfinedLaunch | undefined
    let hold: LimitHold | undefined
    const cleanUp = async (exit: Exit, text: string): Promise<SandboxRefusals> => {
      await hold?.release()
      const refused = (await launched?.finish({ exitCode: exit.exitCode, output: text })) ?? noRefusals
      await removeHome(home)
      return refused
    }
    try {
      launched = await base.confinement.confine({
        argv: shellArgv(command, request.guardGit),
        cwd,
        home,
        tmp: base.tmp,
        marker: markerValue(base.ledger.token, token, process.env[markerVariable]),
        mark,
        maxTasks: await guardedTasks(base.limits, options.controlGroups),
        guardGit: request.guardGit === true,
        // Never in the background: a git directory is writable only for a command that is awaited.
        call: {
          ...request.confine,
          git: request.mayChangeGit === true ? gitWorkOf(command, cwd) : undefined,
        },
      })
      const output = new CapturedOutput({
        maxBytes: request.maxBytes ?? memoryBytes,
        maxFileBytes: fileBytes,
        newFile: () => options.scratchFile?.('command output') ?? privateFile(base.directory),
        onText: request.onOutput,
      })
      hold = await limitsFor(base, home)
      const running = await launch(base.ledger, hold.wrap(launched), { token, mark }, output, isAborted)
      if (running === undefined) {
        await cleanUp({ exitCode: null }, '')
        return undefined
      }
      const dropAndCleanUp: Begun['cleanUp'] = (exit, text) => {
        base.ledger.dropGroup(running.trace.leader.pid)
        return cleanUp(exit, text)
      }
      noteStart(running.trace.since)
      const limits = hold.watch(running.trace)
      return { running, launched: { name: base.confinement.name }, limits, cleanUp: dropAndCleanUp }
    } catch (error) {
      noteStart(undefined)
      await cleanUp({ exitCode: null }, '')
      throw error
    }
  }

  function limitsFor({ limits, roots, tmp }: ShellWorkspace, home: string): Promise<LimitHold> {
    const { writable = [], scratch } = options.sandboxOptions ?? {}
    return holdLimits({
      limits,
      writable: [...roots, ...writable, scratch?.(), tmp, home].filter((path) => path !== undefined),
      controlGroups: options.controlGroups,
    })
  }

  async function close(): Promise<void> {
    closing.abort()
    await Promise.allSettled(active)
    try {
      await Promise.all([jobs.close(), ...Array.from(piped, (one) => one.end())])
    } finally {
      const base = await opening?.catch(() => undefined)
      await endMarked(marks, firstMarked?.since, { graceMs: 0, killMs })
      await base?.close()
    }
  }

  return {
    run: async (command, request = {}) => {
      if (request.signal?.aborted === true) return neverStarted('none')
      return track(run(command, request))
    },
    start: async (command, request = {}) => track(start(command, request)),
    open: async (argv, request = {}) => track(open(argv, request)),
    jobs: () => jobs.list(),
    readJob: async (id, from) => jobs.read(id, from),
    killJob: async (id) => jobs.kill(id),
    get isUnused() {
      return opening === undefined && active.size === 0
    },
    close: () => {
      closed ??= close()
      return closed
    },
  }
}

type StartOptions = Pick<ConfinedShellOptions, 'cwd' | 'confine'>

type Begun = {
  readonly running: Running
  readonly launched: { readonly name: string }
  readonly limits: LimitWatch
  readonly cleanUp: (exit: Exit, output: string) => Promise<SandboxRefusals>
}

/** Ends processes that left their command between two reads of the process table. */
async function endMarked(
  marks: ReadonlySet<number>,
  since: PidMoment | undefined,
  limits: EndOptions,
): Promise<void> {
  if (marks.size === 0) return
  // Processes that started before this one do not have its mark.
  const { startTime = '' } = readProcess(process.pid) ?? {}
  await endRun({ marks, leader: { pid: -1, startTime }, since, contained: false }, limits)
}

function groupsOf(entries: readonly ProcessEntry[]): Pick<ProcessEntry, 'pid' | 'startTime'>[] {
  const groups = new Map<number, string>()
  for (const { pid, pgid, startTime } of entries) {
    // A group whose leader has ended has no start time to compare, and needs none: its number is not reused while it
    // exists.
    if (pid === pgid || !groups.has(pgid)) groups.set(pgid, pid === pgid ? startTime : '0')
  }
  return Array.from(groups, ([pid, startTime]) => ({ pid, startTime }))
}

/** The home is new for each command: no `.gitconfig` or start-up file of one command affects the next one (SEC-114). */
async function removeHome(home: string): Promise<void> {
  await rmdir(home).catch(() => rm(home, { recursive: true, force: true }))
}

async function privateFile(directory: string): Promise<string> {
  const path = join(directory, `output-${randomBytes(9).toString('base64url')}.txt`)
  await writeFile(path, '', { flag: 'wx', mode: 0o600 })
  return path
}
