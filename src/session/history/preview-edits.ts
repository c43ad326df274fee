import type { AnyGovernedTool } from '../../tool/contract.js'
import { messageOf } from '../../tool/errors.js'
import type { FileChange, RuntimeFiles } from '../../tool/runtime.js'
import { editTool, patchTool, writeTool } from '../../toolbox/index.js'
import { createLocalFiles } from '../../workspace/files/index.js'

/** The change of one file by a call: its text before and after; undefined if there is no file. */
export type FileEdit = {
  /** Relative to the workspace. */
  readonly path: string
  readonly movedTo?: string | undefined
  readonly before: string | undefined
  readonly after: string | undefined
}

/** The changes that a call would make to files, or why it would fail. */
export type EditPreview = { readonly edits: readonly FileEdit[] } | { readonly whyNot: string }

/**
 * Runs a file tool without writing its changes, to show what it would do. Undefined for other tools. `place` is a
 * directory of this machine, or the files of a remote workspace.
 */
export async function previewEdits(
  toolName: string,
  args: unknown,
  place: string | RuntimeFiles,
): Promise<EditPreview | undefined> {
  const tool = editingTool(toolName)
  if (tool === undefined) return undefined
  const real = typeof place === 'string' ? createLocalFiles({ root: place }) : place
  const changes: FileChange[] = []
  try {
    await tool.call(args, { runtime: { files: pretending(real, changes) } })
    return { edits: await Promise.all(changes.map((change) => editOf(change, real))) }
  } catch (error) {
    return { whyNot: messageOf(error) }
  }
}

/** Returns the built-in tool with this name that changes files. */
export function editingTool(toolName: string): AnyGovernedTool | undefined {
  return editing.find(({ name }) => name === toolName)
}

/** Larger files are not shown. */
export const maxShownBytes = 4 * 1024 * 1024

const editing: readonly AnyGovernedTool[] = [editTool, writeTool, patchTool]

function pretending(real: RuntimeFiles, changes: FileChange[]): RuntimeFiles {
  const no = async (): Promise<never> => {
    throw new Error('not available in a dry run')
  }
  return {
    root: real.root,
    stat: (path) => real.stat(path),
    list: (path) => real.list(path),
    read: (path, options) => real.read(path, { maxBytes: maxShownBytes, ...options }),
    readText: (path, options) => real.readText(path, { maxBytes: maxShownBytes, ...options }),
    readRange: (path, start, end) => real.readRange(path, start, end),
    async write(path, data) {
      const after = typeof data === 'string' ? data : new TextDecoder().decode(data)
      changes.push({ kind: 'create', path, after })
      return { path, bytes: Buffer.byteLength(after), created: false, version: '' }
    },
    async change(all) {
      changes.push(...all)
    },
    remove: no,
    move: no,
  }
}

async function editOf(change: FileChange, real: RuntimeFiles): Promise<FileEdit> {
  const before = await textOf(change, real)
  return {
    path: change.path,
    movedTo: change.kind === 'move' ? change.to : undefined,
    before,
    after: change.kind === 'remove' ? undefined : (change.after ?? before),
  }
}

/** Returns the text of a file; undefined if it does not exist yet. */
async function textOf({ path }: FileChange, real: RuntimeFiles): Promise<string | undefined> {
  const exists = await real.stat(path).then(
    () => true,
    () => false,
  )
  return exists ? real.readText(path, { maxBytes: maxShownBytes }) : undefined
}
