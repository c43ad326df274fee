import { compactConversation } from '../loop/compaction/compact.js'
import { run } from '../loop/run.js'
import { beginRun, startClock } from '../loop/run-state.js'
import type { SessionCore } from './core.js'
import { partsFor } from './loop-parts.js'

/** Makes the model's view of the session smaller, whatever its size. */
export async function compactNow(
  core: SessionCore,
  signal: AbortSignal,
): Promise<{ beforeMessages: number; afterMessages: number } | undefined> {
  const beforeMessages = core.conversation.view.length
  if (beforeMessages === 0) return undefined
  const parts = { ...(await partsFor(core, signal, core.conversation)), emit: core.emit }
  const clock = startClock(parts)
  try {
    const changed = await compactConversation(beginRun(parts, clock, undefined), run, { asked: true })
    return changed ? { beforeMessages, afterMessages: core.conversation.view.length } : undefined
  } finally {
    clock.stop()
  }
}
