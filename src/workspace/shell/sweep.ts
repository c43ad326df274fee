import { readdirSync, rmSync, statSync } from 'node:fs'
import { readFile, rmdir, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { type LedgerContent, machineName, readLedger, type Stub, stubContent } from './ledger-file.js'
import { isAlive, ProcessSnapshot, processScope } from './process-table.js'
import { endRun } from './run-trace.js'

/** Cleans up after hosts that died without doing so, and whose watcher died as well. Returns how many there were. */
export async function sweepLedgers(directory: string): Promise<number> {
  const ledgers = readAll(directory)
  const dead = ledgers.filter(({ content }) => isDead(content))
  const living = ledgers.filter(({ content }) => !isDead(content))
  for (const { file, content } of dead) {
    if (content.scope === processScope()) await endProcesses(content)
    for (const stub of content.stubs) {
      if (!living.some((other) => other.content.stubs.some(({ path }) => path === stub.path)))
        await removeStub(stub)
    }
    rmSync(join(directory, `${content.token}.d`), { recursive: true, force: true })
    rmSync(file, { force: true })
  }
  return dead.length
}

/** Returns the placeholders that other running hosts use. */
export function stubsOfOthers(directory: string, ownToken: string): Set<string> {
  const others = readAll(directory).filter(({ content }) => content.token !== ownToken && !isDead(content))
  return new Set(others.flatMap(({ content }) => content.stubs.map(({ path }) => path)))
}

/** Removes a placeholder if it is unchanged: an empty directory, or a file without content of the user. */
export async function removeStub({ kind, path }: Stub): Promise<void> {
  try {
    if (kind === 'directory') await rmdir(path)
    else if (await isPlaceholder(path)) await unlink(path)
  } catch (error) {
    // Another process filled or removed it: then it belongs to that process.
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (typeof code !== 'string') throw error
  }
}

async function isPlaceholder(path: string): Promise<boolean> {
  const content = stubContent(path)
  return (await stat(path)).size === content.length && (await readFile(path, 'utf8')) === content
}

function readAll(directory: string): { file: string; content: LedgerContent }[] {
  return readdirSync(directory).flatMap((name) => {
    // A `.new` is from a host that died while writing it.
    if (!/\.ledger(?:\.new)?$/.test(name)) return []
    const file = join(directory, name)
    try {
      // A file of another user is not trusted, because it lists processes to kill.
      if (statSync(file).uid !== process.getuid?.()) return []
      const content = readLedger(file)
      return content === undefined ? [] : [{ file, content }]
    } catch {
      // Its own host, or another sweep, has just removed it.
      return []
    }
  })
}

function isDead(content: LedgerContent): boolean {
  const scope = processScope()
  if (content.scope === scope) return !isAlive(content.host)
  // From another boot of this machine: all its processes have ended. From another container or machine: unknown.
  const sameBoot = content.scope.split('/')[0] === scope.split('/')[0]
  return !sameBoot && content.hostname === machineName()
}

async function endProcesses(content: LedgerContent): Promise<void> {
  const limits = { graceMs: 0, killMs: 2000 }
  const present = new Set(new ProcessSnapshot().entries.map((entry) => entry.pgid))
  for (const leader of content.groups) {
    if (present.has(leader.pid)) await endRun({ token: content.token, leader, contained: false }, limits)
  }
  const { token, mark: hostMark } = content
  await endRun({ token, hostMark, leader: { pid: -1, startTime: '' }, contained: false }, limits)
}
