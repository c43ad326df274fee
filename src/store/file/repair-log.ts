import { join } from 'node:path'
import { randomId } from '../../workspace/random-id.js'
import type { SessionRecord } from '../records.js'
import { createNew, errnoOf, type FileLayer, writeAll } from './file-layer.js'
import { encodeBatch } from './log-line.js'
import type { LogEnd } from './scan-log.js'

export const logName = 'log.jsonl'

/** Describes the damage of a log: what, where, and how many bytes are ignored. Undefined when there is none. */
export function damageOf({ problem, end }: LogEnd, size: number): string | undefined {
  if (problem === undefined) return undefined
  return `${logName}: ${problem}; it is complete up to byte ${end}, and the ${Math.max(0, size - end)} bytes after that are left out`
}

/**
 * Prepares a log for appending after its last complete batch. The rest is saved in a separate file, because a user may
 * still be able to recover data from it. Returns a description of the damage.
 */
export async function repairLog(
  files: FileLayer,
  directory: string,
  fd: number,
  logEnd: LogEnd,
): Promise<string | undefined> {
  const { size } = files.facts(fd)
  const damage = damageOf(logEnd, size)
  if (damage === undefined) return undefined
  const name = await keepAside(files, directory, fd, logEnd.end)
  files.truncate(fd, logEnd.end)
  await files.sync(fd)
  return `${damage} (saved in ${name})`
}

/** Writes the log of a new session completely or not at all. Returns its end, or undefined when a log exists. */
export function writeFirstLog(
  files: FileLayer,
  directory: string,
  records: readonly SessionRecord[],
): { readonly end: number; readonly checksum: number } | undefined {
  const draft = join(directory, `.${logName}.${randomId()}`)
  const { bytes, checksum } = encodeBatch(records, 0)
  const fd = files.open(draft, createNew)
  try {
    try {
      writeAll(files, fd, bytes, 0)
    } finally {
      files.close(fd)
    }
    files.link(draft, join(directory, logName))
    return { end: bytes.length, checksum }
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return undefined
    throw error
  } finally {
    files.unlink(draft)
  }
}

/**
 * Copies a log to a new file under the same name. A process that still writes to the old file then writes to one
 * without a name.
 */
export async function replaceLog(files: FileLayer, directory: string, fd: number): Promise<number> {
  const copied = await putInPlace(files, directory, (copy) => copyFrom(files, fd, 0, copy))
  files.close(fd)
  return copied
}

/**
 * Replaces a log by one with these records. Each record is its own batch, so it can be read even if later ones are
 * lost.
 */
export async function rewriteLog(
  files: FileLayer,
  directory: string,
  records: readonly SessionRecord[],
  assertHeld: () => void,
): Promise<void> {
  const written = await putInPlace(
    files,
    directory,
    (fd) => {
      let length = 0
      let checksum = 0
      for (const record of records) {
        const batch = encodeBatch([record], checksum)
        writeAll(files, fd, batch.bytes, length)
        length += batch.bytes.length
        checksum = batch.checksum
      }
    },
    assertHeld,
  )
  files.close(written)
}

/** Writes to a temporary file, syncs it, and renames it: readers find the old log or the new one. */
async function putInPlace(
  files: FileLayer,
  directory: string,
  write: (fd: number) => void,
  assertHeld: () => void = () => undefined,
): Promise<number> {
  const aside = join(directory, `.${logName}.new`)
  if (files.factsAt(aside) !== undefined) files.unlink(aside)
  const fd = files.open(aside, createNew)
  try {
    write(fd)
    await files.sync(fd)
    assertHeld()
    files.rename(aside, join(directory, logName))
    await files.syncDirectory(directory)
    return fd
  } catch (error) {
    files.close(fd)
    throw error
  }
}

async function keepAside(files: FileLayer, directory: string, fd: number, from: number): Promise<string> {
  const taken = new Set(files.list(directory))
  let number = 1
  while (taken.has(`${logName}.damaged-${number}`)) number++
  const name = `${logName}.damaged-${number}`
  const aside = files.open(join(directory, name), createNew)
  try {
    copyFrom(files, fd, from, aside)
    await files.sync(aside)
  } finally {
    files.close(aside)
  }
  await files.syncDirectory(directory)
  return name
}

function copyFrom(files: FileLayer, from: number, start: number, to: number): void {
  const buffer = Buffer.allocUnsafe(256 * 1024)
  for (let done = 0; ; ) {
    const got = files.read(from, buffer, 0, buffer.length, start + done)
    if (got === 0) return
    writeAll(files, to, buffer.subarray(0, got), done)
    done += got
  }
}
