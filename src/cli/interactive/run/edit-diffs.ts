import { unifiedDiff } from '../../../session/history/unified-diff.js'
import type { AnyGovernedTool } from '../../../tool/contract.js'
import type { AgentMiddleware } from '../../../tool/middleware.js'
import { editTool, patchTool, writeTool } from '../../../toolbox/index.js'
import { createLocalFiles, type LocalFiles } from '../../../workspace/files/index.js'

/** Texts by path; undefined for a missing file, or one that cannot be shown. */
type Texts = ReadonlyMap<string, string | undefined>

/**
 * Reports the changes of each file tool call as unified diffs, for the session and its subagents. A call whose diff was
 * part of a question is skipped, because the user has seen it.
 */
export class EditDiffs {
  readonly middleware: AgentMiddleware
  readonly #seen = new Set<string>()
  readonly #before = new Map<string, Texts>()

  constructor(root: string, report: (diffs: readonly string[]) => void) {
    const files = createLocalFiles({ root })
    this.middleware = {
      onToolInput: async ({ toolName, args, internalCallId }) => {
        const paths = await pathsOf(toolName, args)
        if (paths.length > 0) this.#before.set(internalCallId, await readAll(files, paths))
      },
      onToolOutput: async ({ internalCallId }) => {
        const before = this.#before.get(internalCallId)
        this.#before.delete(internalCallId)
        if (before === undefined || this.#seen.delete(internalCallId)) return
        const diffs = await compare(before, await readAll(files, [...before.keys()]))
        if (diffs.length > 0) report(diffs)
      },
    }
  }

  /** Records that the user has seen the changes of this call. */
  seen(callId: string): void {
    if (this.#before.has(callId)) this.#seen.add(callId)
  }

  /** Drops calls that did not end. */
  clear(): void {
    this.#before.clear()
    this.#seen.clear()
  }
}

const editing: readonly AnyGovernedTool[] = [editTool, writeTool, patchTool]
const maxBytes = 4 * 1024 * 1024

/** Never throws: middleware that throws would end the run. */
async function pathsOf(toolName: string, args: string): Promise<string[]> {
  const tool = editing.find(({ name }) => name === toolName)
  if (tool === undefined) return []
  try {
    const prepared = await tool.prepare(JSON.parse(args))
    if (!prepared.ok) return []
    const written = prepared.subjects.flatMap((subject) =>
      'fs' in subject && subject.fs === 'write' ? [subject.path] : [],
    )
    return [...new Set(written)]
  } catch {
    return []
  }
}

async function readAll(files: LocalFiles, paths: readonly string[]): Promise<Texts> {
  const texts = new Map<string, string | undefined>()
  for (const path of paths) texts.set(path, await files.readText(path, { maxBytes }).catch(() => undefined))
  return texts
}

async function compare(before: Texts, after: Texts): Promise<string[]> {
  const diffs: string[] = []
  for (const [path, old] of before) {
    const now = after.get(path)
    if (old === now) continue
    const kind = old === undefined ? ' (new)' : now === undefined ? ' (removed)' : ''
    diffs.push(await unifiedDiff(`${path}${kind}`, old ?? '', now ?? ''))
  }
  return diffs
}
