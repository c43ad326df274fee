import { useSignal } from '@preact/signals'
import { useCallback, useEffect, useRef } from 'preact/hooks'
import {
  client,
  describeFailure,
  followRun,
  type Run,
  readWhole,
  type SessionDetails,
  type TimedEvent,
} from './api.js'

import { readCopied } from './copied-messages.js'
import type { Item } from './timeline.js'

/** An event whose long texts were not read with it. */
export type CutEvent = { readonly runId: string; readonly sequence: number; readonly chars: number }

/** Reads the long texts of these events; they replace the events that the session has. */
export type Complete = (cut: readonly CutEvent[]) => void

/** The events of all runs of a session in order, and the details of the session. */
export type LoadedSession = {
  readonly details: SessionDetails | undefined
  readonly runs: readonly Run[]
  readonly events: readonly TimedEvent[]
  /** The entries that a fork copied from another session. */
  readonly copied: readonly Item[]
  readonly failure: string
  readonly complete: Complete
}

const pollMs = 2_000

/** Reads a session and follows its runs as long as the view is shown. */
export function useSession(sessionId: string): LoadedSession {
  const details = useSignal<SessionDetails | undefined>(undefined)
  const runs = useSignal<readonly Run[]>([])
  const events = useSignal<readonly TimedEvent[]>([])
  const copied = useSignal<readonly Item[]>([])
  const failure = useSignal('')
  const current = useRef<Complete>(() => undefined)
  useEffect(() => {
    const leaving = new AbortController()
    const { signal } = leaving
    const params = { sessionId }
    const byRun = new Map<string, TimedEvent[]>()
    const completing = new Set<string>()
    let order: string[] = []
    let frame = 0
    const show = (): void => {
      frame ||= requestAnimationFrame(() => {
        frame = 0
        events.value = order.flatMap((id) => byRun.get(id) ?? [])
      })
    }
    const follow = async (runId: string): Promise<void> => {
      const own: TimedEvent[] = []
      byRun.set(runId, own)
      for await (const more of followRun(sessionId, runId, signal)) {
        for (const one of more) own.push(one)
        show()
      }
    }
    const completeOne = async ({ runId, sequence }: CutEvent): Promise<void> => {
      const key = `${runId} ${sequence}`
      if (completing.has(key)) return
      completing.add(key)
      try {
        const whole = await readWhole(sessionId, runId, sequence, signal)
        const own = byRun.get(runId)
        const at = own?.findIndex((one) => one.sequence === sequence) ?? -1
        if (own === undefined || at < 0 || whole === undefined) return
        own[at] = whole
        show()
      } catch (error) {
        if (!signal.aborted) failure.value = describeFailure(error)
        completing.delete(key)
      }
    }
    current.current = (cut) => {
      for (const one of cut) void completeOne(one)
    }
    const readDetails = async (): Promise<void> => {
      details.value = await client.call('getSession', { params }, signal)
    }
    const readRuns = async (): Promise<void> => {
      runs.value = (await client.call('listRuns', { params }, signal)).runs
      order = runs.value.map(({ runId }) => runId)
      for (const id of order) if (!byRun.has(id)) void follow(id)
    }
    let timer: ReturnType<typeof setTimeout> | undefined
    const poll = async (): Promise<void> => {
      try {
        if (!document.hidden || runs.value.length === 0) {
          await Promise.all([readDetails(), readRuns()])
          failure.value = ''
        }
      } catch (error) {
        if (!signal.aborted) failure.value = describeFailure(error)
      }
      if (!signal.aborted) timer = setTimeout(poll, pollMs)
    }
    void poll()
    readCopied(sessionId, signal).then(
      (found) => {
        copied.value = found
      },
      // A failed request is not reported here: the requests for the session itself report failures.
      () => undefined,
    )
    return () => {
      leaving.abort()
      clearTimeout(timer)
      cancelAnimationFrame(frame)
    }
  }, [sessionId])
  const complete = useCallback<Complete>((cut) => current.current(cut), [])
  return {
    details: details.value,
    runs: runs.value,
    events: events.value,
    copied: copied.value,
    failure: failure.value,
    complete,
  }
}
