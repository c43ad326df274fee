import { compactConversation } from '../loop/compaction/compact.js'
import { run } from '../loop/run.js'
import { beginRun, startClock } from '../loop/run-state.js'
import type { SessionKernel } from './kernel.js'
import { partsFor } from './loop-parts.js'

/** Makes the model's view of the session smaller, whatever its size. */
export async function compactNow(
  kernel: SessionKernel,
  signal: AbortSignal,
): Promise<{ beforeMessages: number; afterMessages: number } | undefined> {
  const beforeMessages = kernel.conversation.view.length
  if (beforeMessages === 0) return undefined
  const parts = { ...(await partsFor(kernel, signal, kernel.conversation)), emit: kernel.emit }
  const clock = startClock(parts)
  try {
    const changed = await compactConversation(beginRun(parts, clock, undefined), run, { asked: true })
    return changed ? { beforeMessages, afterMessages: kernel.conversation.view.length } : undefined
  } finally {
    clock.stop()
  }
}
