import type { Permit } from './access.js'
import { containPath } from './contained-path.js'
import type { WorkspaceFileSystem } from './file-system.js'
import { createGuardedFiles } from './guarded-files.js'
import type { WorkspaceFiles } from './local-files.js'
import { createMemoryFileSystem } from './memory-file-system.js'
import { linuxStyle } from './path-style.js'

/** Options of {@link createMemoryFiles}. */
export type MemoryFilesOptions = {
  /** The virtual path of the root. */
  readonly root?: string | undefined
  /** The initial files, by path from the root. */
  readonly files?: Readonly<Record<string, string | Uint8Array>> | undefined
  readonly protect?: readonly string[] | undefined
  readonly permit?: Permit | undefined
  readonly maxFileBytes?: number | undefined
  readonly maxEntries?: number | undefined
  /** Returns the time of a change. Default: each change is one millisecond after the last. */
  readonly clock?: (() => number) | undefined
}

/** Files that exist only in memory. */
export interface MemoryFiles extends WorkspaceFiles {
  /** The file system below these files, without their checks, for a workspace backend. */
  readonly fileSystem: WorkspaceFileSystem
  /** Distinguishes these files from all others in memory. */
  readonly lockName: string
}

/**
 * Creates the files of a workspace in memory, for tests and for hosts without a disk. They behave as on a disk, without
 * links. A session uses them through {@link createMemoryBackend}.
 *
 * @example
 * const files = createMemoryFiles({ files: { 'readme.md': '# Hello\n' } })
 * await files.readText('readme.md')
 */
export function createMemoryFiles(options: MemoryFilesOptions = {}): MemoryFiles {
  const { root = '/workspace', files = {}, clock, ...limits } = options
  const fileSystem = createMemoryFileSystem({ root, files: bytesByPath(root, files), clock })
  worlds += 1
  const lockName = `memory-${worlds}`
  return { ...createGuardedFiles(fileSystem, { ...limits, root, lockName }), fileSystem, lockName }
}

let worlds = 0

function bytesByPath(
  root: string,
  files: Readonly<Record<string, string | Uint8Array>>,
): ReadonlyMap<string, Uint8Array> {
  const workspace = { kind: 'workspace', path: root, given: root } as const
  const area = { style: linuxStyle, workspace, roots: () => [workspace] }
  return new Map(
    Object.entries(files).map(([path, data]) => [
      containPath(area, path).absolute,
      typeof data === 'string' ? new TextEncoder().encode(data) : data.slice(),
    ]),
  )
}
