import { createHash } from 'node:crypto'
import { chmodSync, lstatSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isInside } from '../inside.js'
import { isAlive, readProcess } from '../shell/process-table.js'
import { quarantine } from './quarantine.js'
import { type FoundRepository, RepositoryScan, type ScanResult } from './repository-scan.js'
import { harmOf } from './vet-repository.js'

/**
 * Returns the guard of a workspace directory. It is shared by all sessions of this process, so that every session
 * detects what another session's commands create.
 */
export function gitGuardOf(root: string, directory: string): GitGuard {
  const key = `${directory}\0${root}`
  const guard = guards.get(key)?.deref() ?? new GitGuard(root, directory)
  guards.set(key, new WeakRef(guard))
  return guard
}

const guards = new Map<string, WeakRef<GitGuard>>()

/** The git data that one command must not change, and the check at its end. */
export type GitWatch = {
  /** The repositories that existed before the command: to be mounted read-only. */
  readonly found: ScanResult
  /** Call it after the command has ended; returns what was refused, as sentences. */
  end(): Promise<string[]>
}

/** The minimum time between two scans while commands run, and the maximum share of the time that scans can take. */
const minIntervalMs = 200
const share = 1 / 10

/**
 * Watches a workspace for repositories that commands create. A mount keeps existing repositories unchanged, and the
 * guard inside the sandbox prevents the creation of a new `.git`. This does not cover bare repositories, which have no
 * such name, repositories that approved git commands create, and machines without a guard. Therefore the workspace is
 * scanned while commands run and when they end, and a repository that could make git start a program is renamed at
 * once. One that could not (such as the result of `git init`) is not renamed, and is read-only for the next command.
 */
class GitGuard {
  readonly #root: string
  readonly #journal: string
  readonly #scanner: RepositoryScan
  /** Repositories that no command could change since they were last checked. */
  #trusted = new Set<string>()
  readonly #watches = new Set<Set<string>>()
  #last: { readonly result: ScanResult; readonly usableUntil: number } | undefined
  #timer: NodeJS.Timeout | undefined

  /** `directory` is a private directory that outlives this process. */
  constructor(root: string, directory: string) {
    this.#root = root
    this.#scanner = new RepositoryScan(root)
    this.#journal = join(directory, `${journalName(root)}-${process.pid}.repositories`)
  }

  async begin(): Promise<GitWatch> {
    const found = await this.#current()
    const refused = new Set<string>()
    if (this.#watches.size === 0) {
      this.#sweepDead(found)
      this.#trusted = new Set(found.repositories.map(({ identity }) => identity))
      this.#writeJournal()
    }
    this.#watches.add(refused)
    this.#schedule()
    return {
      found,
      end: async () => {
        try {
          await this.#look()
        } finally {
          this.#watches.delete(refused)
          if (this.#watches.size === 0) this.#rest()
        }
        return [...refused]
      },
    }
  }

  /** Returns all current repositories, or those of a moment ago where a scan takes long. */
  async #current(): Promise<ScanResult> {
    if (this.#last !== undefined && this.#watches.size === 0 && performance.now() < this.#last.usableUntil)
      return this.#last.result
    return this.#watches.size === 0 ? this.#scan() : this.#look()
  }

  async #scan(): Promise<ScanResult> {
    const startedAt = performance.now()
    const result = await this.#scanner.run()
    const endedAt = performance.now()
    // Fast scans are never reused: a repository that the user created a moment ago must be protected too.
    const cost = endedAt - startedAt
    this.#last = { result, usableUntil: cost < 20 ? 0 : endedAt + cost / share }
    return result
  }

  /** Scans and checks while commands run. Returns the repositories that are not renamed. */
  async #look(): Promise<ScanResult> {
    const open = await this.#opening()
    const stays = open.repositories.filter((found) => !this.#refuse(found, this.#trusted))
    return { ...open, repositories: stays }
  }

  /** A directory that cannot be listed may hide a repository: it is made readable for its owner. */
  async #opening(): Promise<ScanResult> {
    const result = await this.#scan()
    if (result.closed.length === 0) return result
    const opened = result.closed.filter((directory) => makeReadable(directory))
    return opened.length === 0 ? result : this.#scan()
  }

  #refuse(found: FoundRepository, trusted: ReadonlySet<string>): boolean {
    if (trusted.has(found.identity)) return false
    const harm = harmOf(found, (gitDirectory) => this.#isHeld(gitDirectory))
    if (harm === undefined) return false
    const renamed = quarantine(found)
    if (renamed === undefined) return true
    const place = this.#shown(found.directory)
    const what = found.kind === 'bare' ? 'HEAD' : '.git'
    const words = `A command made a git repository in ${place} that could run programs (${harm}): ${what} was renamed to ${renamed}.`
    for (const refused of this.#watches) refused.add(words)
    return true
  }

  /** Whether a path is the git directory of a repository that existed before, or a part of it. */
  #isHeld(gitDirectory: string): boolean {
    const repositories = this.#last?.result.repositories ?? []
    return repositories.some(
      ({ identity, directory, kind }) =>
        this.#trusted.has(identity) &&
        isInside(kind === 'bare' ? directory : join(directory, '.git'), gitDirectory),
    )
  }

  #schedule(): void {
    if (this.#timer !== undefined) return
    const tick = async (): Promise<void> => {
      const startedAt = performance.now()
      // If the scan fails now, the scan at the end of the command reports it.
      await this.#look().catch(() => undefined)
      if (this.#timer !== undefined) wait(Math.max(minIntervalMs, (performance.now() - startedAt) / share))
    }
    const wait = (ms: number): void => {
      this.#timer = setTimeout(() => void tick(), ms)
      this.#timer.unref()
    }
    wait(minIntervalMs)
  }

  #rest(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    rmSync(this.#journal, { force: true })
  }

  /** Records the repositories that existed before the commands, for the next host if this one is killed. */
  #writeJournal(): void {
    const { startTime = '' } = readProcess(process.pid) ?? {}
    const content: Journal = { pid: process.pid, startTime, trusted: [...this.#trusted] }
    writeFileSync(this.#journal, JSON.stringify(content), { mode: 0o600 })
  }

  /** Checks what the commands of a killed host left in this directory. */
  #sweepDead(found: ScanResult): void {
    const directory = dirname(this.#journal)
    for (const name of readdirSync(directory)) {
      if (!name.startsWith(`${journalName(this.#root)}-`)) continue
      const journal = readJournal(join(directory, name))
      if (journal !== undefined && isAlive(journal)) continue
      const trusted = new Set(journal?.trusted ?? found.repositories.map(({ identity }) => identity))
      for (const repository of found.repositories) this.#refuse(repository, trusted)
      rmSync(join(directory, name), { force: true })
    }
  }

  #shown(directory: string): string {
    return directory === this.#root ? 'the workspace' : directory.slice(this.#root.length + 1)
  }
}

type Journal = {
  readonly pid: number
  readonly startTime: string
  readonly trusted: readonly string[]
}

function journalName(root: string): string {
  return `git${createHash('sha256').update(root).digest('hex').slice(0, 24)}`
}

function readJournal(file: string): Journal | undefined {
  try {
    const journal: Partial<Journal> = JSON.parse(readFileSync(file, 'utf8'))
    const { pid, startTime, trusted } = journal
    if (pid === undefined || startTime === undefined || !Array.isArray(trusted)) return undefined
    return { pid, startTime, trusted }
  } catch {
    // The file was truncated while it was written: no command had begun.
    return undefined
  }
}

function makeReadable(directory: string): boolean {
  const stat = lstatSync(directory, { throwIfNoEntry: false })
  if (stat?.isDirectory() !== true || (stat.mode & 0o500) === 0o500) return false
  try {
    chmodSync(directory, (stat.mode & 0o7777) | 0o700)
    return true
  } catch {
    return false
  }
}
