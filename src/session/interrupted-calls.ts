import type { UnfinishedRound } from '../loop/run-parts.js'
import { featuresWith } from './features-with.js'
import { canResumeCall } from './journal/call-steps.js'
import { interruptedResults, type OpenCalls, unfinishedRound } from './journal/interrupted.js'
import type { SessionKernel } from './kernel.js'

/** The calls that an earlier process left without a result, until they are answered or made again. */
export class InterruptedCalls {
  readonly #kernel: SessionKernel
  #closed = false

  constructor(kernel: SessionKernel) {
    this.#kernel = kernel
  }

  /** The records of these calls. */
  get open(): OpenCalls {
    const { restored } = this.#kernel
    return restored === undefined || this.#closed ? { openIntents: [] } : restored
  }

  /** Adds a result with what is known for each of them, before anything else is added to the conversation. */
  async close(): Promise<void> {
    const { restored, confirmations } = this.#kernel
    const { conversation } = this.#kernel.log
    if (restored === undefined || this.#closed) return
    this.#closed = true
    confirmations.forgetSaved()
    for (const feature of featuresWith('forgetCalls')) feature.forgetCalls(this.#kernel)
    const results = interruptedResults(conversation.messages, restored, this.#kernel.now())
    if (results !== undefined) await conversation.append(results.message, results)
  }

  /**
   * Returns the last answer of these runs, if it has calls that an earlier process did not make and that can be made
   * now.
   */
  unfinishedRound(family: ReadonlySet<string>): UnfinishedRound | undefined {
    const { restored } = this.#kernel
    const { conversation } = this.#kernel.log
    if (restored === undefined || this.#closed) return undefined
    const last = conversation.kept.at(-1)
    const own = last?.row.runId !== undefined && family.has(last.row.runId)
    const canResume = (_: string, callId: string): boolean =>
      own &&
      (canResumeCall(restored, last.id, callId) ||
        featuresWith('canResumeCall').some((feature) => feature.canResumeCall(this.#kernel, last.id, callId)))
    return unfinishedRound(conversation.messages, restored, { family, now: this.#kernel.now(), canResume })
  }

  /** Returns the unfinished round for a run that finishes it, and marks its calls as handled. */
  takeUnfinishedRound(family: ReadonlySet<string>): UnfinishedRound | undefined {
    const unfinished = this.unfinishedRound(family)
    if (unfinished !== undefined) this.#closed = true
    return unfinished
  }
}
