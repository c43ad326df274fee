import { lstatSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import type { Ledger } from '../shell/ledger.js'
import { type Stub, stubContent } from '../shell/ledger-file.js'
import { removeStub, stubsOfOthers } from '../shell/sweep.js'

/**
 * Makes placeholders for what must not appear: a mount needs something to cover. They stay as long as any command uses
 * them, of this host or another, because removing one would lift the cover in every sandbox that has it. The ledger
 * knows them too, so they go even if the host is killed.
 */
export function holdStubs(stubs: readonly Stub[], ledger: Ledger): () => Promise<void> {
  const fresh = stubs.filter(({ path }) => !holders.has(path))
  ledger.addStubs(fresh)
  for (const stub of fresh) make(stub)
  for (const { path } of stubs) holders.set(path, (holders.get(path) ?? 0) + 1)
  return () => letGo(stubs, ledger)
}

/**
 * Whether there is nothing of the user's at this path: nothing at all, or only a placeholder that some command holds. A
 * caller that takes a placeholder for a real file would not hold it, and lose its cover when the others let go.
 */
export function isAbsent(path: string, ledger: Ledger): boolean {
  if (holders.has(path)) return true
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat === undefined) return true
  const empty = stat.isDirectory()
    ? readdirSync(path).length === 0
    : stat.isFile() && stat.size === stubContent(path).length
  return empty && stubsOfOthers(ledger.directory, ledger.token).has(path)
}

/** Waits until no placeholder is being removed. Call it before looking at what is there and holding it, in one go. */
export async function stubsSettled(): Promise<void> {
  for (let waited: Promise<void> | undefined; waited !== removing; ) {
    waited = removing
    await waited
  }
}

/**
 * Removing takes its time, since the kernel detaches every mount that a dying sandbox still has there; so it is done
 * off the event loop, one after the other.
 */
let removing: Promise<void> = Promise.resolve()

/** How many running commands of this process need each placeholder. */
const holders = new Map<string, number>()

async function letGo(stubs: readonly Stub[], ledger: Ledger): Promise<void> {
  const free = stubs.filter(({ path }) => {
    const count = (holders.get(path) ?? 1) - 1
    if (count > 0) holders.set(path, count)
    else holders.delete(path)
    return count === 0
  })
  if (free.length === 0) return
  const removal = removing.then(() => remove(free, ledger))
  // The caller gets the error of a removal that fails; those after it continue.
  removing = removal.catch(() => undefined)
  await removal
}

async function remove(stubs: readonly Stub[], ledger: Ledger): Promise<void> {
  const others = stubsOfOthers(ledger.directory, ledger.token)
  // Backwards, since a placeholder may lie inside another.
  for (const stub of stubs.toReversed()) if (!others.has(stub.path)) await removeStub(stub)
  ledger.dropStubs(stubs)
}

function make({ kind, path }: Stub): void {
  try {
    if (kind === 'directory') mkdirSync(path, { mode: 0o755 })
    else writeFileSync(path, stubContent(path), { flag: 'wx', mode: 0o644 })
  } catch (error) {
    // Another host made the same one in the meantime; it is empty, or it is not removed by this host.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
}
