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
  /** The directory of scratch directories. It belongs to this user alone, or is shared and sticky like `/tmp`. */
  readonly baseDir: string
  /** The maximum total number of bytes that `write` can store there. */
  readonly maxBytes?: number | undefined
  /** Called with the result of removing the directories of dead processes. */
  readonly onSweep?: ((report: SweepReport) => void) | undefined
}

export interface Scratch extends RuntimeScratch {
  /** The directory; undefined until it is created. */
  readonly path: string | undefined
  /** Returns the directory, which is created at the first call. */
  dir(): Promise<string>
  /** Creates a new file for incremental writes. The caller closes it. */
  create(label: string): Promise<{ readonly path: string; readonly file: { close(): Promise<void> } }>
  /** Copies the regular files below a directory, for reading and running only. */
  copy(label: string, directory: string): Promise<CopiedTree>
  /** Whether no directory was ever requested. */
  readonly isUnused: boolean
  /** Removes the directory with everything in it. Further calls do nothing. */
  close(): Promise<void>
}

/**
 * Creates the private directory of one session: it is created when first needed and removed when the session closes. If
 * the process dies before that, the next process that starts a scratch directory under the same base removes it.
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
      // Counted before it is written, because concurrent writes share the limit.
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

/** The maximum size of one copy, in bytes. */
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
  // Not recursive: the directory must not exist.
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

/** The label is for users, the random part makes the name unguessable. */
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
