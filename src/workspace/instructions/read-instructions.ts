import { constants } from 'node:fs'
import { open, realpath } from 'node:fs/promises'
import { join, relative, resolve, sep } from 'node:path'
import { CapstanError, messageOf } from '../../tool/errors.js'
import type { RuntimeFiles } from '../../tool/runtime.js'
import { isMissing, projectDirectories, statOf } from '../project-directories.js'

/** A file of instructions that a project or a user has written for agents. */
export type InstructionFile = { readonly path: string; readonly text: string; readonly truncated: boolean }

export type InstructionOptions = {
  /** The real path of the workspace. Absent: it is not a directory of this machine. */
  readonly root?: string | undefined
  /** A directory with the user's own instructions for every project. */
  readonly userDir?: string | undefined
  /** The names to look for in each directory; the first that exists is used. */
  readonly fileNames?: readonly string[] | undefined
  /** The maximum total size of all files, in bytes. */
  readonly maxBytes?: number | undefined
}

export const defaultInstructionNames = ['AGENTS.md', 'CLAUDE.md'] as const
const defaultInstructionBytes = 32 * 1024

/**
 * Reads the user's file, then those of the project from the root of its repository down to the workspace: the nearest
 * comes last. Each must be a regular file inside its own directory tree, so that a link in a repository cannot show
 * another file of the machine to a model. Files that cannot be read are reported, and the others are used.
 */
export async function readInstructions(
  options: InstructionOptions,
  remote?: RemoteFiles,
): Promise<{ readonly files: readonly InstructionFile[]; readonly problems: readonly string[] }> {
  const { root, userDir, fileNames = defaultInstructionNames, maxBytes = defaultInstructionBytes } = options
  const problems: string[] = []
  const files: InstructionFile[] = []
  let left = maxBytes
  const places = [
    ...(userDir === undefined ? [] : [{ directory: resolve(userDir), tree: resolve(userDir) }]),
    ...(root === undefined ? [] : projectDirectories(root)),
  ]
  for (const { directory, tree } of places) {
    for (const name of fileNames) {
      const path = join(directory, name)
      try {
        if (left <= 0) {
          if (statOf(path) === undefined) continue
          throw new Error(`the ${maxBytes} bytes for instructions are used up`)
        }
        const found = await readPlain(path, tree, left)
        if (found === undefined) continue
        files.push({ path: directory === root ? name : path, ...found })
        left -= Buffer.byteLength(found.text)
        break
      } catch (error) {
        problems.push(`${path} was not read: ${messageOf(error)}`)
      }
    }
  }
  if (remote !== undefined) {
    const found = await readRemote(remote, fileNames, left, problems)
    if (found !== undefined) files.push(found)
  }
  return { files, problems }
}

/** The files of a workspace that is not on this machine. */
type RemoteFiles = Pick<RuntimeFiles, 'readRange'>

/** Reads the first of the named files in the root of the workspace. */
async function readRemote(
  files: RemoteFiles,
  names: readonly string[],
  maxBytes: number,
  problems: string[],
): Promise<InstructionFile | undefined> {
  for (const name of names) {
    try {
      const bytes = await files.readRange(name, 0, maxBytes + 1)
      const text = headOf(new TextDecoder().decode(bytes), maxBytes)
      return { path: name, text: text.trim(), truncated: bytes.length > maxBytes }
    } catch (error) {
      if (!(error instanceof CapstanError && error.code === 'file_not_found'))
        problems.push(`${name} was not read: ${messageOf(error)}`)
    }
  }
  return undefined
}

async function readPlain(
  path: string,
  tree: string,
  maxBytes: number,
): Promise<{ text: string; truncated: boolean } | undefined> {
  if (statOf(path) === undefined) return undefined
  let real: string
  try {
    real = await realpath(path)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
  const inside = relative(await realpath(tree), real)
  if (inside === '..' || inside.startsWith(`..${sep}`) || inside.startsWith(sep))
    throw new Error('it is a link that leads out of the project')
  const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    if (!(await file.stat()).isFile()) throw new Error('it is not a plain file')
    const buffer = Buffer.alloc(maxBytes + 4)
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0)
    const text = new TextDecoder().decode(buffer.subarray(0, bytesRead), { stream: bytesRead > maxBytes })
    // Bytes that are not UTF-8 are longer as text than they were in the file.
    const cut = bytesRead > maxBytes || Buffer.byteLength(text) > maxBytes
    return { text: (cut ? headOf(text, maxBytes) : text).trim(), truncated: cut }
  } finally {
    await file.close()
  }
}

/** Returns the beginning of a text that fits into this number of bytes. */
function headOf(text: string, maxBytes: number): string {
  return new TextDecoder().decode(Buffer.from(text).subarray(0, maxBytes), { stream: true })
}
