import { describe, expect, it } from 'vitest'
import { BudgetExhaustedError } from '../../src/index.js'
import type { BudgetGuard } from '../../src/loop/budget.js'
import { calls, eventsOf, ofType, openSession, toolResults } from './open-session.js'

const five = { text: 'ok', usage: { inputTokens: 3, outputTokens: 2 } }

function counting(guard: BudgetGuard): {
  guard: BudgetGuard
  counts: { llm: number; record: number; tool: number }
} {
  const counts = { llm: 0, record: 0, tool: 0 }
  return {
    counts,
    guard: {
      ...guard,
      checkBeforeLlm: (...args) => {
        counts.llm++
        return guard.checkBeforeLlm?.(...args)
      },
      recordAfterLlm: (...args) => {
        counts.record++
        return guard.recordAfterLlm?.(...args)
      },
      checkBeforeTool: (...args) => {
        counts.tool++
        return guard.checkBeforeTool?.(...args)
      },
    },
  }
}

describe('budget guard', () => {
  it('that denies ends the send with the documented error: one check, no record, no request', async () => {
    const { server, session } = await openSession(['never'])
    const { guard, counts } = counting({
      checkBeforeLlm: () => ({ decision: 'deny', resource: 'llm_tokens', reason: 'cap' }),
    })
    session.setBudgetGuard(guard)
    await expect(session.send('x')).rejects.toThrow("Budget exhausted on 'llm_tokens': cap")
    expect(counts).toEqual({ llm: 1, record: 0, tool: 0 })
    expect(server.requests).toHaveLength(0)
  })

  it('that denies leaves the session open, and null removes the guard', async () => {
    const { session } = await openSession([five])
    session.setBudgetGuard({ checkBeforeLlm: () => ({ decision: 'deny' }) })
    await expect(session.send('x')).rejects.toThrow("Budget exhausted on 'unspecified': denied by host")
    session.setBudgetGuard(null)
    expect((await session.send('x')).text).toBe('ok')
  })

  it('emits a denial in the stream too', async () => {
    const { session } = await openSession(['never'], {
      budgetGuard: { checkBeforeLlm: () => ({ decision: 'deny', resource: 'usd', reason: 'spent' }) },
    })
    const events = await eventsOf(session, 'x')
    expect(ofType(events, 'budget_threshold_hit')).toMatchObject([{ resource: 'usd', kind: 'hard' }])
    expect(events.at(-1)).toMatchObject({ type: 'error', code: 'budget_exhausted' })
  })

  it('that warns is emitted as an event, and the call continues', async () => {
    const { session } = await openSession([five], {
      budgetGuard: {
        checkBeforeLlm: () => ({
          decision: 'soft',
          resource: 'llm_tokens',
          consumed: 80,
          limit: 100,
          message: 'nearly',
        }),
      },
    })
    const events = await eventsOf(session, 'x')
    expect(ofType(events, 'budget_threshold_hit')).toEqual([
      {
        type: 'budget_threshold_hit',
        resource: 'llm_tokens',
        kind: 'soft',
        consumed: 80,
        limit: 100,
        message: 'nearly',
      },
    ])
    expect(events.at(-1)?.type).toBe('agent_end')
  })

  it('gets its arguments by position, and usage in both spellings', async () => {
    const { session } = await openSession([calls(['ls', {}]), five])
    const seen: unknown[][] = []
    session.setBudgetGuard({
      checkBeforeLlm: (...args) => void seen.push(['llm', ...args]),
      recordAfterLlm: (...args) => void seen.push(['record', ...args]),
      checkBeforeTool: (...args) => void seen.push(['tool', ...args]),
    })
    await session.send('x')
    expect(seen.map(([what]) => what)).toEqual(['llm', 'record', 'tool', 'llm', 'record'])
    const request = { model: 'openai/docs-model' }
    expect(seen[0]).toEqual(['llm', session.sessionId, expect.any(Number), request])
    expect(seen[0]?.[2]).toBeGreaterThan(0)
    expect(seen[2]).toEqual(['tool', session.sessionId, 'ls'])
    expect(seen[4]?.[2]).toMatchObject({
      promptTokens: 3,
      completionTokens: 2,
      totalTokens: 5,
      prompt_tokens: 3,
      completion_tokens: 2,
      total_tokens: 5,
      cache_read_tokens: 0,
    })
  })

  it('is asked about side questions and about calls of the host', async () => {
    const { session } = await openSession([five])
    const { guard, counts } = counting({
      checkBeforeTool: () => ({ decision: 'deny', resource: 'calls', reason: 'too many' }),
    })
    session.setBudgetGuard(guard)
    await session.btw('hm?')
    expect(counts).toEqual({ llm: 1, record: 1, tool: 0 })
    expect(await session.tool('ls')).toMatchObject({
      exitCode: 1,
      output: expect.stringContaining('too many'),
    })
    expect(counts.tool).toBe(1)
  })

  it('that denies a tool is reported to the model, and the run continues', async () => {
    const { server, session } = await openSession([calls(['ls', {}]), five], {
      budgetGuard: { checkBeforeTool: () => ({ decision: 'deny', resource: 'calls', reason: 'no more' }) },
    })
    expect((await session.send('x')).text).toBe('ok')
    expect(toolResults(server, 1)[0]).toMatch(/Budget exhausted on 'calls': no more/)
  })

  it.each<[string, BudgetGuard]>([
    ['has no methods', {}],
    ['answers null', { checkBeforeLlm: () => null, checkBeforeTool: () => null }],
    ['answers undefined', { checkBeforeLlm: () => undefined }],
    [
      'allows',
      { checkBeforeLlm: () => ({ decision: 'allow' }), checkBeforeTool: () => ({ decision: 'allow' }) },
    ],
    ['is async', { checkBeforeLlm: async () => null, recordAfterLlm: async () => undefined }],
  ])('that %s allows everything without a report', async (_, budgetGuard) => {
    const { session } = await openSession([calls(['ls', {}]), five], { budgetGuard })
    const events = await eventsOf(session, 'x')
    expect(events.at(-1)?.type).toBe('agent_end')
    expect(ofType(events, 'notice')).toEqual([])
  })

  const failing: [string, BudgetGuard, RegExp][] = [
    [
      'throws',
      {
        checkBeforeLlm: () => {
          throw new Error('guard broke')
        },
      },
      /guard broke/,
    ],
    ['rejects', { checkBeforeLlm: () => Promise.reject(new Error('guard broke')) }, /guard broke/],
    ['hangs', { checkBeforeLlm: () => new Promise<never>(() => undefined), timeoutMs: 20 }, /20 ms/],
    ['answers nonsense', { checkBeforeLlm: () => ({ decision: 'perhaps' }) as never }, /perhaps/],
  ]
  it.each(failing)('that %s allows the call and is reported', async (_, budgetGuard, words) => {
    const { session } = await openSession([five], { budgetGuard })
    const events = await eventsOf(session, 'x')
    expect(events.at(-1)?.type).toBe('agent_end')
    expect(ofType(events, 'notice')).toMatchObject([
      { source: 'budget', message: expect.stringMatching(words) },
    ])
  })
  it.each(failing)('that %s refuses when its host says so', async (_, budgetGuard, words) => {
    const { server, session } = await openSession([five], {
      budgetGuard: { ...budgetGuard, onError: 'deny' },
    })
    await expect(session.send('x')).rejects.toThrow(words)
    expect(server.requests).toHaveLength(0)
  })

  it('that fails while it records is reported, and the answer counts', async () => {
    const { session } = await openSession([five], {
      budgetGuard: {
        recordAfterLlm: () => {
          throw new Error('no ledger')
        },
      },
    })
    const events = await eventsOf(session, 'x')
    expect(ofType(events, 'notice')).toMatchObject([{ message: expect.stringContaining('no ledger') }])
    expect(events.at(-1)?.type).toBe('agent_end')
  })

  it('can be an object with its own state', async () => {
    class Guard {
      spent = 0
      checkBeforeLlm() {
        return this.spent >= 5 ? ({ decision: 'deny', resource: 'llm_tokens', reason: 'cap' } as const) : null
      }
      recordAfterLlm(_: string, usage: { total_tokens: number }) {
        this.spent += usage.total_tokens
      }
    }
    const { session } = await openSession([five, 'never'], { budgetGuard: new Guard() })
    await session.send('x')
    await expect(session.send('y')).rejects.toThrow(/Budget exhausted/)
  })

  it('says in the error what is used up and why', async () => {
    const { session } = await openSession(['never'])
    session.setBudgetGuard({
      checkBeforeLlm: () => ({ decision: 'deny', resource: 'llm_tokens', reason: 'the daily cap' }),
    })
    const error = await session.send('x').catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(BudgetExhaustedError)
    expect(error).toMatchObject({
      code: 'budget_exhausted',
      resource: 'llm_tokens',
      reason: 'the daily cap',
    })
  })

  const wrongGuards: readonly [what: string, guard: unknown, says: RegExp][] = [
    ['a string', 'deny', /must be an object, not a string/],
    ['a number', 7, /must be an object/],
    ['a function', () => null, /must be an object/],
    ['a list', [], /must be an object, not a list/],
    ['a misspelt callback', { checkBeforeLLm: () => null, timeoutMs: 5 }, /Did you mean "checkBeforeLlm"/],
    ['a callback in snake case', { check_before_llm: () => null }, /Did you mean "checkBeforeLlm"/],
    [
      'a second callback that is misspelt',
      { checkBeforeLlm: () => null, recordAftrLlm: () => undefined },
      /recordAftrLlm/,
    ],
    [
      'a misspelt method of a class',
      new (class {
        checkBeforeTools(): null {
          return null
        }
      })(),
      /checkBeforeTools/,
    ],
    ['functions that are not callbacks', { decide: () => null }, /none of the callbacks/],
    ['a callback that is not a function', { checkBeforeLlm: 'deny' }, /checkBeforeLlm must be a function/],
    ['a time that is NaN', { checkBeforeLlm: () => null, timeoutMs: Number.NaN }, /timeoutMs/],
    ['a negative time', { checkBeforeLlm: () => null, timeoutMs: -1 }, /timeoutMs/],
    ['a misspelt time', { checkBeforeLlm: () => null, timeoutMS: 5 }, /Did you mean "timeoutMs"/],
    ['an unknown answer for failures', { checkBeforeLlm: () => null, onError: 'maybe' }, /onError/],
  ]
  it.each(wrongGuards)('is rejected when it is %s, and the previous one stays', async (_, guard, says) => {
    const { session, agent, root } = await openSession(['never'])
    session.setBudgetGuard({ checkBeforeLlm: () => ({ decision: 'deny' }) })
    expect(() => session.setBudgetGuard(guard as never)).toThrow(says)
    await expect(session.send('x')).rejects.toThrow('Budget exhausted')
    expect(() => agent.session(root, { budgetGuard: guard as never })).toThrow(says)
  })

  it('can be empty, and can be an instance of a class with its own members', async () => {
    const { session } = await openSession([five, five])
    session.setBudgetGuard({})
    expect((await session.send('x')).text).toBe('ok')
    class Guard {
      readonly limits = new Map<string, number>()
      seen = 0
      checkBeforeLlm(): null {
        this.seen++
        this.report()
        return null
      }
      report(): void {
        this.limits.set('calls', this.seen)
      }
    }
    const guard = new Guard()
    session.setBudgetGuard(guard)
    await session.send('x')
    expect(guard.seen).toBe(1)
  })
})
