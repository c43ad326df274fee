export type { Permit } from './access.js'
export * from './errors.js'
export type { FileSystemStat, WorkspaceFileSystem } from './file-system.js'
export {
  createLocalFiles,
  type ForCall,
  type LocalFiles,
  type LocalFilesOptions,
  type ModeWriteOptions,
  type WorkspaceFiles,
} from './local-files.js'
export { createMemoryFiles, type MemoryFiles, type MemoryFilesOptions } from './memory-files.js'
export type { OpenMethod } from './open-directory.js'
