import type { AgentMiddleware } from '../../tool/middleware.js'
import { createLocalFiles, type LocalFiles } from '../../workspace/files/index.js'
import { editingTool, type FileEdit, maxShownBytes } from './preview-edits.js'

/** A call of a file tool, and its changes. */
export type WatchedEdits = {
  /** The id that the gate assigned to the call. */
  readonly callId: string
  /** The provider's id of the call, if there is one. */
  readonly toolCallId?: string | undefined
  readonly edits: readonly FileEdit[]
}

/** Reports what each call of a file tool changes, for a session and its subagents. */
export class EditWatch {
  readonly middleware: AgentMiddleware
  /** For each call that has not ended: texts by path, from before the call. */
  readonly #before = new Map<string, ReadonlyMap<string, string | undefined>>()

  constructor(root: string, report: (call: WatchedEdits) => void | Promise<void>) {
    const files = createLocalFiles({ root })
    this.middleware = {
      onToolInput: async ({ toolName, args, internalCallId }) => {
        const paths = await pathsOf(toolName, args)
        if (paths.length > 0) this.#before.set(internalCallId, await readAll(files, paths))
      },
      onToolOutput: async ({ internalCallId: callId, toolCallId }) => {
        const before = this.#before.get(callId)
        this.#before.delete(callId)
        if (before === undefined) return
        const after = await readAll(files, [...before.keys()])
        const edits = [...before].map(([path, old]) => ({ path, before: old, after: after.get(path) }))
        await report({ callId, toolCallId, edits: edits.filter((edit) => edit.before !== edit.after) })
      },
    }
  }

  /** Whether a call that changes files is active. */
  isActive(callId: string): boolean {
    return this.#before.has(callId)
  }

  /** Drops calls that did not end. */
  clear(): void {
    this.#before.clear()
  }
}

/** Returns the paths that a call changes. Never throws: middleware that throws would end the run. */
async function pathsOf(toolName: string, args: string): Promise<string[]> {
  const tool = editingTool(toolName)
  if (tool === undefined) return []
  try {
    const prepared = await tool.prepare(JSON.parse(args))
    if (!prepared.ok) return []
    const written = prepared.subjects.flatMap((subject) =>
      'fs' in subject && subject.fs === 'write' ? [subject.path] : [],
    )
    return [...new Set(written)]
  } catch {
    // The gate refuses such arguments.
    return []
  }
}

/** Reads the texts of files; undefined for a missing file, or one that cannot be shown. */
async function readAll(
  files: LocalFiles,
  paths: readonly string[],
): Promise<ReadonlyMap<string, string | undefined>> {
  const texts = new Map<string, string | undefined>()
  for (const path of paths)
    texts.set(path, await files.readText(path, { maxBytes: maxShownBytes }).catch(() => undefined))
  return texts
}
