import { describe, expect, it } from 'vitest'
import type { After } from './call-handler.js'
import { HookError } from './errors.js'
import { type HookEventName, type HookPayloads, hookEventNames } from './events.js'
import type { HookHandler } from './hook.js'
import { createHooks, type HookNotice, type Hooks } from './hooks.js'

const session = { sessionId: 's1', workspace: '/ship', tenantId: 'acme', correlationId: 'trace-1' }
const bash = (command: string): HookPayloads['pre_tool_use'] => ({
  tool: 'bash',
  args: { command },
  working_directory: '/ship',
  recent_tools: [],
})
const prompt: HookPayloads['pre_prompt'] = { prompt: 'hello', system_prompt: '', message_count: 0 }
const never = () => new Promise<never>(() => undefined)

/** Time that passes at once: what waits for longer than the hooks' own work is over next. */
const atOnce: After = (_, callback) => {
  const timer = setImmediate(callback)
  return () => clearImmediate(timer)
}

function setUp(after?: After): { hooks: Hooks; notices: HookNotice[] } {
  const notices: HookNotice[] = []
  const onNotice = (notice: HookNotice): void => {
    notices.push(notice)
  }
  const hooks = createHooks({ session, now: () => 42, onNotice, ...(after === undefined ? {} : { after }) })
  return { hooks, notices }
}

describe('registering', () => {
  it('accepts the arguments id, event, matcher, config and handler, and counts hooks', () => {
    const { hooks } = setUp()
    hooks.register(
      'docs-observer',
      'pre_tool_use',
      { tool: 'bash' },
      { priority: 1, timeoutMs: 1000 },
      () => ({
        action: 'continue',
      }),
    )
    hooks.register('plain', 'session_end', null, null, () => undefined)
    expect(hooks.count()).toBe(2)
    expect([hooks.has('pre_tool_use'), hooks.has('post_tool_use')]).toEqual([true, false])
    expect([hooks.unregister('docs-observer'), hooks.unregister('docs-observer')]).toEqual([true, false])
    expect([hooks.count(), hooks.has('pre_tool_use')]).toEqual([1, false])
  })

  it('replaces a hook with the same id, whatever its event was, and reports it', async () => {
    const { hooks, notices } = setUp()
    hooks.register('guard', 'pre_tool_use', null, null, () => ({ action: 'block' }))
    hooks.register('guard', 'pre_prompt', null, null, () => ({ action: 'block' }))
    expect([hooks.count(), hooks.has('pre_tool_use')]).toEqual([1, false])
    expect(notices).toEqual([expect.objectContaining({ hookId: 'guard', kind: 'replaced' })])
    expect(await hooks.run('pre_prompt', prompt)).toMatchObject({ action: 'block', hookId: 'guard' })
  })

  it.each<[string, unknown[], RegExp]>([
    ['an unknown event', ['a', 'x'], /^Invalid hook event type: 'x'\. Expected one of: pre_tool_use, post_/],
    ['an event that is nearly known', ['a', 'preToolUse'], /Did you mean "pre_tool_use"\?/],
    ['an inherited name', ['a', 'constructor'], /^Invalid hook event type: 'constructor'/],
    ['no id', ['', 'pre_prompt'], /needs an id/],
    ['a misspelt matcher field', ['a', 'pre_tool_use', { toolName: 'x' }], /matcher\.toolName is not known/],
    ['a nearly known one', ['a', 'pre_tool_use', { path_pattern: 'x' }], /Did you mean "pathPattern"\?/],
    ['a matcher of the wrong kind', ['a', 'pre_tool_use', 'bash'], /matcher must be an object/],
    ['a field of the wrong kind', ['a', 'pre_tool_use', { tool: 7 }], /matcher\.tool must be a string/],
    ['a matcher that never fits', ['a', 'pre_prompt', { tool: 'bash' }], /'pre_prompt' is not about a tool/],
    ['a skill at a tool event', ['a', 'pre_tool_use', { skill: 'x' }], /is not about a skill/],
    ['a bad expression', ['a', 'pre_tool_use', { commandPattern: '(' }], /not a regular expression/],
    [
      'a bad glob',
      ['a', 'pre_tool_use', { pathPattern: 'a{b' }],
      /matcher\.pathPattern: A "\{" that is never closed/,
    ],
    ['a place no session has', ['a', 'pre_tool_use', { pathPattern: '{scratch}/x' }], /can never match/],
    ['a misspelt setting', ['a', 'pre_prompt', {}, { timeout: 5 }], /config\.timeout is not known/],
    ['no time at all', ['a', 'pre_prompt', {}, { timeoutMs: 0 }], /config\.timeoutMs is 0/],
    ['too many retries', ['a', 'pre_prompt', {}, { maxRetries: 1000 }], /from 0 to 10/],
    ['a handler that is none', ['a', 'pre_prompt', {}, {}, 'allow'], /handler of hook "a" is not a function/],
  ])('rejects %s', (_, args, message) => {
    const { hooks } = setUp()
    const register: (...given: unknown[]) => void = hooks.register as never
    expect(() => register(...args)).toThrow(message)
    expect(() => register(...args)).toThrow(HookError)
    expect(hooks.count()).toBe(0)
  })
})

describe('running', () => {
  it('passes the event, the session and the time to the handler', async () => {
    const { hooks } = setUp()
    const seen: unknown[] = []
    hooks.register('a', 'pre_tool_use', null, null, (event) => {
      seen.push(event)
      return null
    })
    const payload = bash('ls')
    expect(await hooks.run('pre_tool_use', payload)).toEqual({ action: 'continue', payload, changed: false })
    expect(seen).toEqual([
      {
        eventType: 'pre_tool_use',
        event_type: 'pre_tool_use',
        payload: { ...payload, session_id: 's1' },
        labels: { tenantId: 'acme', correlationId: 'trace-1' },
        timestampMs: 42,
      },
    ])
  })

  it('runs lower priorities first, and equal ones as they were registered', async () => {
    const { hooks } = setUp()
    const order: string[] = []
    for (const [id, priority] of [
      ['d', 100],
      ['b', 5],
      ['e', undefined],
      ['c', 5],
      ['a', -1],
    ] as const) {
      hooks.register(id, 'pre_prompt', null, priority === undefined ? null : { priority }, async () => {
        await Promise.resolve()
        order.push(id)
      })
    }
    await hooks.run('pre_prompt', prompt)
    expect(order.join('')).toBe('abcde')
  })

  it('stops at the first block', async () => {
    const { hooks } = setUp()
    let later = 0
    hooks.register('first', 'pre_tool_use', null, null, () => ({ action: 'block', reason: 'no pushing' }))
    hooks.register('second', 'pre_tool_use', null, null, () => {
      later += 1
    })
    expect(await hooks.run('pre_tool_use', bash('git push'))).toEqual({
      action: 'block',
      reason: 'no pushing',
      hookId: 'first',
    })
    expect(later).toBe(0)
    expect(hooks.list()).toEqual([
      { id: 'first', event: 'pre_tool_use', priority: 100, runs: 1, blocks: 1, failures: 0 },
      { id: 'second', event: 'pre_tool_use', priority: 100, runs: 0, blocks: 0, failures: 0 },
    ])
  })

  it.each([undefined, '', 7, null])(
    'blocks with a default reason when the hook gives no valid one (%j)',
    async (reason) => {
      const { hooks } = setUp()
      hooks.register('a', 'pre_prompt', null, null, () => ({ action: 'block', reason }) as never)
      expect(await hooks.run('pre_prompt', prompt)).toMatchObject({ reason: 'Blocked by hook' })
    },
  )

  it('passes changed arguments to the next hook, matched again, without data about the old arguments', async () => {
    const { hooks } = setUp()
    hooks.register('change', 'pre_tool_use', null, { priority: 1 }, () => ({
      action: 'continue',
      modified: { updatedInput: { command: 'rm x' } },
    }))
    const seen: unknown[] = []
    hooks.register('guard', 'pre_tool_use', { commandPattern: '^rm' }, { priority: 2 }, ({ payload }) => {
      seen.push(payload)
    })
    hooks.register('lists', 'pre_tool_use', { commandPattern: '^ls' }, { priority: 3 }, () => ({
      action: 'block',
    }))
    const outcome = await hooks.run('pre_tool_use', { ...bash('ls'), commands: ['ls'], paths: ['a'] })
    expect(outcome).toEqual({ action: 'continue', changed: true, payload: bash('rm x') })
    expect(seen).toEqual([{ session_id: 's1', ...bash('rm x') }])
  })

  it('accepts `args` for `updatedInput`, and a prompt at pre_prompt', async () => {
    const { hooks } = setUp()
    hooks.register('a', 'pre_tool_use', null, null, () => ({
      action: 'continue',
      modified: { args: { n: 1 } },
    }))
    hooks.register('b', 'pre_prompt', null, null, ({ payload }) => ({
      action: 'continue',
      modified: { prompt: `${payload.prompt}, please` },
    }))
    expect(await hooks.run('pre_tool_use', bash('x'))).toMatchObject({ payload: { args: { n: 1 } } })
    expect(await hooks.run('pre_prompt', prompt)).toMatchObject({ payload: { prompt: 'hello, please' } })
  })

  it('skips the remaining hooks on skip, and keeps the changes so far', async () => {
    const { hooks } = setUp()
    hooks.register('a', 'pre_prompt', null, null, () => ({ action: 'continue', modified: { prompt: 'new' } }))
    hooks.register('b', 'pre_prompt', null, null, () => ({ action: 'skip' }))
    hooks.register('c', 'pre_prompt', null, null, () => ({ action: 'block' }))
    expect(await hooks.run('pre_prompt', prompt)).toMatchObject({ changed: true, payload: { prompt: 'new' } })
  })

  it('rejects a hook without a handler', () => {
    const { hooks } = setUp()
    for (const missing of [undefined, null])
      expect(() => hooks.register('a', 'pre_tool_use', { tool: 'bash' }, {}, missing as never)).toThrow(
        'The hook "a" has no handler',
      )
    expect(hooks.count()).toBe(0)
  })

  it('is not affected by hooks that are added or removed while it runs', async () => {
    const { hooks } = setUp()
    const ran: string[] = []
    hooks.register('a', 'pre_prompt', null, null, () => {
      ran.push('a')
      hooks.unregister('b')
      hooks.register('c', 'pre_prompt', null, null, () => {
        ran.push('c')
      })
    })
    hooks.register('b', 'pre_prompt', null, null, () => {
      ran.push('b')
    })
    await hooks.run('pre_prompt', prompt)
    expect(ran).toEqual(['a', 'b'])
    expect(hooks.list().map(({ id }) => id)).toEqual(['a', 'c'])
  })

  it('separates concurrent runs', async () => {
    const { hooks } = setUp()
    hooks.register('upper', 'pre_prompt', null, null, async ({ payload }) => {
      await new Promise((resolve) => setImmediate(resolve))
      return { action: 'continue', modified: { prompt: payload.prompt.toUpperCase() } }
    })
    const words = Array.from({ length: 50 }, (_, n) => `word ${n}`)
    const outcomes = await Promise.all(
      words.map((word) => hooks.run('pre_prompt', { ...prompt, prompt: word })),
    )
    expect(outcomes.map((one) => one.action === 'continue' && one.payload.prompt)).toEqual(
      words.map((word) => word.toUpperCase()),
    )
    expect(hooks.list()[0]?.runs).toBe(50)
  })

  it('applies to child sessions too, each with its own session id and workspace', async () => {
    const { hooks } = setUp()
    const child = hooks.forSession({ sessionId: 's1/child', workspace: '/boat' })
    const seen: string[] = []
    hooks.register('env', 'pre_tool_use', { pathPattern: 'secret/*' }, null, ({ payload }) => {
      seen.push(`${payload.session_id} ${JSON.stringify(payload.args)}`)
    })
    child.register('mine', 'pre_tool_use', { sessionId: 's1/child' }, null, () => ({ action: 'block' }))
    const write = (path: string) => ({ ...bash(''), tool: 'write', args: { path } })
    expect(await child.run('pre_tool_use', write('/boat/secret/key'))).toMatchObject({ action: 'block' })
    expect(await hooks.run('pre_tool_use', write('/boat/secret/key'))).toMatchObject({ action: 'continue' })
    expect(await hooks.run('pre_tool_use', write('secret/key'))).toMatchObject({ action: 'continue' })
    expect(seen).toEqual(['s1/child {"path":"/boat/secret/key"}', 's1 {"path":"secret/key"}'])
  })
})

describe('failures', () => {
  const gating = ['pre_tool_use', 'permission_request', 'pre_prompt', 'pre_compact', 'pre_planning']
  const wrong: [string, HookHandler, RegExp][] = [
    [
      'throws',
      () => {
        throw new Error('broken pipe')
      },
      /it threw: broken pipe/,
    ],
    ['rejects', () => Promise.reject(new Error('no disk')), /it threw: no disk/],
    [
      'throws nothing',
      () => {
        throw undefined
      },
      /it threw: an error that carries no message/,
    ],
    ['hangs', never, /it did not answer within 30000 ms/],
    ['says {}', () => ({}) as never, /its action is missing/],
    ['says true', () => true as never, /true is not an answer/],
    ['says words', () => 'block' as never, /"block" is not an answer/],
    ['says a list', () => [] as never, /an array is not an answer/],
    ['says an unknown action', () => ({ action: 'deny' }) as never, /its action is "deny"/],
    ['misspells', () => ({ action: 'continue', modifed: {} }) as never, /did you mean "modified"\?/],
    ['changes nothing', () => ({ action: 'continue', modified: {} }), /modified is empty/],
    [
      'changes what cannot be',
      () => ({ action: 'continue', modified: { nonsense: 1 } }) as never,
      /modified\.nonsense/,
    ],
    ['asks for a bad delay', () => ({ action: 'retry', delayMs: Number.NaN }), /its delayMs is NaN/],
    ['asks again forever', () => ({ action: 'retry', delayMs: 60_000 }), /called again more than 5 times/],
  ]

  describe.each(wrong)('a hook that %s', (_, handler, problem) => {
    it.each(hookEventNames.map((name) => [name]))('at %s', async (event) => {
      const { hooks, notices } = setUp(atOnce)
      hooks.register('guard', event, null, null, handler)
      const outcome = await hooks.run(event, {} as never)
      expect(notices).toEqual([
        { hookId: 'guard', event, kind: 'failed', message: expect.stringMatching(problem) },
      ])
      expect(hooks.list()[0]).toMatchObject({ failures: 1, lastError: expect.stringMatching(problem) })
      if (!gating.includes(event)) return expect(outcome.action).toBe('continue')
      expect(outcome).toEqual({
        action: 'block',
        hookId: 'guard',
        reason: expect.stringMatching(/^The hook "guard" failed, so this is denied: /),
      })
    })
  })

  it('does not let a hook block an event that can only be observed', async () => {
    const { hooks, notices } = setUp()
    let later = 0
    hooks.register('a', 'session_end', null, null, () => ({ action: 'block', reason: 'stay' }))
    hooks.register('b', 'session_end', null, null, () => {
      later += 1
    })
    expect(await hooks.run('session_end', { reason: 'closed' })).toMatchObject({ action: 'continue' })
    expect(later).toBe(1)
    expect(notices).toEqual([expect.objectContaining({ hookId: 'a', kind: 'ignored' })])
  })

  it('calls a handler again up to maxRetries times, and passes the number of the attempt', async () => {
    const { hooks, notices } = setUp()
    const attempts: number[] = []
    hooks.register('a', 'pre_prompt', null, { maxRetries: 2 }, (_, { attempt }) => {
      attempts.push(attempt)
      if (attempt < 3) throw new Error('not yet')
      return { action: 'continue', modified: { prompt: 'third' } }
    })
    expect(await hooks.run('pre_prompt', prompt)).toMatchObject({ payload: { prompt: 'third' } })
    expect(attempts).toEqual([1, 2, 3])
    expect(notices).toEqual([])
  })

  it('stops after maxRetries, and blocks', async () => {
    const { hooks } = setUp(atOnce)
    let calls = 0
    hooks.register('a', 'pre_prompt', null, { maxRetries: 2 }, () => {
      calls += 1
      return never()
    })
    expect(await hooks.run('pre_prompt', prompt)).toMatchObject({ action: 'block' })
    expect(calls).toBe(3)
  })

  it('calls a hook again at most five times when the hook requests it', async () => {
    const { hooks } = setUp(atOnce)
    let calls = 0
    hooks.register('a', 'pre_prompt', null, null, () => {
      calls += 1
      return { action: 'retry' }
    })
    await hooks.run('pre_prompt', prompt)
    expect(calls).toBe(6)
  })

  it('calls a hook again that requests it, after the delay that it requested', async () => {
    const waits: number[] = []
    const { hooks } = setUp((ms, callback) => {
      waits.push(ms)
      return atOnce(ms, callback)
    })
    hooks.register('a', 'pre_prompt', null, null, (_, { attempt }) => {
      if (attempt === 1) return { action: 'retry' }
      return attempt === 2 ? { action: 'retry', delayMs: 5 } : { action: 'block', reason: 'third' }
    })
    expect(await hooks.run('pre_prompt', prompt)).toMatchObject({ reason: 'third' })
    expect(waits).toEqual([1000, 5])
  })

  it('stops waiting when the run is aborted, aborts the handler, and calls no other hook', async () => {
    const { hooks, notices } = setUp()
    const run = new AbortController()
    let seen: AbortSignal | undefined
    let later = 0
    hooks.register('slow', 'pre_tool_use', null, null, (_, { signal }) => {
      seen = signal
      run.abort()
      return never()
    })
    hooks.register('next', 'pre_tool_use', null, null, () => {
      later += 1
    })
    const outcome = await hooks.run('pre_tool_use', bash('x'), { signal: run.signal })
    expect(outcome).toMatchObject({ action: 'block', reason: 'the run was aborted' })
    expect([seen?.aborted, later, notices, hooks.list()[0]?.blocks]).toEqual([true, 0, [], 0])
    expect(await hooks.run('pre_tool_use', bash('x'), { signal: run.signal })).toMatchObject({
      action: 'block',
    })
  })

  it('ends the delay between two attempts when the run is aborted', async () => {
    const { hooks } = setUp()
    const run = new AbortController()
    hooks.register('a', 'pre_prompt', null, null, () => {
      setImmediate(() => run.abort())
      return { action: 'retry', delayMs: 60_000 }
    })
    expect(await hooks.run('pre_prompt', prompt, { signal: run.signal })).toMatchObject({ action: 'block' })
  })

  it('aborts a handler that timed out, and ignores its late answer', async () => {
    const { hooks } = setUp(atOnce)
    let leave: (error: Error) => void = () => undefined
    const signals: AbortSignal[] = []
    hooks.register('slow', 'post_response', null, { timeoutMs: 5 }, (_, { signal }) => {
      signals.push(signal)
      return new Promise((_, reject) => {
        leave = reject
      })
    })
    await hooks.run('post_response', {} as never)
    expect(signals[0]?.aborted).toBe(true)
    leave(new Error('too late for anyone'))
    await new Promise((resolve) => setImmediate(resolve))
    expect(hooks.list()[0]).toMatchObject({ failures: 1, lastError: 'it did not answer within 5 ms' })
  })

  it('continues when the clock or the receiver of notices fails', async () => {
    const hooks = createHooks({
      session,
      now: () => {
        throw new Error('no clock')
      },
      onNotice: () => {
        throw new Error('no one')
      },
    })
    hooks.register('a', 'session_start', null, null, () => {
      throw new Error('no')
    })
    expect(await hooks.run('session_start', { working_directory: '/', resumed: false })).toMatchObject({
      action: 'continue',
    })
  })
})

describe('asyncExecution', () => {
  it('does not wait, and cannot block or change, also at a gating event', async () => {
    const { hooks, notices } = setUp()
    let open: () => void = () => undefined
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    const events: HookEventName[] = []
    hooks.register('watch', 'pre_tool_use', null, { asyncExecution: true }, async ({ eventType }) => {
      await gate
      events.push(eventType)
      return { action: 'block', reason: 'too late' }
    })
    expect(await hooks.run('pre_tool_use', bash('x'))).toMatchObject({ action: 'continue', changed: false })
    expect(events).toEqual([])
    open()
    await hooks.settled()
    expect(events).toEqual(['pre_tool_use'])
    expect(notices).toEqual([expect.objectContaining({ hookId: 'watch', kind: 'ignored' })])
    expect(hooks.list()[0]).toMatchObject({ runs: 1, blocks: 0, failures: 0 })
  })

  it('reports errors, and times out', async () => {
    const { hooks, notices } = setUp(atOnce)
    hooks.register('throws', 'pre_prompt', null, { asyncExecution: true }, () => {
      throw new Error('no')
    })
    hooks.register('hangs', 'pre_prompt', null, { asyncExecution: true, timeoutMs: 5 }, never)
    expect(await hooks.run('pre_prompt', prompt)).toMatchObject({ action: 'continue' })
    await hooks.settled()
    expect(notices.map(({ hookId, kind }) => [hookId, kind])).toEqual([
      ['throws', 'failed'],
      ['hangs', 'failed'],
    ])
  })
})
