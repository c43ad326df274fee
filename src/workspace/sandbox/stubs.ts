import { lstatSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import type { Ledger } from '../shell/ledger.js'
import { type Stub, stubContent } from '../shell/ledger-file.js'
import { removeStub, stubsOfOthers } from '../shell/sweep.js'

/**
 * Creates placeholders for paths that must not be created, because a mount needs an existing path. They remain as long
 * as any command uses them, of this host or another, because removing one would remove the mount in every sandbox that
 * has it. They are recorded in the ledger, so they are removed even if the host is killed.
 */
export function holdStubs(stubs: readonly Stub[], ledger: Ledger): () => Promise<void> {
  const fresh = stubs.filter(({ path }) => !holders.has(path))
  ledger.addStubs(fresh)
  for (const stub of fresh) make(stub)
  for (const { path } of stubs) holders.set(path, (holders.get(path) ?? 0) + 1)
  return () => letGo(stubs, ledger)
}

/**
 * Whether the user has nothing at this path: nothing exists, or only a placeholder of some command. A caller that
 * treated a placeholder as a real file would not hold it, and would lose its mount when the other commands release it.
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

/** Waits until no placeholder is being removed. Call it right before paths are checked and held without an `await`. */
export async function stubsSettled(): Promise<void> {
  for (let waited: Promise<void> | undefined; waited !== removing; ) {
    waited = removing
    await waited
  }
}

/**
 * Removing takes long, because the kernel detaches every mount that an ending sandbox still has there; so it is done
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
  // In reverse order, because a placeholder can be inside another.
  for (const stub of stubs.toReversed()) if (!others.has(stub.path)) await removeStub(stub)
  ledger.dropStubs(stubs)
}

function make({ kind, path }: Stub): void {
  try {
    if (kind === 'directory') mkdirSync(path, { mode: 0o755 })
    else writeFileSync(path, stubContent(path), { flag: 'wx', mode: 0o644 })
  } catch (error) {
    // Another host created the same one in the meantime; if it is not empty, this host does not remove it.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
}
