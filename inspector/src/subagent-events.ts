import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { client, type TimedEvent } from './api.js'

/** The events of one subagent. */
export type SubagentEvents = { readonly agent: string; readonly events: readonly TimedEvent[] }

const maxSubagents = 20
const maxEvents = 2_000

/** Reads the events of the subagents that a session started, again when one of them has ended. */
export function useSubagents(events: readonly TimedEvent[]): readonly SubagentEvents[] {
  const found = useSignal<readonly SubagentEvents[]>([])
  const started = events.flatMap(({ event }) =>
    event.type === 'subagent_start' ? [{ sessionId: event.sessionId, agent: event.agent }] : [],
  )
  const ended = events.filter(({ event }) => event.type === 'subagent_end').length
  useEffect(() => {
    const leaving = new AbortController()
    const read = async (): Promise<void> => {
      const all: SubagentEvents[] = []
      for (const { sessionId, agent } of started.slice(-maxSubagents))
        all.push({ agent, events: await eventsOf(sessionId, leaving.signal) })
      found.value = all
    }
    // A subagent in another store is not shown: the chart is still complete for the session itself.
    read().catch(() => undefined)
    return () => leaving.abort()
  }, [started.length, ended])
  return found.value
}

async function eventsOf(sessionId: string, signal: AbortSignal): Promise<TimedEvent[]> {
  const { runs } = await client.call('listRuns', { params: { sessionId } }, signal)
  const events: TimedEvent[] = []
  for (const { runId } of runs) {
    const query = { from: 0, limit: maxEvents, maxText: 100 }
    const page = await client.call('listRunEvents', { params: { sessionId, runId }, query }, signal)
    events.push(...(page.events.map((one) => ({ ...one, runId })) as TimedEvent[]))
  }
  return events
}
