import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import { describe, expect, it } from 'vitest'
import { createClient, type PlacedEvent, ProblemError } from '../../src/client/index.js'
import { MemorySessionStore } from '../../src/store/index.js'
import { scriptedModel } from '../../src/testing/index.js'
import { root } from '../house/run.js'
import { directory, startServer, token } from './support.js'

const counting = Array.from({ length: 12 }, (_, at) => `word${at}`).join(' ')

/** Breaks the body of each event stream after so many chunks, the last of them cut in half. */
function cuttingFetch(chunks: number): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    if (!response.headers.get('content-type')?.includes('event-stream') || response.body === null)
      return response
    let left = chunks
    const cut = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        left -= 1
        controller.enqueue(left > 0 ? chunk : chunk.slice(0, chunk.length / 2))
        if (left <= 0) controller.error(new Error('the connection broke'))
      },
    })
    return new Response(response.body.pipeThrough(cut), {
      status: response.status,
      headers: response.headers,
    })
  }
}

describe('the client', () => {
  it.each([3, 4, 7])('gets every event once when connections break after %i chunks', async (chunks) => {
    const { url } = await startServer({ session: { model: scriptedModel([counting]) } })
    const client = createClient({ url, token, fetch: cuttingFetch(chunks), reconnectMs: 1 })
    const session = await client.createSession()
    const run = await session.run('Count.')
    const events: PlacedEvent[] = []
    for await (const one of run.events()) events.push(one)
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, at) => at + 1))
    expect(events.map(({ event }) => (event.type === 'text_delta' ? event.text : '')).join('')).toBe(counting)
    expect((await run.get()).status).toBe('completed')
  })

  it('answers an approval, and resumes a run in the next server', async () => {
    const store = new MemorySessionStore()
    const workspaces = [directory()]
    const call = { name: 'write', args: { file_path: 'a.txt', content: 'x' }, id: 'call-1' }
    const first = await startServer({
      store,
      workspaces,
      session: { model: scriptedModel([{ toolCalls: [call] }]) },
    })
    let url = first.url
    const moved: typeof fetch = (input, init) => fetch(String(input).replace(/^http:\/\/[^/]+/, url), init)
    const client = createClient({ url, token, fetch: moved, reconnectMs: 10 })
    const session = await client.createSession()
    const types: string[] = []
    for await (const event of await session.run('Write.')) {
      types.push(event.type)
      if (event.type !== 'confirmation_required' || url !== first.url) continue
      const second = await startServer({ store, workspaces, session: { model: scriptedModel(['Done.']) } })
      await first.stop()
      url = second.url
      expect(await session.approvals()).toMatchObject([{ callId: 'call-1', fromBefore: true }])
      await session.answerApproval('call-1', { decision: 'once' })
    }
    expect(types.filter((type) => type === 'agent_end')).toHaveLength(1)
    expect(types.at(-1)).toBe('agent_end')
  })

  it('throws the code of a problem, and does not request a missing resource again', async () => {
    const { url } = await startServer()
    const client = createClient({ url, token })
    const error = await client
      .call('getSession', { params: { sessionId: 'nothing' } })
      .catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ProblemError)
    expect(error).toMatchObject({ status: 404, code: 'session_not_found' })
    const events = client.session('nothing').runOf('x').events()
    await expect(events.next()).rejects.toMatchObject({ code: 'session_not_found' })
    await expect(createClient({ url }).sessions()).rejects.toMatchObject({
      status: 401,
      code: 'unauthorized',
    })
  })

  it('is under 8 KB gzipped, and needs nothing of Node', async () => {
    const bundle = await rolldown({
      input: join(root, 'src/client/index.ts'),
      platform: 'browser',
      logLevel: 'silent',
    })
    const { output } = await bundle.generate({ format: 'esm', minify: true })
    await bundle.close()
    const [{ code, imports }] = output
    expect(output).toHaveLength(1)
    expect(imports).toEqual([])
    expect(gzipSync(code).length).toBeLessThan(8 * 1024)
  })
})
