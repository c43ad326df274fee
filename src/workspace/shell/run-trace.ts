import { setTimeout as delay } from 'node:timers/promises'
import { hostOfMark } from './process-mark.js'
import {
  isAlive,
  nextSnapshot,
  type PidMoment,
  type ProcessEntry,
  type ProcessSnapshot,
  readProcess,
  snapshotSince,
} from './process-table.js'

/** What is known about a run's processes: enough to find all of them in the process table, even detached ones. */
export type RunTrace = {
  /**
   * A word in the environment of every process of the run: finds those that left the group (`setsid`, double fork).
   * Absent: the environment is not read.
   */
  readonly token?: string | undefined
  /** The process that was started, which leads the group. */
  readonly leader: Pick<ProcessEntry, 'pid' | 'startTime'>
  /** A value in a resource limit of every process of the run: finds those that also cleared their environment. */
  readonly mark?: number | undefined
  /** The marks of several runs. */
  readonly marks?: ReadonlySet<number> | undefined
  /** The part of the mark that all runs of a host share. */
  readonly hostMark?: number | undefined
  /** The named pipe of the run's output: finds processes that have neither the token nor the mark. */
  readonly pipe?: string | undefined
  /** Processes that were found earlier and could not be found again in any other way. */
  readonly known?: readonly ProcessEntry[] | undefined
  /** The start of the first process: only it and later ones need to be read. */
  readonly since?: PidMoment | undefined
  /** Whether the end of the leader ends the other processes; then the leader must not get SIGTERM. */
  readonly contained: boolean
}

export type EndOptions = { readonly graceMs: number; readonly killMs: number }

/**
 * Ends every process of the run: TERM, and after the grace period KILL, repeatedly until the process table contains
 * none (a process may fork while the table is read). Returns the processes that could not be killed: none, unless the
 * kernel does not release one.
 */
export async function endRun(trace: RunTrace, options: EndOptions): Promise<ProcessEntry[]> {
  const { graceMs, killMs } = options
  const first = await lookFor(trace, { pipeHeld: !trace.contained })
  const followed = { ...trace, known: first }
  let members = first
  const polite = trace.contained ? members.filter((entry) => entry.pid !== trace.leader.pid) : members
  if (graceMs > 0 && polite.length > 0) {
    signal(trace, polite, 'SIGTERM')
    await whileAlive(members, graceMs)
    members = await lookFor(followed)
  }
  const deadline = performance.now() + killMs
  while (members.length > 0) {
    signal(trace, members, 'SIGKILL')
    const left = deadline - performance.now()
    if (left <= 0) break
    await whileAlive(members, left)
    members = await lookFor(followed)
  }
  return members
}

async function lookFor(trace: RunTrace, options: FindOptions = {}): Promise<ProcessEntry[]> {
  let empty = 0
  let before: ProcessSnapshot | undefined
  for (let look = 1; ; look++) {
    const snapshot = await nextSnapshot(trace.since)
    const members = findMembers(trace, options, snapshot)
    empty = snapshot.isIncomplete(before) ? 0 : empty + 1
    if (members.length > 0 || empty === emptyLooks || look === maxLooks) return members
    before = snapshot
    await delay(5)
  }
}

/** A process that forks and ends while the table is read hides its child: an empty result is then read again. */
const maxLooks = 6
/** The table is not read in one moment, so a single empty result proves nothing. */
const emptyLooks = 2

/** Finds the processes that a command has left running, synchronously. */
export function findLeftovers(trace: RunTrace, options: FindOptions): ProcessEntry[] {
  return lookAgain(trace, options).members
}

/**
 * Finds the processes of a run that are still running, synchronously. Undefined when none was found but processes ended
 * during every look: one of them can have handed over to a child that was not listed yet.
 */
export function findRemaining(trace: RunTrace, take?: () => ProcessSnapshot): ProcessEntry[] | undefined {
  const { members, isCertain } = lookAgain(trace, {}, take)
  return members.length > 0 || isCertain ? members : undefined
}

function lookAgain(
  trace: RunTrace,
  options: FindOptions,
  take: () => ProcessSnapshot = () => snapshotSince(trace.since),
): { members: ProcessEntry[]; isCertain: boolean } {
  let before: ProcessSnapshot | undefined
  for (let look = 1; ; look++) {
    const snapshot = take()
    const members = findMembers(trace, options, snapshot)
    const isCertain = !snapshot.isIncomplete(before)
    if (members.length > 0 || isCertain || look === maxLooks) return { members, isCertain }
    before = snapshot
  }
}

/**
 * Returns the running processes of a run: those in its group, those that have its token or its mark, those that have
 * its pipe open (checked only when `pipeHeld` is set), and all their descendants.
 */
export function findMembers(
  trace: RunTrace,
  options: FindOptions = {},
  snapshot = snapshotSince(trace.since),
): ProcessEntry[] {
  const { entries } = snapshot
  const leader = readProcess(trace.leader.pid)
  // A pid is not reused while a group of that number exists: another process with the pid means the group has ended.
  const groupIsOurs = leader === undefined || leader.startTime === trace.leader.startTime
  const known = new Map(trace.known?.map((entry) => [entry.pid, entry.startTime]))
  // 0 if the leader had ended before it could be read.
  const leaderStart = Number(trace.leader.startTime)
  const members = new Map<number, ProcessEntry>()
  for (const entry of entries) {
    if (entry.pid === process.pid) continue
    if (
      (groupIsOurs && entry.pgid === trace.leader.pid) ||
      known.get(entry.pid) === entry.startTime ||
      // Processes that started before the leader inherited nothing from it: their environment and limits are not read.
      (Number(entry.startTime) >= leaderStart &&
        ((trace.token !== undefined && snapshot.carriesWord(entry, trace.token)) ||
          isMarked(trace, () => snapshot.markOf(entry)))) ||
      (options.pipeHeld === true && trace.pipe !== undefined && snapshot.holdsPipe(entry, trace.pipe))
    ) {
      members.set(entry.pid, entry)
    }
  }
  addDescendants(members, entries)
  return [...members.values()]
}

function isMarked({ mark, marks, hostMark }: RunTrace, read: () => number | undefined): boolean {
  if (mark === undefined && marks === undefined && hostMark === undefined) return false
  const found = read()
  if (found === undefined) return false
  return found === mark || marks?.has(found) === true || hostOfMark(found) === hostMark
}

export type FindOptions = {
  /** Whether a process still has the output pipe open and has to be found. */
  readonly pipeHeld?: boolean | undefined
}

function addDescendants(members: Map<number, ProcessEntry>, entries: readonly ProcessEntry[]): void {
  for (let grew = true; grew; ) {
    grew = false
    for (const entry of entries) {
      if (members.has(entry.pid) || !members.has(entry.ppid)) continue
      members.set(entry.pid, entry)
      grew = true
    }
  }
}

function signal(trace: RunTrace, members: readonly ProcessEntry[], name: 'SIGTERM' | 'SIGKILL'): void {
  // The group is signalled at once, so that no member can fork a replacement in between; then those outside it.
  const spared = trace.contained && name === 'SIGTERM'
  if (!spared && members.some((entry) => entry.pgid === trace.leader.pid)) send(-trace.leader.pid, name)
  for (const entry of members) {
    // The process may have left the group since it was found, and then the signal to the group has missed it.
    const now = readProcess(entry.pid)
    if (now?.startTime === entry.startTime && (spared || now.pgid !== trace.leader.pid)) send(entry.pid, name)
  }
}

function send(pid: number, name: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, name)
  } catch (error) {
    // A process that has ended in the meantime is fine; one that cannot be signalled is reported as left over.
    if (!(error instanceof Error && 'code' in error && (error.code === 'ESRCH' || error.code === 'EPERM')))
      throw error
  }
}

async function whileAlive(members: readonly ProcessEntry[], limitMs: number): Promise<void> {
  const deadline = performance.now() + limitMs
  for (let pause = 1; members.some(isAlive); pause = Math.min(pause * 2, 40)) {
    const left = deadline - performance.now()
    if (left <= 0) return
    await delay(Math.min(pause, left))
  }
}
