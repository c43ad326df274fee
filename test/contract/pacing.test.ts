import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import type { AgentEvent } from '../../src/loop/events.js'
import { temporaryDirectory } from '../support/temporary-directory.js'

const answer = `data: ${JSON.stringify({
  id: 'c',
  choices: [{ index: 0, delta: { content: 'Done.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 },
})}\n\ndata: [DONE]\n\n`

/**
 * A provider that accepts so many requests in each window, says how many are left, and refuses the others. What a
 * window has left can be used later, so that a request counts for the window it was sent in, also when it arrives after
 * that.
 */
async function limitedProvider(most: number, windowMs: number) {
  let startedAt = performance.now()
  let allowed = most
  const counts = { served: 0, refused: 0 }
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      const now = performance.now()
      if (now - startedAt >= windowMs) [startedAt, allowed] = [now, allowed + most]
      const resetMs = Math.ceil(windowMs - (now - startedAt))
      const isServed = counts.served < allowed
      counts[isServed ? 'served' : 'refused'] += 1
      response.writeHead(isServed ? 200 : 429, {
        'content-type': isServed ? 'text/event-stream' : 'application/json',
        'x-ratelimit-limit-requests': String(most),
        'x-ratelimit-remaining-requests': String(Math.min(most, allowed - counts.served)),
        'x-ratelimit-reset-requests': `${resetMs}ms`,
        ...(!isServed && { 'retry-after-ms': String(resetMs) }),
      })
      response.end(isServed ? answer : '{"error":{"message":"too many","code":"rate_limit_exceeded"}}')
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, counts }
}

async function openAgent(baseUrl: string, rateLimit?: { requestsPerMinute: number }) {
  const root = temporaryDirectory()
  const agent = await Agent.create(
    { defaultModel: 'p/m', providers: { p: { baseUrl, models: ['m'], ...(rateLimit && { rateLimit }) } } },
    { userDir: join(root, '.user'), env: {} },
  )
  onTestFinished(() => agent.close())
  return (count: number) =>
    Promise.all(
      Array.from({ length: count }, async () => {
        const session = agent.session(root)
        const { text } = await session.send('Go.')
        await session.close()
        return text
      }),
    )
}

describe('many runs of one agent at once', () => {
  it('are sent as the responses of the provider allow, so that few or none of 50 are rejected', async () => {
    const { url, counts } = await limitedProvider(20, 1_000)
    const run = await openAgent(url)
    // The first response says what the provider accepts.
    await run(1)
    expect(await run(50)).toEqual(Array.from({ length: 50 }, () => 'Done.'))
    expect(counts.served).toBe(51)
    expect(counts.refused).toBeLessThanOrEqual(5)
  })

  it('all end when the provider rejects most of them at first', async () => {
    const { url, counts } = await limitedProvider(20, 500)
    const run = await openAgent(url)
    expect(await run(50)).toEqual(Array.from({ length: 50 }, () => 'Done.'))
    expect(counts.served).toBe(50)
  })

  it('report a wait as an event of the run', async () => {
    const { url } = await limitedProvider(1, 60_000)
    const root = temporaryDirectory()
    const agent = await Agent.create(
      { defaultModel: 'p/m', providers: { p: { baseUrl: url, models: ['m'] } } },
      { userDir: join(root, '.user'), env: {} },
    )
    onTestFinished(() => agent.close())
    const session = agent.session(root)
    await session.send('First.')
    const events: AgentEvent[] = []
    for await (const event of await session.stream('Second.')) {
      events.push(event)
      if (event.type === 'model_rate_limit_wait') session.cancel()
    }
    const waits = events.filter(({ type }) => type === 'model_rate_limit_wait')
    expect(waits).toEqual([{ type: 'model_rate_limit_wait', model: 'p/m', waitMs: expect.any(Number) }])
    expect(events.at(-1)?.type).toBe('agent_cancelled')
  })

  it('are never rejected within the configured limit', async () => {
    const { url, counts } = await limitedProvider(50, 60_000)
    const run = await openAgent(url, { requestsPerMinute: 50 })
    await run(50)
    expect(counts).toEqual({ served: 50, refused: 0 })
  })
})
