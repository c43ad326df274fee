import { describe, expect, it } from 'vitest'
import type { Question } from '../tool/session-services.js'
import { answerRequests } from './server-requests.js'

type Handler = (request: { params?: unknown }) => Promise<object> | object

async function elicit(
  properties: Record<string, object>,
  answers: string[][],
): Promise<{ questions: readonly Question[]; answer: object }> {
  const handlers = new Map<string, Handler>()
  let questions: readonly Question[] = []
  answerRequests(
    { setRequestHandler: (method, handler) => void handlers.set(method, handler) },
    {
      name: 'forms',
      roots: [],
      question: (asked) => {
        questions = asked
        return { answers }
      },
    },
  )
  const params = { message: 'Who are you?', requestedSchema: { type: 'object', properties } }
  const answer = await handlers.get('elicitation/create')?.({ params })
  return { questions, answer: answer ?? {} }
}

describe('a form of a server', () => {
  const form = {
    name: { type: 'string', default: 'nobody' },
    age: { type: 'integer', default: 30 },
    score: { type: 'number', default: 95.5 },
    rank: { type: 'string', enum: ['mate', 'cook'], default: 'cook' },
    sober: { type: 'boolean', default: true },
  }

  it('uses the defaults that the user was shown for fields without an answer', async () => {
    const { questions, answer } = await elicit(form, [['Ann'], [], [''], [], []])
    const content = { name: 'Ann', age: 30, score: 95.5, rank: 'cook', sober: true }
    expect(answer).toEqual({ action: 'accept', content })
    expect(questions.map(({ question }) => question)[1]).toContain('30 by default')
  })

  it('is declined by a user who answers none of its fields', async () => {
    expect((await elicit(form, [[], [], [], [], []])).answer).toEqual({ action: 'decline' })
    expect((await elicit(form, [])).answer).toEqual({ action: 'decline' })
  })

  it('does not accept an answer that cannot be parsed or has the wrong type', async () => {
    const odd = {
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 'much' },
      ok: { type: 'boolean' },
    }
    const { questions, answer } = await elicit(odd, [['old'], [], ['yes']])
    expect(answer).toEqual({ action: 'accept', content: { ok: true } })
    expect(questions[1]?.question).not.toContain('much')
  })
})
