import { posix } from 'node:path'
import { createLocalFiles, type LocalFiles, type WorkspaceFiles } from '../files/local-files.js'
import { isInside } from '../inside.js'
import type { Scratch } from '../scratch/index.js'

/**
 * Adds the session's scratch directory, which is on this machine, to the files of a backend, under its own path: long
 * outputs are written there, and tools read them by that path.
 */
export function withScratch(files: WorkspaceFiles, scratch: Pick<Scratch, 'path'>): WorkspaceFiles {
  let own: LocalFiles | undefined
  const scratchFiles = (): LocalFiles | undefined => {
    if (scratch.path !== undefined) own ??= createLocalFiles({ root: scratch.path })
    return own
  }
  return routed(files, scratchFiles)
}

function routed(files: WorkspaceFiles, scratchFiles: () => WorkspaceFiles | undefined): WorkspaceFiles {
  const at = (path: string): WorkspaceFiles => {
    const own = scratchFiles()
    return own !== undefined && isInside(own.root, posix.normalize(path)) ? own : files
  }
  return {
    root: files.root,
    resolve: (path) => at(path).resolve(path),
    changedAt: (path) => at(path).changedAt(path),
    forCall: (call) => routed(files.forCall(call), () => scratchFiles()?.forCall(call)),
    stat: (path) => at(path).stat(path),
    whyNotRead: async (path) => at(path).whyNotRead?.(path),
    list: (path) => at(path).list(path),
    read: (path, options) => at(path).read(path, options),
    readText: (path, options) => at(path).readText(path, options),
    readRange: (path, start, end) => at(path).readRange(path, start, end),
    write: (path, data, options) => at(path).write(path, data, options),
    remove: (path) => at(path).remove(path),
    move: (from, to) => at(from).move(from, to),
    change: (changes) => {
      const own = scratchFiles()
      const isOwn = own !== undefined && changes.every(({ path }) => at(path) !== files)
      return (isOwn ? own : files).change(changes)
    },
  }
}
