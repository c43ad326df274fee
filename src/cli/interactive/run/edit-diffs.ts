import { diffOf } from '../../../session/history/dry-run.js'
import { EditWatch } from '../../../session/history/watch-edits.js'
import type { AgentMiddleware } from '../../../tool/middleware.js'

/**
 * Reports the changes of each file tool call as unified diffs, for the session and its subagents. A call whose diff was
 * part of a question is skipped, because the user has seen it.
 */
export class EditDiffs {
  readonly middleware: AgentMiddleware
  readonly #seen = new Set<string>()
  readonly #watch: EditWatch

  constructor(root: string, report: (diffs: readonly string[]) => void) {
    this.#watch = new EditWatch(root, async ({ callId, edits }) => {
      if (this.#seen.delete(callId) || edits.length === 0) return
      report(await Promise.all(edits.map(diffOf)))
    })
    this.middleware = this.#watch.middleware
  }

  /** Records that the user has seen the changes of this call. */
  seen(callId: string): void {
    if (this.#watch.isActive(callId)) this.#seen.add(callId)
  }

  /** Drops calls that did not end. */
  clear(): void {
    this.#watch.clear()
    this.#seen.clear()
  }
}
