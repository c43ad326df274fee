import { load } from '../session/journal/restore.js'
import type { Session } from '../session/session.js'
import { restoredSpending } from '../session/spending.js'
import { isHeld } from '../store/is-held.js'
import type { RunRow } from '../store/records.js'
import type { SessionInfo } from '../store/session-store.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import type { SessionPool } from './session-pool.js'

/** What a list shows about a session, in addition to its row in the store. */
export type SessionSummary = {
  /** `waiting`: a call or a question waits for a user. */
  readonly status: 'running' | 'waiting' | 'interrupted' | 'failed' | 'cancelled' | 'completed' | 'idle'
  readonly agent?: string | undefined
  readonly model?: string | undefined
  readonly principal?: string | undefined
  /** True for the session of a subagent; `parentId` names the session that started it. */
  readonly isSubagent: boolean
  readonly runs: number
  readonly messages: number
  readonly totalTokens: number
  readonly costUsd?: number | undefined
  /** The first characters of the first prompt. */
  readonly prompt?: string | undefined
}

/** Reads summaries of sessions. A session whose log has not grown since is not read again. */
export class SessionSummaries {
  readonly #pool: SessionPool
  readonly #now: () => number
  readonly #known = new Map<string, Known>()

  constructor(pool: SessionPool, now: () => number) {
    this.#pool = pool
    this.#now = now
  }

  async of(info: SessionInfo): Promise<SessionSummary | undefined> {
    const open = this.#pool.open().find(({ sessionId }) => sessionId === info.id)
    const known = await this.#read(info)
    if (known === undefined) return undefined
    return { ...known.summary, status: await this.#statusOf(info.id, known.last, open) }
  }

  /** Returns the newest runs that a trigger started, newest first. */
  async triggeredRuns(info: SessionInfo): Promise<readonly RunRow[]> {
    return (await this.#read(info))?.triggered ?? []
  }

  async #read(info: SessionInfo): Promise<Known | undefined> {
    const before = this.#known.get(info.id)
    if (before !== undefined && before.updatedAtMs === info.updatedAtMs) return before
    // A damaged log is listed without a summary.
    const state = await load(this.#pool.store, info.id).catch(() => undefined)
    if (state === undefined) return undefined
    const runs = [...state.runs.values()]
    const { usage, costUsd } = restoredSpending(state).total.list()
    const { agent, task } = state.session ?? {}
    const model =
      state.messages.findLast(({ row }) => row.model !== undefined)?.row.model ?? state.session?.model
    const known: Known = {
      updatedAtMs: info.updatedAtMs,
      last: runs.at(-1),
      triggered: runs
        .filter(({ trigger }) => trigger !== undefined)
        .slice(-maxTriggered)
        .reverse(),
      summary: {
        ...omitUndefined({
          agent,
          model: model && `${model.provider}/${model.id}`,
          principal: info.labels?.['principal'],
          costUsd,
          prompt: runs[0]?.prompt.slice(0, maxPrompt),
        }),
        isSubagent: task !== undefined,
        runs: runs.length,
        messages: state.messages.length,
        totalTokens: usage.totalTokens,
      },
    }
    this.#known.set(info.id, known)
    if (this.#known.size > maxKnown) {
      const [oldest] = this.#known.keys()
      if (oldest !== undefined) this.#known.delete(oldest)
    }
    return known
  }

  async #statusOf(
    sessionId: string,
    last: RunRow | undefined,
    open: Session | undefined,
  ): Promise<SessionSummary['status']> {
    const waiting = [...(open?.pendingConfirmations() ?? []), ...(open?.pendingQuestions() ?? [])]
    if (waiting.length > 0) return 'waiting'
    if (open !== undefined && (await open.currentRun()) !== null) return 'running'
    if (last === undefined) return 'idle'
    if (last.status !== 'running' && last.status !== 'queued') return last.status
    return (await isHeld(this.#pool.store, sessionId, this.#now)) ? 'running' : 'interrupted'
  }
}

type Known = {
  readonly updatedAtMs: number | undefined
  readonly last: RunRow | undefined
  readonly triggered: readonly RunRow[]
  readonly summary: Omit<SessionSummary, 'status'>
}

const maxTriggered = 10
const maxPrompt = 200
const maxKnown = 2_000
