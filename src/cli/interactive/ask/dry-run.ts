import { unifiedDiff } from '../../../session/history/unified-diff.js'
import type { AnyGovernedTool } from '../../../tool/contract.js'
import { messageOf } from '../../../tool/errors.js'
import type { FileChange, RuntimeFiles } from '../../../tool/runtime.js'
import { editTool, patchTool, writeTool } from '../../../toolbox/index.js'
import { createLocalFiles } from '../../../workspace/files/index.js'

/** The changes that a call would make to files, as unified diffs, or why it would fail. */
export type DryRun = { readonly diffs: readonly string[] } | { readonly whyNot: string }

/** Runs a file tool without writing its changes, to show what it would do. Undefined for other tools. */
export async function dryRun(toolName: string, args: unknown, root: string): Promise<DryRun | undefined> {
  const tool = editing.find(({ name }) => name === toolName)
  if (tool === undefined) return undefined
  const real = createLocalFiles({ root })
  const changes: FileChange[] = []
  try {
    await tool.call(args, { runtime: { files: pretending(real, changes) } })
    return { diffs: await Promise.all(changes.map((change) => diffOf(change, real))) }
  } catch (error) {
    return { whyNot: messageOf(error) }
  }
}

const editing: readonly AnyGovernedTool[] = [editTool, writeTool, patchTool]
const maxFileBytes = 4 * 1024 * 1024

function pretending(real: RuntimeFiles, changes: FileChange[]): RuntimeFiles {
  const no = async (): Promise<never> => {
    throw new Error('not available in a dry run')
  }
  return {
    root: real.root,
    stat: (path) => real.stat(path),
    list: (path) => real.list(path),
    read: (path, options) => real.read(path, { maxBytes: maxFileBytes, ...options }),
    readText: (path, options) => real.readText(path, { maxBytes: maxFileBytes, ...options }),
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

async function diffOf(change: FileChange, real: RuntimeFiles): Promise<string> {
  const before = await textOf(change, real)
  const after = change.kind === 'remove' ? '' : (change.after ?? before)
  const name = change.kind === 'move' ? `${change.path} → ${change.to}` : change.path
  const kind = before === undefined ? ' (new)' : change.kind === 'remove' ? ' (removed)' : ''
  return unifiedDiff(`${name}${kind}`, before ?? '', after ?? '')
}

/** The text of a file; undefined if it does not exist yet. */
async function textOf({ path }: FileChange, real: RuntimeFiles): Promise<string | undefined> {
  const exists = await real.stat(path).then(
    () => true,
    () => false,
  )
  return exists ? real.readText(path, { maxBytes: maxFileBytes }) : undefined
}
