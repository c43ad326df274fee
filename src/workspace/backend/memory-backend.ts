import type { MemoryFiles } from '../files/memory-files.js'
import type { WorkspaceBackend } from './backend.js'

/**
 * Creates a workspace in memory, for tests and for agents that work on documents: a session reads, writes and searches
 * these files. Commands run in the sandbox, on a private copy of them.
 *
 * @example
 * const files = createMemoryFiles({ files: { 'notes.md': '# Notes\n' } })
 * const session = agent.session('.', { workspaceBackend: createMemoryBackend(files) })
 */
export function createMemoryBackend(files: MemoryFiles): WorkspaceBackend {
  const { root, fileSystem, lockName } = files
  return {
    kind: 'memory',
    root,
    open: async () => ({
      root,
      fileSystem,
      id: lockName,
      copiedCommands: {},
      close: async () => undefined,
    }),
  }
}
