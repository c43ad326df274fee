import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { AskRequest } from '../../src/loop/ask.js'
import {
  bash,
  calls,
  collect,
  eventsOf,
  later,
  ofType,
  openSession,
  toolResults,
  until,
} from './open-session.js'

const waiting = { confirmationPolicy: { enabled: true } } as const
const makes = (path: string) => bash(`touch ${path}`)

describe('confirmationPolicy', () => {
  it('makes a call wait until it is approved', async () => {
    const { session, root } = await openSession(
      [calls(['bash', { command: 'touch x.txt' }, 'call-1']), 'done'],
      waiting,
    )
    const stream = await session.stream('go')
    expect(await until(stream, 'confirmation_required')).toMatchObject({
      toolId: 'call-1',
      toolName: 'bash',
      args: { command: 'touch x.txt' },
      timeoutMs: 30_000,
      reasons: [expect.any(String)],
    })
    const [pending] = session.pendingConfirmations()
    expect(pending).toMatchObject({ toolId: 'call-1', toolName: 'bash', args: { command: 'touch x.txt' } })
    expect(pending?.remainingMs).toBeGreaterThan(0)
    expect(pending?.remainingMs).toBeLessThanOrEqual(30_000)
    expect(await session.confirmToolUse('call-1', true)).toBe(true)
    expect(await session.confirmToolUse('call-1', true)).toBe(false)
    const events = await collect(stream)
    expect(ofType(events, 'confirmation_received')).toMatchObject([{ toolId: 'call-1', approved: true }])
    expect(await readdir(root)).toEqual(['x.txt'])
    expect(session.pendingConfirmations()).toEqual([])
  })

  it('passes the reason of a refusal to the model, and the run continues', async () => {
    const { server, session, root } = await openSession([makes('x.txt'), 'done'], waiting)
    const stream = await session.stream('go')
    const { toolId } = await until(stream, 'confirmation_required')
    await session.confirmToolUse(toolId, false, 'use the other directory')
    const events = await collect(stream)
    expect(ofType(events, 'confirmation_received')).toMatchObject([
      { approved: false, reason: 'use the other directory' },
    ])
    expect(ofType(events, 'permission_denied')).toHaveLength(1)
    expect(events.at(-1)?.type).toBe('agent_end')
    expect(toolResults(server, 1)[0]).toContain('use the other directory')
    expect(await readdir(root)).toEqual([])
  })

  it('ignores unknown ids', async () => {
    const { session } = await openSession([], waiting)
    expect(await session.confirmToolUse('nobody', true)).toBe(false)
    expect(await session.cancelConfirmations()).toBe(0)
  })

  it.each([
    ['reject', 'rejected', []],
    ['auto_approve', 'auto_approved', ['x.txt']],
  ] as const)('ends the wait automatically: %s', async (timeoutAction, actionTaken, files) => {
    const { server, session, root } = await openSession([makes('x.txt'), 'done'], {
      confirmationPolicy: { enabled: true, defaultTimeoutMs: 30, timeoutAction },
    })
    const events = await eventsOf(session, 'go')
    expect(ofType(events, 'confirmation_timeout')).toMatchObject([{ actionTaken }])
    expect(await readdir(root)).toEqual(files)
    if (timeoutAction === 'reject') expect(toolResults(server, 1)[0]).toContain('30 ms')
  })

  it('rejects at the time limit unless configured otherwise', async () => {
    const { session, root } = await openSession([makes('x.txt'), 'done'], {
      confirmationPolicy: { enabled: true, defaultTimeoutMs: 20 },
    })
    await session.send('go')
    expect(await readdir(root)).toEqual([])
  })

  it('waits as long as configured, also when no timer supports that', async () => {
    const { session, root } = await openSession([makes('x.txt'), 'done'], {
      confirmationPolicy: { enabled: true, defaultTimeoutMs: 10 ** 12, timeoutAction: 'auto_approve' },
    })
    const stream = await session.stream('go')
    const { toolId } = await until(stream, 'confirmation_required')
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect(session.pendingConfirmations()).toHaveLength(1)
    await session.confirmToolUse(toolId, false)
    await collect(stream)
    expect(await readdir(root)).toEqual([])
  })

  it('rejects all pending calls and returns how many', async () => {
    const { session, root } = await openSession(
      [
        calls(
          ['write', { file_path: 'a', content: '' }, 'w1'],
          ['write', { file_path: 'b', content: '' }, 'w2'],
        ),
        'done',
      ],
      waiting,
    )
    const stream = await session.stream('go')
    await until(stream, 'confirmation_required')
    await until(stream, 'confirmation_required')
    expect(await session.cancelConfirmations()).toBe(2)
    expect((await collect(stream)).at(-1)?.type).toBe('agent_end')
    expect(await readdir(root)).toEqual([])
  })

  it.each([[['w1', 'w2']], [['w2', 'w1']]])(
    'answers two pending calls in either order: %s',
    async (order) => {
      const { server, session, root } = await openSession(
        [
          calls(
            ['write', { file_path: 'w1', content: '1' }, 'w1'],
            ['write', { file_path: 'w2', content: '2' }, 'w2'],
          ),
          'done',
        ],
        waiting,
      )
      const stream = await session.stream('go')
      await until(stream, 'confirmation_required')
      await until(stream, 'confirmation_required')
      for (const id of order)
        expect(await session.confirmToolUse(id, id === 'w1', 'only the first')).toBe(true)
      await collect(stream)
      expect(await readdir(root)).toEqual(['w1'])
      expect(toolResults(server, 1)[0]).not.toContain('only the first')
      expect(toolResults(server, 1)[1]).toContain('only the first')
    },
  )

  it('rejects both of two calls with one id', async () => {
    const { session, root } = await openSession(
      [
        calls(
          ['write', { file_path: 'a', content: '' }, 'same'],
          ['write', { file_path: 'b', content: '' }, 'same'],
        ),
        'done',
      ],
      { confirmationPolicy: { enabled: true, defaultTimeoutMs: 2_000 } },
    )
    const stream = await session.stream('go')
    const { toolId } = await until(stream, 'confirmation_required')
    await session.confirmToolUse(toolId, true)
    await collect(stream)
    expect((await readdir(root)).length).toBeLessThan(2)
  })

  it('asks nothing in lanes that need no confirmation', async () => {
    const asking = {
      permissionPolicy: { ask: ['read(*)'] },
      confirmationPolicy: { enabled: true, yoloLanes: ['query'] },
    } as const
    const { server, session } = await openSession(
      [calls(['read', { file_path: 'a.txt' }]), makes('x.txt'), 'done'],
      asking,
      { 'a.txt': 'hello' },
    )
    const stream = await session.stream('go')
    expect(await until(stream, 'confirmation_required')).toMatchObject({ toolName: 'bash' })
    expect(toolResults(server, 1)[0]).toContain('hello')
    await session.cancelConfirmations()
    await collect(stream)
  })

  it('that is off behaves as if there were no user', async () => {
    const { server, session } = await openSession([makes('x.txt'), 'done'], {
      confirmationPolicy: { enabled: false },
    })
    const events = await eventsOf(session, 'go')
    expect(ofType(events, 'confirmation_required')).toEqual([])
    expect(toolResults(server, 1)[0]).toMatch(/No user can be asked/)
  })

  it('receives the scope of an approval', async () => {
    const { session, root } = await openSession([bash('touch x'), bash('touch x'), 'done'], waiting)
    const stream = await session.stream('go')
    const { toolId } = await until(stream, 'confirmation_required')
    await session.confirmToolUse(toolId, true, undefined, 'session')
    const events = await collect(stream)
    expect(ofType(events, 'confirmation_required')).toEqual([])
    expect(await readdir(root)).toEqual(['x'])
  })

  it('asks about each call inside a batch separately', async () => {
    const { session, root } = await openSession(
      [
        calls([
          'batch',
          {
            invocations: [
              { tool: 'write', args: { file_path: 'a', content: '' } },
              { tool: 'write', args: { file_path: 'b', content: '' } },
            ],
          },
        ]),
        'done',
      ],
      { ...waiting, permissionPolicy: { allow: ['batch'] } },
    )
    const stream = await session.stream('go')
    for (let n = 0; n < 2; n++) {
      const { toolId, args } = await until(stream, 'confirmation_required')
      await session.confirmToolUse(toolId, (args as { file_path: string }).file_path === 'b')
    }
    await collect(stream)
    expect(await readdir(root)).toEqual(['b'])
  })

  it('leaves nothing pending when the run is cancelled', async () => {
    const { session, root } = await openSession([makes('x.txt'), 'done'], waiting)
    const stream = await session.stream('go')
    const { toolId } = await until(stream, 'confirmation_required')
    session.cancel()
    await collect(stream)
    expect(session.pendingConfirmations()).toEqual([])
    expect(await session.confirmToolUse(toolId, true)).toBe(false)
    expect(await readdir(root)).toEqual([])
  })
})

describe('onAsk', () => {
  it('receives all details of a call, and its approval is for exactly these arguments', async () => {
    const asked: AskRequest[] = []
    const { session, root } = await openSession([makes('x.txt'), 'done'], {
      onAsk: (request) => {
        asked.push(request)
        // Changing what is shown must not change what runs.
        try {
          Object.assign(request.args as object, { command: 'touch evil.txt' })
        } catch {
          // Frozen: all the better.
        }
        return { decision: 'once' }
      },
    })
    await session.send('go')
    expect(asked[0]).toMatchObject({
      toolName: 'bash',
      reasons: [expect.any(String)],
      key: expect.any(String),
    })
    expect(await readdir(root)).not.toContain('evil.txt')
  })

  it('"once" is asked again for the next call', async () => {
    const asked: string[] = []
    const { session, root } = await openSession([makes('x'), makes('y'), 'done'], {
      onAsk: ({ args }) => {
        asked.push((args as { command: string }).command)
        return { decision: 'once' }
      },
    })
    await session.send('go')
    expect(asked).toEqual(['touch x', 'touch y'])
    expect(await readdir(root)).toEqual(['x', 'y'])
  })

  it('"session" is not asked again in this session, and is in the next', async () => {
    let asked = 0
    const onAsk = () => {
      asked++
      return { decision: 'session' } as const
    }
    const { agent, session, root } = await openSession(
      [makes('x'), makes('x'), 'done', 'again', makes('x'), 'done'],
      { onAsk },
    )
    await session.send('go')
    await session.send('go')
    expect(asked).toBe(1)
    await agent.session(root, { onAsk, sandbox: 'off' }).send('go')
    expect(asked).toBe(2)
  })

  it('"always" is saved for the project, in a file of the user', async () => {
    let asked = 0
    const onAsk = () => {
      asked++
      return { decision: 'always' } as const
    }
    const { agent, session, root, userDir } = await openSession([makes('x'), 'done', makes('x'), 'done'], {
      onAsk,
    })
    await session.send('go')
    await session.close()
    const files = await readdir(userDir, { recursive: true })
    const texts = await Promise.all(
      files.map((file) => readFile(join(userDir, file), 'utf8').catch(() => '')),
    )
    expect(texts.join('\n')).toContain('touch x')
    expect(await readdir(root)).toEqual(['x'])
    await agent.session(root, { onAsk, sandbox: 'off' }).send('go')
    expect(asked).toBe(1)
  })

  it('"reject" passes the reason to the model', async () => {
    const { server, session, root } = await openSession([makes('x'), 'done'], {
      onAsk: () => ({ decision: 'reject', message: 'ask me tomorrow' }),
    })
    await session.send('go')
    expect(toolResults(server, 1)[0]).toContain('ask me tomorrow')
    expect(await readdir(root)).toEqual([])
  })

  it.each([
    ['nothing', () => undefined],
    ['true', () => true],
    ['another word', () => ({ decision: 'yes' })],
  ])('that answers %s has not approved', async (_, onAsk) => {
    const { session, root } = await openSession([makes('x'), 'done'], { onAsk: onAsk as never })
    await session.send('go')
    expect(await readdir(root)).toEqual([])
  })

  it('that throws allows nothing', async () => {
    const { session, root } = await openSession([makes('x'), 'done'], {
      onAsk: () => {
        throw new Error('dialog broke')
      },
    })
    await expect(session.send('go')).rejects.toThrow(/dialog broke/)
    expect(await readdir(root)).toEqual([])
    expect(session.pendingConfirmations()).toEqual([])
  })

  it('and confirmToolUse: the first answer decides', async () => {
    const { session, root } = await openSession([makes('x'), 'done'], {
      onAsk: () => new Promise<never>(() => undefined),
    })
    const stream = await session.stream('go')
    const { toolId } = await until(stream, 'confirmation_required')
    expect(await session.confirmToolUse(toolId, true)).toBe(true)
    await collect(stream)
    expect(await readdir(root)).toEqual(['x'])
  })

  it('that answers a question which was answered elsewhere changes nothing, and saves no rule', async () => {
    const asked: AskRequest[] = []
    const late = later<{ decision: 'always' }>()
    const { server, session, root, userDir } = await openSession([makes('x'), makes('x'), 'done'], {
      onAsk: (request) => {
        asked.push(request)
        return asked.length === 1 ? late.promise : { decision: 'reject', message: 'asked again' }
      },
    })
    const stream = await session.stream('go')
    const { toolId } = await until(stream, 'confirmation_required')
    // The handler shows its question; another client of the session says no first.
    expect(await session.confirmToolUse(toolId, false, 'not from here')).toBe(true)
    late.resolve({ decision: 'always' })
    expect(await session.confirmToolUse(toolId, true)).toBe(false)
    const events = await collect(stream)
    expect(await readdir(root)).toEqual([])
    expect(toolResults(server, 1)[0]).toContain('not from here')
    // The late answer was for nothing: the same command is a new question.
    expect(asked).toHaveLength(2)
    expect(asked[1]?.id).not.toBe(asked[0]?.id)
    expect(toolResults(server, 2)[1]).toContain('asked again')
    const answers = ofType(events, 'confirmation_received')
    expect(answers.map(({ toolId: id, approved }) => [id === toolId, approved])).toEqual([
      [true, false],
      [false, false],
    ])
    const rules = await readdir(userDir, { recursive: true })
    expect(rules.filter((name) => name.includes('rules'))).toEqual([])
    expect(session.pendingConfirmations()).toEqual([])
  })
})

describe('without a user', () => {
  it('refuses a call that needs approval at once, with a message that names the option', async () => {
    const { server, session, root } = await openSession([
      makes('x'),
      calls(['write', { file_path: 'y', content: '' }]),
      'done',
    ])
    const events = await eventsOf(session, 'go')
    for (const result of toolResults(server, 2)) {
      expect(result).toMatch(/No user can be asked/)
      expect(result).toMatch(/the allow list of the policy/)
      expect(result).toMatch(/onAsk/)
    }
    expect(ofType(events, 'permission_denied')).toHaveLength(2)
    expect(await readdir(root)).toEqual([])
  })

  it('reading in the workspace works without any policy', async () => {
    const { server, session } = await openSession(
      [
        calls(
          ['read', { file_path: 'a.txt' }],
          ['grep', { pattern: 'hello' }],
          ['glob', { pattern: '*.txt' }],
          ['ls', {}],
        ),
        'done',
      ],
      {},
      { 'a.txt': 'hello' },
    )
    await session.send('go')
    for (const result of toolResults(server, 1)) expect(result).toMatch(/hello|a\.txt/)
  })
})
