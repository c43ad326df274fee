import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import type { AgentEvent } from '../../src/loop/events.js'
import { scriptedModel } from '../../src/testing/index.js'
import { readEvents, startServer, token } from './support.js'

const readers = 100
const words = 400

describe('many readers of one process', () => {
  it('all get every event, while one in fifty reads nothing at all', async () => {
    const text = Array.from({ length: words }, (_, at) => `word${at}`).join(' ')
    const { url, call } = await startServer({
      session: { model: scriptedModel(Array.from({ length: 20 }, () => text)) },
    })
    const paths: string[] = []
    for (let count = 0; count < 20; count++) {
      const { sessionId } = (await call('POST', '/v1/sessions', {})).body
      const { runId } = (await call('POST', `/v1/sessions/${sessionId}/runs`, { prompt: `Count ${count}.` }))
        .body
      paths.push(`/v1/sessions/${sessionId}/runs/${runId}/events`)
    }
    const before = process.memoryUsage().rss
    // These open a stream and never read it.
    const { port } = new URL(url)
    const stalled = Array.from({ length: readers / 50 }, (_, at) => {
      const socket = connect(Number(port), '127.0.0.1')
      socket.pause()
      socket.write(`GET ${paths[at]} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`)
      return socket
    })
    const all = await Promise.all(
      Array.from({ length: readers }, (_, at) => readEvents(url, paths[at % paths.length] ?? '')),
    )
    for (const events of all) {
      expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, at) => at + 1))
      expect(textOf(events.map(({ event }) => event))).toBe(text)
      expect(events.at(-1)?.event.type).toBe('agent_end')
    }
    const grown = (process.memoryUsage().rss - before) / 2 ** 20
    console.log(
      `${readers} streams of ${all[0]?.length} events, 2 readers that read nothing: ${grown.toFixed(1)} MB more`,
    )
    // Readers and their events are in this process too: 100 copies of 400 events.
    expect(grown).toBeLessThan(200)
    for (const socket of stalled) socket.destroy()
  })
})

function textOf(events: readonly AgentEvent[]): string {
  return events.map((event) => (event.type === 'text_delta' ? event.text : '')).join('')
}
