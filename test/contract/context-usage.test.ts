import { describe, expect, it } from 'vitest'
import { FileMemoryStore } from '../../src/memory/index.js'
import { SessionBusyError } from '../../src/session/errors.js'
import { temporaryDirectory } from '../support/temporary-directory.js'
import { bodyOf, calls, collect, openSession, until } from './open-session.js'

const big = 'a line of the notes\n'.repeat(400)

describe('session.contextUsage', () => {
  it('divides the window into system, tools, files, memory and history, and sends no request', async () => {
    const memoryStore = new FileMemoryStore(temporaryDirectory())
    const { server, session } = await openSession(
      [calls(['read', { file_path: 'notes.md' }]), 'done'],
      { memoryStore },
      { 'AGENTS.md': 'Use tabs. '.repeat(100), 'notes.md': big },
    )
    await session.rememberSuccess('read the notes about tabs', ['read'], 'the notes say tabs')
    await session.send('read the notes about tabs')
    const requests = server.requests.length
    const usage = await session.contextUsage()
    expect(server.requests).toHaveLength(requests)
    expect(usage.model).toBe('openai/docs-model')
    expect(usage).toMatchObject({ windowTokens: 200_000, windowAssumed: true, counted: true })
    expect(usage.parts.map(({ name }) => name)).toEqual(['system', 'tools', 'files', 'memory', 'history'])
    expect(usage.parts.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(usage.usedTokens)
    for (const { name, tokens } of usage.parts) expect(tokens, name).toBeGreaterThan(0)
    const [, tools, files, memory, history] = usage.parts
    expect(files?.largest.map(({ name }) => name)).toEqual(['notes.md', 'AGENTS.md'])
    expect(files?.count).toBe(2)
    expect(tools?.count).toBe(bodyOf(server, 0).tools?.length)
    expect(tools?.largest).toHaveLength(5)
    expect(memory?.count).toBe(1)
    expect(history?.count).toBe(4)
  })

  it('uses the window of the configuration, and says when compaction starts and what a summary replaces', async () => {
    const { session } = await openSession(['an answer'], { autoCompactThreshold: 0.5 })
    const before = await session.contextUsage()
    expect(before.compaction).toMatchObject({ auto: true, atTokens: 100_000, summaryReplacesTokens: 0 })
    expect(before.counted).toBe(false)
    await session.send('a question '.repeat(400))
    const { compaction } = await session.contextUsage()
    expect(compaction.summaryReplacesTokens).toBeGreaterThan(0)
    expect(compaction.pruneFreesTokens).toBe(0)
  })

  it('is shown by /context', async () => {
    const { session } = await openSession(
      [calls(['read', { file_path: 'notes.md' }]), 'done'],
      {},
      { 'notes.md': big },
    )
    await session.send('look')
    const { text } = await session.send('/context')
    expect(text).toContain('Model: openai/docs-model (window: 200,000 tokens, assumed')
    expect(text).toMatch(/Used: [\d,]+ tokens, \d+ %/)
    expect(text).toMatch(/files +[\d,]+ +\(1 file\)\n +notes\.md [\d,]+\n/)
    expect(text).toMatch(/history +[\d,]+ +\(4 messages\)/)
    expect(text).toMatch(/replace [\d,]+ tokens of messages by a summary/)
  })
})

describe('session.compact', () => {
  it('replaces what the model sees by a summary that covers the focus, and counts its cost', async () => {
    const { server, session } = await openSession([
      'first answer '.repeat(300),
      { text: 'THE SUMMARY', usage: { inputTokens: 70, outputTokens: 7 } },
      'next',
    ])
    await session.send('begin')
    const before = session.spending().usage.totalTokens
    expect(await session.compact({ focus: 'the parser' })).toEqual({ beforeMessages: 2, afterMessages: 1 })
    expect(session.spending().usage.totalTokens - before).toBe(77)
    expect(JSON.stringify(bodyOf(server, 1).messages)).toContain('cover this in detail: the parser.')
    expect(session.history()).toHaveLength(2)
    await session.send('continue')
    expect(JSON.stringify(bodyOf(server, 2).messages)).toContain('THE SUMMARY')
  })

  it('accepts the focus from /compact', async () => {
    const { server, session } = await openSession(['first answer '.repeat(300), 'THE SUMMARY'])
    await session.send('begin')
    expect((await session.send('/compact the parser')).text).toMatch(/Compacted: 2 messages became 1/)
    expect(JSON.stringify(bodyOf(server, 1).messages)).toContain('cover this in detail: the parser.')
  })

  it('does nothing on a new session, rejects a long focus, and rejects while a run is active', async () => {
    const { session } = await openSession([{ stall: true }])
    expect(await session.compact()).toBeNull()
    await expect(session.compact({ focus: 'x'.repeat(2_001) })).rejects.toThrow(/at most 2000/)
    const stream = await session.stream('work')
    await until(stream, 'turn_start')
    await expect(session.compact()).rejects.toBeInstanceOf(SessionBusyError)
    session.cancel()
    await collect(stream)
  })
})
