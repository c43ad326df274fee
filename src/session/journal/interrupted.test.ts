import { describe, expect, it } from 'vitest'
import type { ToolQuestion } from '../../store/records.js'
import type { OpenIntent, OpenQuestion } from '../../store/session-state.js'
import type { AssistantContent, Message } from '../../tool/completion.js'
import { interruptedResults, unfinishedRound } from './interrupted.js'
import { isAboutCall, isExpired, questionFrom, waitingQuestions } from './questions.js'

type Call = Extract<AssistantContent, { type: 'tool_call' }>

const call = (id: string, args: object = {}, name = 'write'): Call => ({
  type: 'tool_call',
  id,
  function: { name, arguments: args as never },
})
const answer = (...content: AssistantContent[]): Message => ({ role: 'assistant', content })
const user: Message = { role: 'user', content: [{ type: 'text', text: 'go' }] }
const begun = (callId: string, idempotent = false): OpenIntent => ({
  messageId: 'm',
  intent: { type: 'tool_intent', callId, toolName: 'write', args: '{}', idempotent, startedAtMs: 0 },
})
const request = (toolCallId: string | undefined) =>
  ({
    toolCallId,
    toolName: 'write',
    args: { path: 'a' },
    reasons: ['it writes'],
    notes: [],
    key: 'k',
    rules: [],
    run: { runId: 'r' },
  }) as unknown as Parameters<typeof questionFrom>[0]
const asked = (of: Call, more: Partial<OpenQuestion> & { expiresAtMs?: number } = {}): OpenQuestion => {
  const { expiresAtMs, ...rest } = more
  const times = { askedAtMs: 0, ...(expiresAtMs !== undefined && { expiresAtMs }) }
  const question = questionFrom(request(of.id), answer(of), times) as ToolQuestion
  return { messageId: 'm', question, ...rest }
}
const textsOf = (message: Message | undefined): string[] =>
  message?.role === 'tool' ? message.content.map((part) => JSON.stringify(part.content)) : []

describe('interruptedResults', () => {
  it('returns nothing when the last message has no calls', () => {
    expect(interruptedResults([], { openIntents: [] })).toBeUndefined()
    expect(interruptedResults([answer(call('a')), user], { openIntents: [] })).toBeUndefined()
    expect(interruptedResults([answer({ type: 'text', text: 'done' })], { openIntents: [] })).toBeUndefined()
  })

  it('reports what is known about each call, in the order of the calls', () => {
    const calls = ['unknown', 'repeat', 'never', 'waited', 'late', 'refused'].map((id) => call(id))
    const [, , , waited, late, refused] = calls as [Call, Call, Call, Call, Call, Call]
    const results = interruptedResults(
      [user, answer(...calls)],
      {
        openIntents: [begun('unknown'), begun('repeat', true)],
        openQuestions: [
          asked(waited),
          asked(late, { expiresAtMs: 5 }),
          asked(refused, { refused: 'not on Sundays' }),
        ],
      },
      5,
    )
    expect(results?.message.content.map(({ id }) => id)).toEqual(calls.map(({ id }) => id))
    const words = textsOf(results?.message)
    expect(words[0]).toContain('outcome unknown')
    expect(words[0]).toContain('Check what it did before you repeat it')
    expect(words[1]).toContain('It can be made again safely')
    expect(words[2]).toContain('This call was not started')
    expect(words[3]).toContain('while it waited for an approval')
    expect(words[4]).toContain('it was not approved in time')
    expect(words[5]).toContain('not on Sundays')
  })
})

describe('unfinishedRound', () => {
  const family = new Set(['r'])
  const waiting = call('waiting', { path: 'a' })

  it('repeats a call that waited for an approval, and answers the others', () => {
    const messages = [user, answer({ type: 'text', text: 'Writing.' }, call('ran'), waiting)]
    const open = { openIntents: [begun('ran')], openQuestions: [asked(waiting)] }
    const round = unfinishedRound(messages, open, { family, now: 0 })
    expect(round?.answer).toMatchObject({
      text: 'Writing.',
      toolCalls: [{ id: 'ran' }, { id: 'waiting', name: 'write', input: '{"path":"a"}' }],
    })
    expect([...(round?.settled.keys() ?? [])]).toEqual(['ran'])
  })

  it.each<[string, OpenQuestion, ReadonlySet<string>]>([
    ['was refused', asked(waiting, { refused: 'no' }), family],
    ['is over', asked(waiting, { expiresAtMs: 10 }), family],
    ['is of another run', asked(waiting), new Set(['other'])],
    ['is about other arguments', asked(call('waiting', { path: 'b' })), family],
  ])('does not repeat a call whose question %s', (_, question, runs) => {
    const open = { openIntents: [], openQuestions: [question] }
    expect(unfinishedRound([answer(waiting)], open, { family: runs, now: 10 })).toBeUndefined()
  })

  it('repeats a call that had started only when the call can resume itself', () => {
    const open = { openIntents: [begun('waiting')], openQuestions: [asked(waiting)] }
    expect(unfinishedRound([answer(waiting)], open, { family, now: 0 })).toBeUndefined()
    const canResume = (name: string, id: string): boolean => name === 'write' && id === 'waiting'
    expect(unfinishedRound([answer(waiting)], open, { family, now: 0, canResume })?.settled.size).toBe(0)
  })
})

describe('questions in the log', () => {
  const times = { askedAtMs: 3, expiresAtMs: 9 }

  it('contain what was shown, and no approval', () => {
    const question = questionFrom(request('waiting'), answer(call('waiting', { path: 'a' })), times)
    expect(question).toMatchObject({
      type: 'tool_question',
      callId: 'waiting',
      toolName: 'write',
      args: '{"path":"a"}',
      reasons: ['it writes'],
      runId: 'r',
      ...times,
    })
  })

  it('are about calls of the last answer, and calls inside them', () => {
    const last = answer(call('outer'))
    expect(questionFrom(request('outer/3'), last, times)?.callId).toBe('outer/3')
    expect(questionFrom(request('outer2'), last, times)).toBeUndefined()
    expect(questionFrom(request('other'), last, times)).toBeUndefined()
    expect(questionFrom(request(undefined), last, times)).toBeUndefined()
    expect(questionFrom(request('outer'), user, times)).toBeUndefined()
  })

  it('do not apply to a call whose arguments changed', () => {
    const { question } = asked(call('waiting', { path: 'a' }))
    expect(isAboutCall(question, call('waiting', { path: 'a' }))).toBe(true)
    expect(isAboutCall(question, call('waiting', { path: '[REDACTED]' }))).toBe(false)
    expect(isAboutCall(question, call('waiting', { path: 'a' }, 'edit'))).toBe(false)
  })

  it('are expired from their last moment on, and never expire without a time limit', () => {
    expect(isExpired({ expiresAtMs: 9 }, 8)).toBe(false)
    expect(isExpired({ expiresAtMs: 9 }, 9)).toBe(true)
    expect(isExpired({}, Number.MAX_SAFE_INTEGER)).toBe(false)
  })

  it('are still pending when they are about the last answer and were not refused', () => {
    const open = call('open', { path: 'a' })
    const kept = [{ id: 'm', message: answer(open) }] as never
    const openQuestions = [
      asked(open),
      asked(open, { refused: 'no' }),
      asked(open, { messageId: 'earlier' }),
      asked(call('gone', { path: 'a' })),
      asked(call('open', { path: 'b' })),
    ]
    expect(waitingQuestions({ openQuestions }, { kept })).toEqual([openQuestions[0]?.question])
    expect(waitingQuestions({ openQuestions }, { kept: [] })).toEqual([])
  })
})
