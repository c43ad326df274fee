import { hostname } from 'node:os'
import { join } from 'node:path'
import { tryOr } from '../../tool/errors.js'
import { isRecord } from '../../tool/json.js'
import { textIfReadable } from '../../workspace/if-readable.js'
import { randomId } from '../../workspace/random-id.js'
import { isGone, type Owner } from '../../workspace/scratch/owner.js'
import { SessionLockedError } from '../errors.js'
import type { Lease } from '../session-store.js'
import { createNew, errnoOf, type FileLayer, readOnly, removeIfThere, writeAll } from './file-layer.js'

export type LeaseRequest = {
  readonly files: FileLayer
  readonly directory: string
  readonly sessionId: string
  readonly holder: string
  readonly owner: Owner
  /** How long a holder whose process cannot be looked up from here counts as alive without a heartbeat. */
  readonly expiryMs: number
  /** When the lease was acquired. Undefined: the time of the disk's clock. */
  readonly acquiredAtMs?: number | undefined
  /** Whether the session was just created. Then the first lease is attempted without searching for others. */
  readonly isNew?: boolean | undefined
}

export type HeldLease = {
  readonly lease: Lease
  readonly path: string
  readonly fd: number
  readonly identity: string
  /** The previous holder only missed its heartbeats, and may continue to write. */
  readonly fromSilent: boolean
}

/**
 * Acquires the lease of a session, or throws an error that names its holder. Leases are files named by their fence, and
 * the highest number counts. Exactly one of several competitors can create the next one, because a name can be created
 * only once and the highest is never removed.
 */
export function takeLease(request: LeaseRequest): HeldLease {
  const { files, directory } = request
  const draft = join(directory, `${draftPrefix}${randomId()}`)
  const fd = files.open(draft, createNew)
  try {
    const { mtimeMs: diskNow } = files.facts(fd)
    for (let isNew = request.isNew === true; ; isNew = false) {
      const before = isNew ? noLease : latestLease(request, diskNow)
      if (before.state === 'held') throw new SessionLockedError(request.sessionId, before.lease)
      const claimed = claim(
        request,
        { fence: before.fence + 1, draft, fd, diskNow },
        before.state === 'silent',
      )
      if (claimed === undefined) continue
      finishClaim(request, claimed, draft, diskNow)
      return claimed.held
    }
  } catch (error) {
    files.close(fd)
    removeIfThere(files, draft)
    throw error
  }
}

/** Returns whether the lease was not taken over and is still at its path. */
export function isStillHeld(files: FileLayer, { path, identity }: HeldLease): boolean {
  return files.factsAt(path)?.identity === identity
}

/** Renews the lease for other machines: writing sets the modification time by the disk's own clock. */
export function showLife(files: FileLayer, { fd }: HeldLease): void {
  files.write(fd, endOfLine, 0, 1, files.facts(fd).size - 1)
}

/** Releases the session. The file stays, so that the next fence is higher. */
export function releaseLease(files: FileLayer, held: HeldLease): void {
  try {
    markReleased(files, held)
  } finally {
    files.close(held.fd)
  }
}

/** Overwrites existing bytes, because a session must be releasable on a full disk too. */
function markReleased(files: FileLayer, held: HeldLease): void {
  try {
    writeAll(files, held.fd, isReleased, 0)
  } catch {
    // The disk accepts no writes: remove the lease rather than leave one that blocks every other process.
    if (isStillHeld(files, held)) removeIfThere(files, held.path)
  }
}

const draftPrefix = '.lease-'
const leaseName = /^lease-(\d{1,15})\.json$/
const endOfLine = Buffer.from('\n')
const notReleased = '{"released":false,'
const isReleased = Buffer.from('{"released":true ,')

type FoundLease =
  | { readonly state: 'none' | 'over' | 'silent'; readonly fence: number }
  | { readonly state: 'held'; readonly fence: number; readonly lease: Lease }

const noLease: FoundLease = { state: 'none', fence: 0 }

function latestLease(request: LeaseRequest, diskNow: number): FoundLease {
  const { files, directory, owner: self, expiryMs } = request
  for (;;) {
    const fence = Math.max(0, ...files.list(directory).map(fenceOf))
    if (fence === 0) return noLease
    const found = readLease(files, join(directory, `lease-${fence}.json`))
    // Another process was faster, and has already removed it.
    if (found === undefined) continue
    if (found.released) return { state: 'over', fence }
    const { owner } = found
    if (owner !== undefined && (isGone(owner, self) || isZombie(owner, self))) return { state: 'over', fence }
    const sameMachine = owner !== undefined && owner.host === self.host && owner.namespace === self.namespace
    if (!sameMachine && diskNow - found.mtimeMs > expiryMs) return { state: 'silent', fence }
    return { state: 'held', fence, lease: { ...found.lease, fence } }
  }
}

/** Returns the fence in the name of a lease; 0 for another file. */
function fenceOf(name: string): number {
  return Number(leaseName.exec(name)?.[1] ?? 0)
}

type WrittenLease = {
  readonly lease: Omit<Lease, 'fence'>
  readonly owner: Owner | undefined
  readonly released: boolean
  readonly mtimeMs: number
}

function readLease(files: FileLayer, path: string): WrittenLease | undefined {
  let fd: number
  try {
    fd = files.open(path, readOnly)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  }
  try {
    const buffer = Buffer.alloc(maxLeaseBytes)
    const written = parsed(buffer.toString('utf8', 0, files.read(fd, buffer, 0, maxLeaseBytes, 0)))
    const text = (name: string): string =>
      typeof written[name] === 'string' ? written[name] : 'an unknown process'
    const number = (name: string): number => (typeof written[name] === 'number' ? written[name] : 0)
    return {
      lease: {
        holder: text('holder'),
        host: text('host'),
        pid: number('pid'),
        acquiredAtMs: number('acquiredAtMs'),
      },
      owner: ownerIn(written['owner']),
      released: written['released'] === true,
      mtimeMs: files.facts(fd).mtimeMs,
    }
  } finally {
    files.close(fd)
  }
}

const maxLeaseBytes = 8192

/**
 * Parses a lease. One that was emptied by a power cut, and an unrelated file, contain nothing; then only the age
 * counts.
 */
function parsed(text: string): Record<string, unknown> {
  const value: unknown = tryOr(() => JSON.parse(text), undefined)
  return isRecord(value) ? value : {}
}

function ownerIn(value: unknown): Owner | undefined {
  if (!isRecord(value)) return undefined
  const { host, boot, namespace, pid, started } = value
  return typeof host === 'string' &&
    typeof boot === 'string' &&
    typeof namespace === 'string' &&
    typeof pid === 'number' &&
    typeof started === 'string'
    ? { host, boot, namespace, pid, started }
    : undefined
}

/**
 * Returns whether a process was killed but not reaped by its parent, which in some containers never happens. Such a
 * process writes nothing more. One whose first thread has ended looks the same, and its other threads can still write:
 * a killed process has them for a moment.
 */
function isZombie(owner: Owner, self: Owner): boolean {
  if (owner.host !== self.host || owner.boot !== self.boot || owner.namespace !== self.namespace) return false
  const text = textIfReadable(`/proc/${owner.pid}/stat`) ?? ''
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return fields[0] === 'X' || (fields[0] === 'Z' && Number(fields[17]) <= 1)
}

type Draft = { readonly fence: number; readonly draft: string; readonly fd: number; readonly diskNow: number }

/** A lease, and the names in the directory of the session after it was created. */
type Claimed = { readonly held: HeldLease; readonly names: readonly string[] }

function claim(
  request: LeaseRequest,
  { fence, draft, fd, diskNow }: Draft,
  fromSilent: boolean,
): Claimed | undefined {
  const { files, directory, holder, owner, sessionId } = request
  const lease: Lease = {
    holder,
    host: hostname(),
    pid: owner.pid,
    acquiredAtMs: request.acquiredAtMs ?? Math.round(diskNow),
    fence,
  }
  const said = JSON.stringify({ ...lease, session: sessionId.slice(0, 200), owner })
  const text = Buffer.from(`${notReleased}${said.slice(1)}\n`)
  files.truncate(fd, 0)
  writeAll(files, fd, text, 0)
  const path = join(directory, `lease-${fence}.json`)
  const held = { lease, path, fd, identity: files.facts(fd).identity, fromSilent }
  try {
    files.link(draft, path)
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return undefined
    throw error
  }
  let isLatest = false
  try {
    const names = files.list(directory)
    // A slow competitor may create a number that others have already passed and removed.
    isLatest = names.every((name) => fenceOf(name) <= fence)
    return isLatest ? { held, names } : undefined
  } finally {
    if (!isLatest) removeIfThere(files, path)
  }
}

/** Completes the claim. The lease exists now, so it is released if anything fails. */
function finishClaim(
  { files, directory, expiryMs }: LeaseRequest,
  { held, names }: Claimed,
  draft: string,
  diskNow: number,
): void {
  try {
    removeIfThere(files, draft)
    for (const name of names) {
      const path = join(directory, name)
      const fence = fenceOf(name)
      if (fence > 0 && fence < held.lease.fence) removeIfThere(files, path)
      if (path === draft || !name.startsWith(draftPrefix)) continue
      // Left by a process that was killed while it acquired the lease.
      if (diskNow - (files.factsAt(path)?.mtimeMs ?? diskNow) > expiryMs) removeIfThere(files, path)
    }
  } catch (error) {
    markReleased(files, held)
    throw error
  }
}
