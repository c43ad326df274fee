import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, lstat, mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import type { RuntimeScratch } from '../../tool/runtime.js'
import { fromSystem } from '../files/system-error.js'
import { safeBase } from './base-directory.js'
import { type CopiedTree, copyTree } from './copy-tree.js'
import { ScratchClosedError, ScratchForeignError, ScratchFullError } from './errors.js'
import { directoryName, thisProcess } from './owner.js'
import { type Identity, removeTree } from './remove-tree.js'
import { type SweepReport, sweepScratch } from './sweep.js'

export type ScratchOptions = {
  /** Where scratch directories are made. Of this user alone, or shared and sticky like `/tmp`. */
  readonly baseDir: string
  /** How many bytes `write` may put there in all. */
  readonly maxBytes?: number | undefined
  /** What the sweep of directories left by dead processes did. */
  readonly onSweep?: ((report: SweepReport) => void) | undefined
}

export interface Scratch extends RuntimeScratch {
  /** The directory, once there is one. */
  readonly path: string | undefined
  /** The directory, which is made when it is first asked for. */
  dir(): Promise<string>
  /** A new file to write to bit by bit. The caller closes it. */
  create(label: string): Promise<{ readonly path: string; readonly file: { close(): Promise<void> } }>
  /** A copy of the plain files below a directory, for reading and running only. */
  copy(label: string, directory: string): Promise<CopiedTree>
  /** Whether it was never asked for a directory. */
  readonly isUnused: boolean
  /** Removes the directory with everything in it. Again: nothing more happens. */
  close(): Promise<void>
}

/**
 * One session's private directory, made when first needed and gone when the session closes. If the process dies before
 * that, the next one to start a scratch directory under the same base takes it away.
 */
export function createScratch(options: ScratchOptions): Scratch {
  const maxBytes = options.maxBytes ?? 100 * 1024 * 1024
  let made: Promise<Made> | undefined
  let path: string | undefined
  let closed: Promise<void> | undefined
  let used = 0

  const directory = async (): Promise<Made> => {
    if (closed !== undefined) throw new ScratchClosedError()
    made ??= makeDirectory(options)
    try {
      const own = await made
      path = own.path
      return own
    } catch (thrown) {
      made = undefined
      throw thrown
    }
  }
  const create = async (label: string): Promise<{ path: string; file: FileHandle }> => {
    const target = join((await directory()).path, fileName(label))
    return { path: target, file: await open(target, createFlags, 0o600) }
  }

  return {
    get path() {
      return closed === undefined ? path : undefined
    },
    get isUnused() {
      return made === undefined
    },
    dir: async () => (await directory()).path,
    create,
    write: async (label, data) => {
      const bytes = typeof data === 'string' ? Buffer.from(data, 'utf8') : data
      if (used + bytes.length > maxBytes) throw new ScratchFullError(bytes.length, maxBytes)
      // Counted before it is written: writes that run side by side share the limit.
      used += bytes.length
      const { path: target, file } = await create(label)
      try {
        await file.writeFile(bytes)
      } finally {
        await file.close()
      }
      return target
    },
    copy: async (label, source) => {
      const target = join((await directory()).path, `${plainLabel(label)}-${unguessable()}`)
      const { bytes, files, notes } = await copyTree(
        source,
        target,
        Math.min(maxCopiedBytes, maxBytes - used),
      )
      used += bytes
      return { path: target, files, notes }
    },
    close: () => {
      closed ??= removeMade(made)
      return closed
    },
  }
}

/** What one copy may take. */
const maxCopiedBytes = 32 * 1024 * 1024

type Made = {
  readonly base: string
  readonly name: string
  readonly path: string
  readonly identity: Identity
}

const createFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0)

async function makeDirectory(options: ScratchOptions): Promise<Made> {
  const base = await safeBase(options.baseDir)
  const report = await sweepScratch(base)
  options.onSweep?.(report)
  const name = directoryName(thisProcess(), unguessable())
  const path = join(base, name)
  // Not recursive: it must not exist.
  await mkdir(path, { mode: 0o700 })
  const { dev, ino } = await lstat(path, { bigint: true })
  return { base, name, path, identity: { dev, ino } }
}

async function removeMade(made: Promise<Made> | undefined): Promise<void> {
  const own = await made?.catch(() => undefined)
  if (own === undefined) return
  const removed = await removeTree(own.base, own.name, own.identity).catch((thrown: unknown) => {
    throw fromSystem(thrown, own.name)
  })
  if (!removed) throw new ScratchForeignError()
}

/** The label for people, the rest against guessing. */
function fileName(label: string): string {
  return `${plainLabel(label)}-${unguessable()}.txt`
}

function plainLabel(label: string): string {
  const plain = label
    .replace(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40)
  return plain === '' ? 'output' : plain
}

function unguessable(): string {
  return randomBytes(16).toString('hex')
}
