import { compactConversation } from '../loop/compaction/compact.js'
import { run } from '../loop/run.js'
import { beginRun, startClock } from '../loop/run-state.js'
import type { SessionKernel } from './kernel.js'
import { partsFor } from './loop-parts.js'

/** Options of `session.compact`. */
export type CompactOptions = {
  /** What the summary must cover in detail: at most 2,000 characters. */
  readonly focus?: string | undefined
}

/** The number of messages that the model sees before and after a compaction. */
export type CompactOutcome = { readonly beforeMessages: number; readonly afterMessages: number }

/** Compacts the conversation, regardless of its size. */
export async function compactNow(
  kernel: SessionKernel,
  signal: AbortSignal,
  { focus }: CompactOptions = {},
): Promise<CompactOutcome | undefined> {
  checkFocus(focus)
  const beforeMessages = kernel.log.conversation.view.length
  if (beforeMessages === 0) return undefined
  const parts = { ...(await partsFor(kernel, signal, kernel.log.conversation)), emit: kernel.emit }
  const clock = startClock(parts)
  try {
    const changed = await compactConversation(beginRun(parts, clock, undefined), run, {
      asked: true,
      focus: focus?.trim() || undefined,
    })
    return changed ? { beforeMessages, afterMessages: kernel.log.conversation.view.length } : undefined
  } finally {
    clock.stop()
  }
}

/** Compacts for the host. Refused while a run is active. */
export async function compactForHost(
  kernel: SessionKernel,
  options: CompactOptions,
): Promise<CompactOutcome | null> {
  checkFocus(options.focus)
  return kernel.alone('compact', async () => {
    await kernel.log.recorder?.open()
    const done = await compactNow(kernel, kernel.signal, options)
    await kernel.spending.save()
    return done ?? null
  })
}

function checkFocus(focus: unknown): void {
  if (focus === undefined) return
  if (typeof focus !== 'string') throw new TypeError('compact: focus must be a string.')
  if (focus.length > maxFocusLength)
    throw new TypeError(
      `compact: focus has ${focus.length} characters; at most ${maxFocusLength} are allowed.`,
    )
}

const maxFocusLength = 2_000
