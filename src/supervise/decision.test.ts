import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readDecision } from './decision.js'
import { blockingEvents } from './protocol.js'

describe('a decision', () => {
  it.each([
    ['pre_action', { decision: 'allow' }, { action: 'allow' }],
    ['pre_action', { decision: 'block' }, { action: 'block', reason: 'it gave no reason' }],
    ['pre_action', { decision: 'defer', retry_after_ms: 5 }, { action: 'defer', afterMs: 5 }],
    [
      'pre_action',
      { decision: 'allow', modified_payload: { arguments: { a: 1 } } },
      { action: 'modify', value: { a: 1 } },
    ],
    ['planning', { decision: 'modify', modified_task: 'x' }, { action: 'modify', value: 'x' }],
    ['confirmation', { decision: 'approve' }, { action: 'allow' }],
    ['confirmation', { decision: 'reject', reason: 'r' }, { action: 'block', reason: 'r' }],
    ['rate_limit', { decision: 'queue' }, { action: 'allow' }],
    ['rate_limit', { decision: 'skip', reason: 'r' }, { action: 'block', reason: 'r' }],
  ] as const)('about %s is parsed: %j', (event, answer, expected) => {
    expect(readDecision(event, answer, { tool: 'bash' })).toMatchObject(expected)
  })

  it.each([
    ['pre_action', { decision: 'approve' }],
    ['pre_action', { decision: 'skip' }],
    ['pre_action', { decision: 'ALLOW' }],
    ['pre_action', { decision: 'defer' }],
    ['pre_action', { decision: 'defer', retry_after_ms: Number.NaN }],
    ['pre_action', { decision: 'modify', modified_payload: { arguments: [] } }],
    ['pre_prompt', { decision: 'modify', modified_payload: { prompt: 1 } }],
    ['memory_recall', { decision: 'modify', modified_payload: { query: 'x' } }],
    ['pre_action', { decision: '__proto__' }],
    ['pre_action', ['allow']],
    ['pre_action', null],
  ] as const)('about %s is rejected: %j', (event, answer) => {
    expect(readDecision(event, answer, { tool: 'bash' }).action).toBe('malformed')
  })

  it('is never allow unless it says so explicitly', () => {
    fc.assert(
      fc.property(fc.constantFrom(...blockingEvents), fc.anything(), (event, answer) => {
        const { action } = readDecision(event, answer, {})
        expect(action).toBe('malformed')
      }),
    )
  })
})
