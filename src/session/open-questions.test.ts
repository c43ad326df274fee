import { describe, expect, it } from 'vitest'
import type { QuestionCall, QuestionHandler } from '../feature/question.js'
import type { AgentEvent } from '../loop/events.js'
import type { QuestionAnswers } from '../tool/session-services.js'
import { OpenQuestions } from './open-questions.js'

const questions = [{ question: 'Which harbour?' }]
const north: QuestionAnswers = { answers: [['north']] }

/** The questions of a session whose host answers when `answerAsHost` is called. */
function openQuestions(onQuestion?: QuestionHandler) {
  const [events, calls]: [AgentEvent[], QuestionCall[]] = [[], []]
  let answer: (answers: QuestionAnswers) => void = () => undefined
  const waits: QuestionHandler = (_, __, call) => {
    if (call !== undefined) calls.push(call)
    return new Promise((resolve) => {
      answer = resolve
    })
  }
  let ids = 0
  const open = new OpenQuestions({
    options: { onQuestion: onQuestion ?? waits },
    emit: (event) => events.push(event),
    now: () => 7,
    newId: () => `id-${++ids}`,
  })
  const ask = (callId?: string, { signal }: { readonly signal: AbortSignal } = new AbortController()) => {
    const asked = open.ask?.(questions, undefined, { callId, signal })
    if (asked === undefined) throw new Error('There is no handler.')
    return asked
  }
  return { open, events, calls, ask, answerAsHost: (answers: QuestionAnswers) => answer(answers) }
}

describe('a pending question', () => {
  it('is answered by the host, and is then closed', async () => {
    const { open, events, ask, answerAsHost } = openQuestions()
    const asked = ask('call-1')
    expect(open.pending()).toEqual([{ questionId: 'call-1', questions, askedAtMs: 7 }])
    expect(open.calls()).toEqual(['call-1'])
    answerAsHost(north)
    expect(await asked).toEqual(north)
    expect([open.pending(), open.calls()]).toEqual([[], []])
    expect(open.answer('call-1', north)).toBe(false)
    expect(events).toEqual([{ type: 'user_question', questions, toolId: 'call-1' }])
  })

  it('is answered by another client, and the signal of the host has the answers', async () => {
    const { open, calls, ask, answerAsHost } = openQuestions()
    const asked = ask('call-1')
    expect(calls[0]?.signal.aborted).toBe(false)
    expect(open.answer('call-1', north)).toBe(true)
    expect(open.answer('call-1', { answers: [['south']] })).toBe(false)
    answerAsHost({ answers: [['south']] })
    expect(await asked).toEqual(north)
    expect(calls[0]?.signal.reason).toEqual(north)
    expect(open.pending()).toEqual([])
  })

  it('is withdrawn when its call ends', async () => {
    const { open, calls, ask } = openQuestions()
    const ending = new AbortController()
    const asked = ask('call-1', ending)
    ending.abort(new Error('The run was cancelled.'))
    await expect(asked).rejects.toThrow('The run was cancelled.')
    expect(calls[0]?.signal.aborted).toBe(true)
    expect(open.answer('call-1', north)).toBe(false)
    await expect(ask('call-2', ending)).rejects.toThrow('The run was cancelled.')
    expect(open.pending()).toEqual([])
  })

  it('has its own id when its call has none, or when another pending one has the same id', async () => {
    const { open, ask } = openQuestions()
    const asked = [ask('call-1'), ask('call-1'), ask()]
    expect(open.pending().map(({ questionId }) => questionId)).toEqual(['call-1', 'id-1', 'id-2'])
    expect(open.answer('id-1', north)).toBe(true)
    expect(await asked[1]).toEqual(north)
    expect(open.pending().map(({ questionId }) => questionId)).toEqual(['call-1', 'id-2'])
  })

  it('fails with the error of the host', async () => {
    const { open, ask } = openQuestions(() => {
      throw new Error('The dialog failed.')
    })
    await expect(ask('call-1')).rejects.toThrow('The dialog failed.')
    expect(open.pending()).toEqual([])
  })
})
