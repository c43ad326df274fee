import { describe, expect, it } from 'vitest'
import type { HistoryMessage } from '../../src/session/history-blocks.js'
import {
  bodyOf,
  calls,
  collect,
  eventsOf,
  later,
  ofType,
  openSession,
  shownTools,
  toolResults,
  until,
} from './open-session.js'

const five = { text: 'docs smoke ok', usage: { inputTokens: 3, outputTokens: 2 } }

describe('send', () => {
  it('returns every field of the result, with the tokens that the provider counted', async () => {
    const { session } = await openSession([five])
    const result = await session.send('Return a short answer')
    expect(result).toMatchObject({
      text: 'docs smoke ok',
      toolCallsCount: 0,
      promptTokens: 3,
      completionTokens: 2,
      totalTokens: 5,
      verificationStatus: 'skipped',
      pendingVerificationCount: 0,
      failedVerificationCount: 0,
      verificationReportCount: 0,
    })
    expect(JSON.parse(result.verificationSummaryJson)).toEqual(result.verificationSummary)
    expect(result.verificationSummaryText).toMatch(/skipped/)
  })

  it.each(['own', 'last', 'every', 'none'] as const)(
    'counts tokens once when usage comes in %s',
    async (usagePlacement) => {
      const { session } = await openSession([{ ...five, usagePlacement }])
      const { totalTokens } = await session.send('hi')
      if (usagePlacement === 'none') expect(totalTokens).toBeGreaterThanOrEqual(0)
      else expect(totalTokens).toBe(5)
    },
  )

  it('sums tokens and calls over the whole run', async () => {
    const { session } = await openSession([
      { ...calls(['ls', { path: '.' }], ['ls', { path: '.' }]), usage: { inputTokens: 10, outputTokens: 1 } },
      five,
    ])
    expect(await session.send('hi')).toMatchObject({ toolCallsCount: 2, totalTokens: 16, rounds: 2 })
  })

  it('rejects a prompt that is not text, or empty', async () => {
    const { server, session } = await openSession(['never'])
    await expect(session.send(3 as never)).rejects.toThrow(/prompt must be a string/)
    await expect(session.send('  \n')).rejects.toThrow(/empty/)
    expect(server.requests).toHaveLength(0)
    expect(await session.runs()).toEqual([])
  })

  it('is queued while another runs, in order', async () => {
    const gate = later()
    const { server, session } = await openSession(async (_, n) => {
      if (n === 0) await gate.promise
      return `answer ${n}`
    })
    const order: string[] = []
    const sends = ['a', 'b', 'c'].map((prompt) =>
      session.send(prompt).then(({ text }) => order.push(`${prompt} ${text}`)),
    )
    await server.request(0)
    expect((await session.runs()).map(({ status }) => status)).toEqual(['running', 'queued', 'queued'])
    gate.resolve()
    await Promise.all(sends)
    expect(order).toEqual(['a answer 0', 'b answer 1', 'c answer 2'])
  })

  it('rejects instead when configured so', async () => {
    const gate = later()
    const { server, session } = await openSession(
      async () => {
        await gate.promise
        return 'ok'
      },
      { whenBusy: 'reject', sessionId: 'busy' },
    )
    const first = session.send('a')
    await server.request(0)
    await expect(session.send('b')).rejects.toThrow(/Session 'busy' already has an active operation/)
    gate.resolve()
    expect((await first).text).toBe('ok')
    expect((await session.send('c')).text).toBe('ok')
  })

  it('continues after a run that failed', async () => {
    const { session } = await openSession([{ status: 400, message: 'no' }, 'fine'])
    await expect(session.send('a')).rejects.toThrow(/400|no/)
    expect((await session.send('b')).text).toBe('fine')
  })

  it.each(['second argument', 'request'] as const)(
    'is isolated with its own history in the %s',
    async (how) => {
      const { server, session } = await openSession(['first', 'isolated', 'third'])
      await session.send('hello')
      const before = structuredClone(session.history())
      const history: HistoryMessage[] = [
        { role: 'user', content: [{ type: 'text', text: 'other question' }] },
        { role: 'assistant', content: [{ type: 'text', text: 'other answer' }] },
      ]
      const result = await (how === 'request'
        ? session.send({ prompt: 'continue', history })
        : session.send('continue', history))
      expect(result.text).toBe('isolated')
      expect(session.history()).toEqual(before)
      const texts = JSON.stringify(bodyOf(server, 1).messages)
      expect(texts).toContain('other answer')
      expect(texts).not.toContain('hello')
      await session.send('again')
      expect(JSON.stringify(bodyOf(server, 2).messages)).not.toContain('continue')
    },
  )

  it('accepts the history of a session, with its tool calls', async () => {
    const { server, session } = await openSession(
      [calls(['ls', { path: '.' }]), 'first', 'second'],
      {},
      { 'a.txt': '' },
    )
    await session.send('look')
    await session.send('and now', session.history())
    const messages = bodyOf(server, 2).messages
    expect(messages.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'assistant',
      'tool',
      'assistant',
      'user',
    ])
    expect(toolResults(server, 2)[0]).toContain('a.txt')
  })

  it('accepts histories with plain text as content, and rejects unknown roles', async () => {
    const { server, session } = await openSession(['ok'])
    await session.send('hi', [{ role: 'user', content: 'plain' as never }])
    expect(JSON.stringify(bodyOf(server, 0))).toContain('plain')
    await expect(session.send('hi', [{ role: 'robot' as never, content: [] }])).rejects.toThrow(/robot/)
  })

  it('sends attachments', async () => {
    const { server, session } = await openSession(['a cat'])
    const png = Buffer.from('89504e470d0a1a0a', 'hex')
    await session.send({ prompt: 'what is it?', attachments: [{ data: png, mediaType: 'image/png' }] })
    expect(JSON.stringify(bodyOf(server, 0).messages)).toContain(png.toString('base64'))
  })

  it('sends a text file as its text', async () => {
    const { server, session } = await openSession(['read'])
    const data = Buffer.from('a; b').toString('base64')
    await session.send({ prompt: 'sum?', attachments: [{ data, mediaType: 'text/csv', name: 'a.csv' }] })
    expect(JSON.stringify(bodyOf(server, 0).messages)).toContain('a; b')
  })

  it('rejects an attachment that the model does not support before a request', async () => {
    const { server, session } = await openSession(['fine'])
    const attachments = [{ data: 'aGk=', mediaType: 'audio/mpeg', name: 'memo.mp3' }]
    await expect(session.send({ prompt: 'what is said?', attachments })).rejects.toMatchObject({
      code: 'model_request_refused',
      message: expect.stringMatching(/does not accept audio \(memo\.mp3, audio\/mpeg\), so nothing was sent/),
    })
    expect(server.requests).toHaveLength(0)
    await session.send('then without it')
    expect(JSON.stringify(bodyOf(server, 0).messages)).not.toContain('memo')
  })

  it('is cancelled by the signal of its call, also while it is queued', async () => {
    const { server, session } = await openSession((_, n) => (n === 0 ? { stall: true } : 'fine'))
    const first = new AbortController()
    const second = new AbortController()
    const running = session.send('a', { signal: first.signal })
    const waiting = session.send('b', { signal: second.signal })
    await server.request(0)
    second.abort()
    await expect(waiting).rejects.toMatchObject({ code: 'cancelled' })
    expect((await session.currentRun())?.prompt).toBe('a')
    first.abort()
    await expect(running).rejects.toMatchObject({ code: 'cancelled' })
    expect(await server.requests[0]?.ended).toBe('left')
    expect((await session.send('c')).text).toBe('fine')
    expect((await session.runs()).map(({ status }) => status)).toEqual([
      'cancelled',
      'cancelled',
      'completed',
    ])
  })

  it('does not start with a signal that was already aborted', async () => {
    const { server, session } = await openSession(['never'])
    await expect(session.send('a', { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'cancelled',
    })
    expect(server.requests).toHaveLength(0)
  })
})

describe('stream', () => {
  const step = { text: 'one two three four', usage: { inputTokens: 3, outputTokens: 2 } }

  it('prints the text exactly once in a loop over next()', async () => {
    const { session } = await openSession([step])
    const stream = await session.stream('Stream one sentence')
    let printed = ''
    while (true) {
      const { value: event, done } = await stream.next()
      if (done) break
      if (!event) continue
      if ('text' in event && event.text) printed += event.text
    }
    expect(printed).toBe('one two three four')
    expect(await stream.next()).toEqual({ value: undefined, done: true })
  })

  it('prints the text exactly once in for await', async () => {
    const { session } = await openSession([step])
    let printed = ''
    for await (const event of await session.stream('x')) if ('text' in event) printed += event.text
    expect(printed).toBe('one two three four')
  })

  it('ends with an event that has the result of send and no text', async () => {
    const { session } = await openSession([step])
    const events = await eventsOf(session, 'x')
    expect(events[0]).toMatchObject({ type: 'agent_start', prompt: 'x' })
    const last = events.at(-1)
    expect(last).toMatchObject({
      type: 'agent_end',
      result: {
        text: 'one two three four',
        totalTokens: 5,
        toolCallsCount: 0,
        verificationStatus: 'skipped',
      },
    })
    expect(last).not.toHaveProperty('text')
  })

  it('emits tool calls with name, output and exit code', async () => {
    const { session } = await openSession([calls(['ls', { path: '.' }]), 'done'], {}, { 'a.txt': '' })
    const events = await eventsOf(session, 'x')
    expect(ofType(events, 'tool_start')[0]).toMatchObject({ toolName: 'ls' })
    expect(ofType(events, 'tool_end')[0]).toMatchObject({
      toolName: 'ls',
      exitCode: 0,
      isError: false,
      toolOutput: expect.stringContaining('a.txt'),
    })
    expect(ofType(events, 'turn_start').map(({ turn }) => turn)).toEqual([1, 2])
    expect(ofType(events, 'turn_end')).toHaveLength(2)
  })

  it('emits a failure as its last event, and rejects nothing', async () => {
    const { session } = await openSession([{ status: 400, message: 'bad request here' }])
    const events = await eventsOf(session, 'x')
    expect(events.at(-1)).toMatchObject({ type: 'error', error: expect.stringContaining('bad request here') })
  })

  it('cancels its run when its loop is left early: the server sees the request aborted', async () => {
    const { server, session } = await openSession((_, n) => (n === 0 ? { text: 'a b c', stall: 2 } : 'later'))
    for await (const event of await session.stream('x')) if (event.type === 'text_delta') break
    expect(await server.requests[0]?.ended).toBe('left')
    await session.send('next')
    expect((await session.runs()).map(({ status }) => status)).toEqual(['cancelled', 'completed'])
  })

  it('loses nothing for a late reader', async () => {
    const words = Array.from({ length: 3_000 }, (_, at) => `w${at} `)
    const { session } = await openSession([{ deltas: words }, 'next'])
    const stream = await session.stream('x')
    await session.send('y')
    const events = await collect(stream)
    expect(
      ofType(events, 'text_delta')
        .map(({ text }) => text)
        .join(''),
    ).toBe(words.join(''))
    expect(events.at(-1)?.type).toBe('agent_end')
  })
})

describe('history', () => {
  it('has roles and content blocks', async () => {
    const { session } = await openSession(
      [calls(['ls', { path: '.' }, 'call-1']), 'done'],
      {},
      { 'a.txt': '' },
    )
    await session.send('look')
    expect(session.history()).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'look' }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'call-1', name: 'ls', input: { path: '.' } }] },
      {
        role: 'tool',
        content: [
          {
            type: 'tool_result',
            toolUseId: 'call-1',
            name: 'ls',
            isError: false,
            resultContent: expect.stringContaining('a.txt'),
          },
        ],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'done' }] },
    ])
  })

  it('cannot be changed from outside', async () => {
    const { server, session } = await openSession([calls(['ls', { path: '.' }]), 'done', 'more'])
    await session.send('look')
    const history = session.history()
    const use = history[1]?.content[0]
    Object.assign(use?.input ?? {}, { path: '/etc' })
    history.length = 0
    await session.send('again')
    expect(JSON.stringify(bodyOf(server, 2).messages)).not.toContain('/etc')
    expect(session.history()).toHaveLength(6)
  })

  it('keeps the text of an answer that was cut off, and every call has a result', async () => {
    const { session, server } = await openSession((_, n) =>
      n === 0 ? { text: 'half of', stall: 2 } : 'fine',
    )
    const stream = await session.stream('x')
    await until(stream, 'text_delta')
    session.cancel()
    await collect(stream)
    await session.send('continue')
    expect(JSON.stringify(bodyOf(server, 1).messages)).toContain('half')
  })
})

describe('btw', () => {
  it('answers a side question with its own usage, and the history does not change', async () => {
    const { server, session } = await openSession([
      'first',
      { text: 'a test', usage: { inputTokens: 3, outputTokens: 2 } },
      'third',
    ])
    await session.send('hello there')
    const before = session.history()
    const side = await session.btw('What is this test?')
    expect(side).toEqual({
      question: 'What is this test?',
      answer: 'a test',
      promptTokens: 3,
      completionTokens: 2,
      totalTokens: 5,
    })
    expect(session.history()).toEqual(before)
    expect(JSON.stringify(bodyOf(server, 1).messages)).toContain('hello there')
    await session.send('next')
    expect(JSON.stringify(bodyOf(server, 2).messages)).not.toContain('What is this test?')
    expect(await session.runs()).toHaveLength(2)
  })

  it('works while a run is active', async () => {
    const gate = later()
    const { server, session } = await openSession(async (_, n) => {
      if (n === 0) await gate.promise
      return n === 0 ? 'main' : 'side'
    })
    const running = session.send('work')
    await server.request(0)
    expect((await session.btw('how is it going?')).answer).toBe('side')
    gate.resolve()
    expect((await running).text).toBe('main')
    expect(session.history()).toHaveLength(2)
  })

  it('rejects an empty question with the documented error', async () => {
    const { session } = await openSession([])
    await expect(session.btw('  ')).rejects.toThrow('btw: question cannot be empty')
  })

  it('runs no tool that the model calls in a side answer, and reports it', async () => {
    const { server, session } = await openSession(
      [calls(['write', { file_path: 'x.txt', content: 'x' }]), 'in words then'],
      { mode: 'full' },
    )
    expect((await session.btw('do it')).answer).toBe('in words then')
    expect(toolResults(server, 1)[0]).toMatch(/No tools/)
    expect(session.traceEvents()).toEqual([])
    expect(await session.glob('**')).toEqual([])
    expect(session.history()).toEqual([])
  })
})

describe('cancel and steer', () => {
  it('return false when no run is active', async () => {
    const { session } = await openSession(['x'])
    expect(session.cancel()).toBe(false)
    expect(session.steer('left')).toBe(false)
    await session.send('x')
    expect(session.cancel()).toBe(false)
    expect(session.steer('left')).toBe(false)
  })

  it('cancel ends the active run, and the session continues', async () => {
    const { server, session } = await openSession((_, n) => (n === 0 ? { stall: true } : 'fine'))
    const running = session.send('x')
    await server.request(0)
    expect(session.cancel()).toBe(true)
    expect(session.cancel()).toBe(false)
    await expect(running).rejects.toMatchObject({ code: 'cancelled' })
    expect(await server.requests[0]?.ended).toBe('left')
    expect((await session.send('y')).text).toBe('fine')
  })

  it('steer reaches the model at the next safe point', async () => {
    const { server, session } = await openSession([calls(['ls', { path: '.' }]), 'done'])
    const stream = await session.stream('x')
    await until(stream, 'tool_execution_start')
    expect(session.steer('rather look at b')).toBe(true)
    const events = await collect(stream)
    expect(ofType(events, 'steered')).toEqual([{ type: 'steered', prompt: 'rather look at b' }])
    expect(bodyOf(server, 1).messages.at(-1)).toMatchObject({ role: 'user' })
    expect(JSON.stringify(bodyOf(server, 1).messages.at(-1))).toContain('rather look at b')
    expect(shownTools(server, 1)).toContain('ls')
  })

  it('steer makes a run continue that was about to end', async () => {
    const gate = later()
    const { session } = await openSession(async (_, n) => {
      if (n === 0) await gate.promise
      return n === 0 ? 'first' : 'second'
    })
    const running = session.send('x')
    await session.currentRun()
    expect(session.steer('and more')).toBe(true)
    gate.resolve()
    expect((await running).text).toBe('second')
  })

  it('steer is not lost when the run stops by itself: the next one reads it', async () => {
    const { server, session } = await openSession([calls(['ls', { path: '.' }]), 'next'], {
      stopWhen: ({ rounds }) => rounds >= 1,
    })
    const stream = await session.stream('x')
    await until(stream, 'tool_execution_start')
    expect(session.steer('rather look at b')).toBe(true)
    expect(ofType(await collect(stream), 'steered')).toHaveLength(1)
    await session.send('y')
    expect(JSON.stringify(bodyOf(server, 1).messages)).toContain('rather look at b')
  })

  it('steer returns false after the model’s final answer, and for a command', async () => {
    const { session } = await openSession(['done'])
    const taken: boolean[] = []
    session.registerHook(
      'late',
      'post_response',
      null,
      null,
      () => void taken.push(session.steer('too late')),
    )
    session.registerCommand('x', 'X', () => {
      taken.push(session.steer('to a command'))
      return 'ok'
    })
    await session.send('go')
    await session.send('/x')
    expect(taken).toEqual([false, false])
    expect(session.history()).toHaveLength(2)
  })
})

describe('options of a request', () => {
  it('reach the provider', async () => {
    const { server, session } = await openSession(['ok'], { temperature: 0.25, maxTokens: 321 })
    await session.send('x')
    const body = JSON.stringify(server.requests[0]?.body)
    expect(body).toContain('"temperature":0.25')
    expect(body).toMatch(/"max(_completion)?_tokens":321/)
  })
})
