import { constants } from 'node:fs'
import { mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../tool/errors.js'
import { createLocalFiles, type LocalFiles } from '../files/index.js'

/** A copied directory; `files` has the paths below it. */
export type CopiedTree = {
  readonly path: string
  readonly files: readonly string[]
  /** Which entries were omitted, and why. */
  readonly notes: readonly string[]
}

const maxFiles = 1_000
const deepest = 8

/**
 * Copies the regular files below a directory into a new one, for reading and running only. Links are omitted, wherever
 * they lead. A process that changes the directory in the meantime cannot cause a file from outside to appear in the
 * copy.
 */
export async function copyTree(
  source: string,
  target: string,
  maxBytes: number,
): Promise<CopiedTree & { bytes: number }> {
  const copy = new Copy(createLocalFiles({ root: source }), target, maxBytes)
  await copy.directory('.', target, 0)
  return copy
}

class Copy {
  readonly path: string
  readonly files: string[] = []
  readonly notes: string[] = []
  bytes = 0
  readonly #from: LocalFiles
  readonly #maxBytes: number

  constructor(from: LocalFiles, path: string, maxBytes: number) {
    this.#from = from
    this.path = path
    this.#maxBytes = maxBytes
  }

  async directory(from: string, to: string, depth: number): Promise<void> {
    // Not recursive: the directory must not exist.
    await mkdir(to, { mode: 0o700 })
    for (const { name, kind } of await this.#from.list(from)) {
      const inner = from === '.' ? name : `${from}/${name}`
      if (name === '.git' || name === 'node_modules') continue
      if (kind === 'directory' && depth < deepest) await this.directory(inner, join(to, name), depth + 1)
      else if (kind === 'file') await this.#file(inner, join(to, name))
      else
        this.#leaveOut(
          inner,
          kind === 'symlink' ? 'it is a link' : 'it is not a plain file, or lies too deep',
        )
    }
  }

  async #file(from: string, to: string): Promise<void> {
    const left = this.#maxBytes - this.bytes
    if (this.files.length >= maxFiles) return this.#leaveOut(from, `there are ${maxFiles} files already`)
    try {
      const { mode, size } = await this.#from.stat(from)
      if (size > left)
        return this.#leaveOut(from, `all files together would be larger than ${this.#maxBytes} bytes`)
      const { bytes } = await this.#from.read(from, { maxBytes: left })
      const file = await open(to, createFlags, (mode & 0o100) === 0 ? 0o400 : 0o500)
      try {
        await file.writeFile(bytes)
      } finally {
        await file.close()
      }
      this.bytes += bytes.length
      this.files.push(from)
    } catch (error) {
      this.#leaveOut(from, messageOf(error))
    }
  }

  #leaveOut(path: string, why: string): void {
    if (this.notes.length < maxNotes) this.notes.push(`${path} was left out: ${why}.`)
  }
}

const maxNotes = 20
const createFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0)
