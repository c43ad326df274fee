import { expect, it, vi } from 'vitest'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import { scriptedModel } from '../../src/testing/index.js'
import { directory, headers, startServer } from './support.js'

it('shows all events of a run of an earlier process, and reads its log once', async () => {
  const [store, workspace] = [new MemorySessionStore(), directory()]
  const options = { store, workspaces: [workspace], inspector: true }
  const model = scriptedModel([{ toolCalls: [{ name: 'glob', args: { pattern: '*' } }] }, 'Land in sight!'])
  const first = await startServer({ ...options, session: { model } })
  const { sessionId } = (await first.call('POST', '/v1/sessions', {})).body
  const { runId } = (await first.call('POST', `/v1/sessions/${sessionId}/runs`, { prompt: 'Look.' })).body
  const path = `/v1/sessions/${sessionId}/runs/${runId}/log`
  // The stream ends with the run.
  await (await fetch(`${first.url}${path.replace(/log$/, 'events')}`, { headers })).text()
  await first.stop()

  // Memory has the last events alone.
  const second = await startServer({
    ...options,
    session: { model, retentionLimits: { maxEventsPerRun: 3 } },
  })
  // This store has one way to read, which both of its methods take.
  const reads = vi.spyOn(store, 'readSync')
  const pages = [
    (await second.call('GET', `${path}?limit=4`)).body,
    (await second.call('GET', `${path}?from=4`)).body,
  ]
  const types = pages.flatMap(({ events }) =>
    events.map(({ event }: { event: { type: string } }) => event.type),
  )
  expect([types[0], types.at(-1)]).toEqual(['agent_start', 'agent_end'])
  expect(types).toContain('tool_end')
  expect(types.length).toBeGreaterThan(6)
  expect(reads).toHaveBeenCalledTimes(1)
})
