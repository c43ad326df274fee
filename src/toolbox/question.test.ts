import { describe, expect, it } from 'vitest'
import type { ToolCallContext } from '../tool/contract.js'
import type { Question, QuestionAnswers } from '../tool/session-services.js'
import { noUser, questionTool } from './question.js'

const one = {
  questions: [
    { question: 'Which?', header: 'Choice', options: [{ label: 'A' }, { label: 'B', description: 'b' }] },
  ],
}

function host(answer: (questions: readonly Question[], signal?: AbortSignal) => unknown): ToolCallContext {
  const ask = async (questions: readonly Question[], signal?: AbortSignal): Promise<QuestionAnswers> =>
    answer(questions, signal) as QuestionAnswers
  return { runtime: { session: { ask } } }
}

describe('question', () => {
  it('passes the questions to the host unchanged, and returns its answers', async () => {
    let put: unknown
    const context = host((questions) => {
      put = questions
      return { answers: [['A']], extra: 'dropped' }
    })
    expect(await questionTool.call(one, context)).toEqual({ answers: [['A']] })
    expect(put).toEqual(one.questions)
  })

  it('accepts other text than the options, several where several can be chosen, and none', async () => {
    const questions = [
      { question: 'a', options: [{ label: 'A' }] },
      { question: 'b', multi_select: true },
      { question: 'c' },
    ]
    const answers = [['something else'], ['x', 'y'], []]
    expect(
      await questionTool.call(
        { questions },
        host(() => ({ answers })),
      ),
    ).toEqual({ answers })
  })

  it('reports that no user can answer, always with the same text', async () => {
    for (const context of [{}, { runtime: {} }, { runtime: { session: {} } }]) {
      expect(await questionTool.execute(one, context)).toMatchObject({
        type: 'error',
        error_text: noUser,
      })
    }
  })

  it.each([
    ['nothing', undefined],
    ['a bare list', [['A']]],
    ['too few lists', { answers: [] }],
    ['too many lists', { answers: [['A'], ['B']] }],
    ['a text for a list', { answers: ['A'] }],
    ['numbers', { answers: [[1]] }],
    ['two answers where one was asked for', { answers: [['A', 'B']] }],
    ['an answer without end', { answers: [['x'.repeat(20_001)]] }],
  ])('rejects %s from the host', async (_name, answer) => {
    const envelope = await questionTool.execute(
      one,
      host(() => answer),
    )
    expect(envelope).toMatchObject({ type: 'error', error_text: expect.stringContaining('no usable answer') })
  })

  it('reports that the host failed', async () => {
    const context = host(() => {
      throw new Error('the window was closed')
    })
    expect(await questionTool.execute(one, context)).toMatchObject({ error_text: 'the window was closed' })
  })

  it('stops waiting when the run is aborted, even if the host ignores the signal', async () => {
    const stop = new AbortController()
    const ask = (_questions: readonly Question[], signal?: AbortSignal): Promise<QuestionAnswers> => {
      expect(signal).toBe(stop.signal)
      setImmediate(() => stop.abort())
      return new Promise(() => undefined)
    }
    const envelope = await questionTool.execute(one, { signal: stop.signal, runtime: { session: { ask } } })
    expect(envelope).toMatchObject({ type: 'error', error_text: expect.stringContaining('withdrawn') })
  })

  it.each([
    ['no questions', { questions: [] }],
    ['a question without text', { questions: [{ header: 'x' }] }],
    ['an option without label', { questions: [{ question: 'x', options: [{ description: 'd' }] }] }],
    ['an unknown field', { questions: [{ question: 'x', multiple: true }] }],
    ['too many questions', { questions: Array.from({ length: 11 }, () => ({ question: 'x' })) }],
  ])('rejects %s before a user is asked', async (_name, args) => {
    const context = host(() => {
      throw new Error('asked')
    })
    const envelope = await questionTool.execute(args, context)
    expect(envelope).toMatchObject({
      type: 'error',
      error_text: expect.stringContaining('Invalid arguments'),
    })
  })
})
