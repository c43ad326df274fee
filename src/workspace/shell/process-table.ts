import { existsSync } from 'node:fs'
import { linkIfReadable, namesIfReadable, textIfReadable } from '../if-readable.js'
import { listProcesses } from './process-list.js'
import { markOfProcess } from './process-mark.js'

/** Without `/proc`, only `ps` is available: it does not show the environment, marks and open files of a process. */
const hasProc = existsSync('/proc/self/stat')

export type ProcessEntry = {
  readonly pid: number
  readonly ppid: number
  readonly pgid: number
  /** `Z`: the first thread has ended, and others run. */
  readonly state: string
  /**
   * In clock ticks since boot, or without `/proc` in seconds. Together with the pid it identifies one process
   * permanently, although pids are reused.
   */
  readonly startTime: string
}

/** The processes at one moment, as the kernel lists them. Other information is read once, when it is needed. */
export class ProcessSnapshot {
  readonly entries: readonly ProcessEntry[]
  /**
   * The processes that were listed and had ended when they were read. One that ended in between can have forked a child
   * that is not listed; one that only waits for its parent to collect its exit code was there in the last snapshot too.
   */
  readonly ended: readonly number[]
  readonly #environments = new Map<number, string>()
  readonly #files = new Map<number, readonly string[]>()
  readonly #marks = new Map<number, number | undefined>()

  constructor(accept: (pid: number) => boolean = () => true) {
    if (!hasProc) {
      this.entries = listProcesses().filter(({ pid }) => accept(pid))
      this.ended = []
      return
    }
    const pids = namesIfReadable('/proc').map(Number)
    const listed = pids.filter((pid) => Number.isInteger(pid) && accept(pid))
    const read = listed.map((pid) => ({ pid, entry: readProcess(pid) }))
    this.entries = read.flatMap(({ entry }) => entry ?? [])
    this.ended = read.flatMap(({ pid, entry }) => (entry === undefined ? [pid] : []))
  }

  /** Whether a process can be missing here because its parent ended while the table was read. */
  isIncomplete(before: ProcessSnapshot | undefined): boolean {
    return this.ended.some((pid) => before?.ended.includes(pid) !== true)
  }

  /** Whether the environment at the start of the process contains the word. False for processes of other users. */
  carriesWord(entry: ProcessEntry, word: string): boolean {
    const { pid, ppid } = entry
    // The kernel's own threads have no environment.
    if (ppid === 2) return false
    let environment = this.#environments.get(pid)
    if (environment === undefined) {
      environment = placesOf(entry)
        .map((place) => textIfReadable(`${place}/environ`) ?? '')
        .join('')
      this.#environments.set(pid, environment)
    }
    return environment.includes(word)
  }

  /** Returns the mark of the process, see `process-mark.ts`. */
  markOf({ pid, ppid }: ProcessEntry): number | undefined {
    if (ppid === 2) return undefined
    if (!this.#marks.has(pid)) this.#marks.set(pid, markOfProcess(pid))
    return this.#marks.get(pid)
  }

  /** Whether the process has the named pipe open, also after the name was removed. */
  holdsPipe(entry: ProcessEntry, pipe: string): boolean {
    const { pid, ppid } = entry
    if (ppid === 2) return false
    let files = this.#files.get(pid)
    if (files === undefined) {
      files = placesOf(entry)
        .flatMap((place) => namesIfReadable(`${place}/fd`).map((fd) => `${place}/fd/${fd}`))
        .flatMap((file) => linkIfReadable(file) ?? [])
      this.#files.set(pid, files)
    }
    return files.includes(pipe) || files.includes(`${pipe} (deleted)`)
  }
}

/**
 * Returns the directories of `/proc` with the environment, the memory and the open files of a process. Once the first
 * thread has ended, only the others have these.
 */
export function placesOf({ pid, state }: Pick<ProcessEntry, 'pid' | 'state'>): readonly string[] {
  if (state !== 'Z') return [`/proc/${pid}`]
  return namesIfReadable(`/proc/${pid}/task`).map((thread) => `/proc/${pid}/task/${thread}`)
}

let next: Promise<ProcessSnapshot> | undefined
/** The earliest moment that the callers of the next snapshot passed; undefined when one passed none. */
let earliest: PidMoment | undefined

/**
 * Returns a snapshot taken after this call, with at least the processes that were started after a moment. All callers
 * in the same turn of the event loop share it: ending many runs needs one read of the process table.
 */
export function nextSnapshot(since: PidMoment | undefined): Promise<ProcessSnapshot> {
  earliest = next === undefined ? since : earlier(earliest, since)
  next ??= new Promise((resolve) => {
    setImmediate(() => {
      next = undefined
      resolve(snapshotSince(earliest))
    })
  })
  return next
}

/** Reads one running process; undefined when no process has the pid, or only a zombie. */
export function readProcess(pid: number): ProcessEntry | undefined {
  if (!hasProc) return pid > 0 ? listProcesses(pid)[0] : undefined
  const stat = textIfReadable(`/proc/${pid}/stat`)
  if (stat === undefined) return undefined
  // The process chooses the name in parentheses, which can be any text: fields are counted after the last `)`.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state = '', ppid, pgid] = fields
  const [threads, startTime] = [Number(fields[17]), fields[19]]
  // A process whose first thread has ended before the others looks like a zombie.
  const hasEnded = state === 'X' || (state === 'Z' && !(threads > 1))
  if (startTime === undefined || hasEnded) return undefined
  return { pid, ppid: Number(ppid), pgid: Number(pgid), state, startTime }
}

export function isAlive(entry: Pick<ProcessEntry, 'pid' | 'startTime'>): boolean {
  return readProcess(entry.pid)?.startTime === entry.startTime
}

/** The start of a process, in the order in which the kernel assigns pids. */
export type PidMoment = {
  readonly pid: number
  /** How many processes and threads had been started since boot, read before this process was started. */
  readonly started: number
}

/** Returns how many processes and threads were started since boot; undefined if the kernel does not report it. */
export function startedSinceBoot(): number | undefined {
  const found = /^processes (\d+)$/m.exec(textIfReadable('/proc/stat') ?? '')?.[1]
  return found === undefined ? undefined : Number(found)
}

/** Returns the moment of a process that was started after the count was read. */
export function momentOf(pid: number, started: number | undefined): PidMoment | undefined {
  return started === undefined || pid <= 0 ? undefined : { pid, started }
}

/** Returns the earlier of two moments; undefined when one is unknown. */
export function earlier(a: PidMoment | undefined, b: PidMoment | undefined): PidMoment | undefined {
  if (a === undefined || b === undefined) return undefined
  return a.started <= b.started ? a : b
}

/**
 * Returns a snapshot of a process and those that were started after it, which is fast; of all processes when pids can
 * have wrapped since.
 */
export function snapshotSince(moment: PidMoment | undefined): ProcessSnapshot {
  return moment === undefined || canHaveWrapped(moment)
    ? new ProcessSnapshot()
    : new ProcessSnapshot((pid) => pid >= moment.pid)
}

/** Pids are assigned in ascending order, without those in use: each start and each process advances the next by one. */
function canHaveWrapped(moment: PidMoment): boolean {
  const started = startedSinceBoot()
  const threads = /\/(\d+) \d+\s*$/.exec(textIfReadable('/proc/loadavg') ?? '')?.[1]
  const maxPid = Number(textIfReadable('/proc/sys/kernel/pid_max') ?? 0)
  // A count that does not rise although a process was started is not valid.
  if (started === undefined || threads === undefined || started <= moment.started) return true
  return moment.pid + (started - moment.started) + Number(threads) + spare >= maxPid
}

/** A margin for processes that are started while these numbers are read. */
const spare = 100

/** Returns the scope in which pids and start times are valid: this boot and this pid namespace. */
export function processScope(): string {
  const boot = textIfReadable('/proc/sys/kernel/random/boot_id')?.trim() ?? 'unknown'
  return `${boot}/${linkIfReadable('/proc/self/ns/pid') ?? 'unknown'}`
}
