import { appendFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'
import { groupLine, headerLine, markLine, type Stub, stubLine } from './ledger-file.js'
import { NamedPipes } from './named-pipes.js'
import { type ParentWatch, startParentWatch } from './parent-watch.js'
import { markOf, newHostMark } from './process-mark.js'
import type { ProcessEntry } from './process-table.js'
import { newToken } from './run-marker.js'
import { sweepLedgers } from './sweep.js'

/**
 * A file that records what this host currently has on the machine: the process groups it started and the placeholders
 * it created. If the host is killed, its watcher cleans up with this file; if the watcher is killed too, the next host
 * that opens the same directory does.
 */
export class Ledger {
  readonly token = newToken()
  readonly directory: string
  /** For the commands of all shells of this host. */
  readonly pipes: NamedPipes
  readonly #file: string
  readonly #mark = newHostMark()
  #commands = 0
  readonly #groups = new Map<number, string>()
  readonly #stubs = new Map<string, Stub['kind']>()
  #lines = 0
  #watch: ParentWatch | undefined

  /** Without a watcher, only `close` and the next host that opens the directory clean up. */
  constructor(directory: string, { isWatched = true } = {}) {
    this.directory = directory
    this.#file = join(directory, `${this.token}.ledger`)
    // The file is written before anything that it must record: a sweep finds the rest through it.
    this.#rewrite()
    mkdirSync(this.privateDirectory, { mode: 0o700 })
    this.pipes = new NamedPipes(this.privateDirectory)
    if (!isWatched) return
    this.#watch = startParentWatch({
      file: this.#file,
      token: this.token,
      privateDirectory: this.privateDirectory,
      mark: this.#mark,
    })
  }

  /** The directory for files that must not outlive the host. */
  get privateDirectory(): string {
    return join(this.directory, `${this.token}.d`)
  }

  /** Returns a mark for the processes of one command; undefined where processes cannot be marked. */
  nextMark(): number | undefined {
    return this.#mark === undefined ? undefined : markOf(this.#mark, ++this.#commands)
  }

  addGroup(leader: Pick<ProcessEntry, 'pid' | 'startTime'>): void {
    this.#groups.set(leader.pid, leader.startTime)
    this.#append(groupLine(leader.pid, leader.startTime))
  }

  /** Returns the processes that lead the running groups. */
  leaders(): number[] {
    return [...this.#groups.keys()]
  }

  /** The line can stay in the file: its process is recognised as ended by the start time. */
  dropGroup(pid: number): void {
    this.#groups.delete(pid)
    if (this.#lines > 1000 || (this.#lines > 100 && this.#groups.size === 0)) this.#rewrite()
  }

  addStubs(stubs: readonly Stub[]): void {
    for (const { path, kind } of stubs) this.#stubs.set(path, kind)
    if (stubs.length > 0) this.#append(stubs.map(({ path, kind }) => stubLine(path, kind)).join(''))
  }

  dropStubs(stubs: readonly Stub[]): void {
    for (const { path } of stubs) this.#stubs.delete(path)
    this.#rewrite()
  }

  async close(): Promise<void> {
    await this.#watch?.close()
    this.#watch = undefined
    rmSync(this.privateDirectory, { recursive: true, force: true })
    rmSync(this.#file, { force: true })
  }

  #append(line: string): void {
    this.#lines++
    // Synchronous: the line must be written before anything else can happen to this host.
    appendFileSync(this.#file, line)
  }

  #rewrite(): void {
    const lines = [
      headerLine(this.token),
      ...(this.#mark === undefined ? [] : [markLine(this.#mark)]),
      ...Array.from(this.#groups, ([pid, startTime]) => groupLine(pid, startTime)),
      ...Array.from(this.#stubs, ([path, kind]) => stubLine(path, kind)),
    ]
    writeFileSync(`${this.#file}.new`, lines.join(''), { mode: 0o600 })
    renameSync(`${this.#file}.new`, this.#file)
    this.#lines = lines.length
  }
}

/** Returns the ledger of this process in that directory. All callers share it, and the last release closes it. */
export async function holdLedger(directory: string): Promise<{ ledger: Ledger; release(): Promise<void> }> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const real = await realpath(directory)
  let shared = open.get(real)
  if (shared === undefined) {
    shared = { ledger: sweepLedgers(real).then(() => new Ledger(real)), holders: 0 }
    open.set(real, shared)
  }
  const mine = shared
  mine.holders++
  const release = async (): Promise<void> => {
    if (--mine.holders > 0) return
    open.delete(real)
    await (await mine.ledger).close()
  }
  try {
    return { ledger: await mine.ledger, release }
  } catch (error) {
    if (open.get(real) === mine) open.delete(real)
    throw error
  }
}

const open = new Map<string, { readonly ledger: Promise<Ledger>; holders: number }>()
