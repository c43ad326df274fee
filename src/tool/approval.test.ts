import { describe, expect, it, vi } from 'vitest'
import {
  decideApproval,
  evaluateApproval,
  type ToolApprovalContext,
  type ToolApprovalPolicy,
  ToolApprovalRequiredError,
} from './approval.js'

type Args = { amount: number }
const ctx: ToolApprovalContext<Args> = {
  toolName: 'refund',
  args: { amount: 500 },
  rawArgs: '{"amount":500}',
  toolCallId: 'call_1',
  internalCallId: 'internal_1',
  run: { agentId: 'support', runId: 'run_1', sessionId: 's1', metadata: { tenant: 'acme' } },
}

describe('evaluateApproval', () => {
  it('lets a call run when there is no policy or the policy needs no approval', async () => {
    expect(await evaluateApproval(undefined, ctx)).toBeUndefined()
    expect(
      await evaluateApproval({ when: ({ args }: ToolApprovalContext<Args>) => args.amount > 1000 }, ctx),
    ).toBeUndefined()
  })

  it('creates a request with all fields of the context', async () => {
    const request = await evaluateApproval(
      { when: async () => true, reason: 'refunds need a person', rejectMessage: 'not today' },
      ctx,
    )
    expect(request).toEqual({ ...ctx, reason: 'refunds need a person', rejectMessage: 'not today' })
  })

  it('computes texts from the call, synchronously or not', async () => {
    const policy: ToolApprovalPolicy<Args> = {
      when: () => true,
      reason: ({ args }) => `refund of ${args.amount}`,
      rejectMessage: async ({ run }) => `ask ${run.agentId}`,
    }
    expect(await evaluateApproval(policy, ctx)).toMatchObject({
      reason: 'refund of 500',
      rejectMessage: 'ask support',
    })
  })

  it('computes texts only when they are needed', async () => {
    const reason = vi.fn(() => 'x')
    await evaluateApproval({ when: () => false, reason, rejectMessage: reason }, ctx)
    expect(reason).not.toHaveBeenCalled()
  })

  it('leaves out texts that the policy does not have', async () => {
    const request = await evaluateApproval({ when: () => true }, ctx)
    expect(request).not.toHaveProperty('reason')
    expect(request).not.toHaveProperty('rejectMessage')
  })

  const boom = (): never => {
    throw new Error('boom')
  }
  it.each<[string, ToolApprovalPolicy<Args>]>([
    ['when', { when: boom }],
    ['reason', { when: () => true, reason: boom }],
    ['rejectMessage', { when: () => true, rejectMessage: boom }],
    ['an asynchronous when', { when: () => Promise.reject(new Error('boom')) }],
  ])('rethrows what %s throws', async (_, policy) => {
    await expect(evaluateApproval(policy, ctx)).rejects.toThrow('boom')
  })
})

describe('decideApproval', () => {
  const decide = (decision: unknown, request = ctx as ToolApprovalContext): Promise<unknown> =>
    decideApproval(request, { handler: async () => decision as boolean })

  it('passes the request to the handler', async () => {
    const handler = vi.fn(() => true)
    await decideApproval(ctx, { handler })
    expect(handler).toHaveBeenCalledWith(ctx)
  })

  it.each([
    [true, { approved: true }],
    [{ approved: true }, { approved: true }],
    [
      { approved: true, reason: 'fine' },
      { approved: true, reason: 'fine' },
    ],
    [false, { approved: false, message: 'Tool approval was rejected.' }],
    [
      { approved: false, reason: 'too much' },
      { approved: false, message: 'too much' },
    ],
    [
      { approved: false, reason: 'too much', rejectMessage: 'try less' },
      { approved: false, message: 'try less' },
    ],
  ])('reads the decision %j', async (decision, outcome) => {
    expect(await decide(decision)).toEqual(outcome)
  })

  it('falls back to the policy’s own rejection', async () => {
    const request = { ...ctx, rejectMessage: 'policy says no' } as ToolApprovalContext
    expect(await decide(false, request)).toEqual({ approved: false, message: 'policy says no' })
    expect(await decide({ approved: false, reason: 'mine' }, request)).toEqual({
      approved: false,
      message: 'mine',
    })
  })

  it.each([undefined, null, 1, 'yes', {}, { approved: 'true' }])(
    'treats the invalid answer %j as a rejection',
    async (decision) => {
      expect(await decide(decision)).toMatchObject({ approved: false })
    },
  )

  it('throws when there is no handler', async () => {
    const error = await decideApproval({ ...ctx, reason: 'refunds need a person' }, undefined).catch(
      (thrown: unknown) => thrown,
    )
    expect(error).toBeInstanceOf(ToolApprovalRequiredError)
    expect(error).toMatchObject({ code: 'tool_approval_required', request: { toolName: 'refund' } })
    expect((error as Error).message).toBe(
      'Tool "refund" needs approval (refunds need a person), and no approvals handler is set.',
    )
  })

  it('throws when the handler is missing from the options', async () => {
    await expect(decideApproval(ctx, {} as never)).rejects.toBeInstanceOf(ToolApprovalRequiredError)
  })

  it('rethrows what the handler throws', async () => {
    const handler = (): never => {
      throw new Error('handler broke')
    }
    await expect(decideApproval(ctx, { handler })).rejects.toThrow('handler broke')
  })
})
