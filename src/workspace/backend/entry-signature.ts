import { lstat, readlink } from 'node:fs/promises'
import type { FileSystemStat } from '../files/file-system.js'
import { kindOf } from '../files/list-directory.js'

/** The signatures of a directory, and of a pipe, socket or device. The signature of a link begins with `link`. */
export const directory = 'directory'
export const other = 'other'
export const link = 'link '

export function isDirectory(signature: string): boolean {
  return signature === directory
}

/** Returns a text that changes with every change of a workspace entry that its file system reports. */
export function signatureOf(
  { kind, size, mtimeMs, changedAtMs, mode }: FileSystemStat,
  target: string,
): string {
  if (kind === 'directory') return directory
  if (kind === 'symlink') return `${link}${target}`
  return [size, mtimeMs, changedAtMs ?? '', mode & 0o777].join(':')
}

/** Returns a text that changes with every change of an entry of the copy: no program can set the `ctime`. */
export async function ownSignature(at: string): Promise<string> {
  const stat = await lstat(at, { bigint: true })
  if (stat.isSymbolicLink()) return `${link}${await readlink(at)}`
  const kind = kindOf({
    isFile: () => stat.isFile(),
    isDirectory: () => stat.isDirectory(),
    isSymbolicLink: () => false,
  })
  if (kind !== 'file') return kind === 'directory' ? directory : other
  return [stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs, stat.mode].join(':')
}
