import { readdir } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { bash, calls, collect, later, ofType, openSession, toolResults, until } from './open-session.js'

const edits = [
  bash('touch x.txt'),
  calls(['write', { file_path: 'x.txt', content: 'x' }]),
  calls(['edit', { file_path: 'a.txt', old_string: 'a', new_string: 'b' }]),
  calls([
    'batch',
    {
      invocations: [
        { tool: 'write', args: { file_path: 'x.txt', content: 'x' } },
        { tool: 'read', args: { file_path: 'a.txt' } },
      ],
    },
  ]),
]

describe('modes', () => {
  it.each(['plan', 'read-only'] as const)(
    '%s limits commands, edits and the calls of a batch, whatever rules and users say',
    async (mode) => {
      const asked: string[] = []
      const { server, session, root } = await openSession(
        [...edits, calls(['read', { file_path: 'a.txt' }]), 'done'],
        {
          mode,
          permissionPolicy: { allow: ['bash', 'write', 'edit', 'batch'] },
          onAsk: ({ toolName }) => {
            asked.push(toolName)
            return { decision: 'once' }
          },
        },
        { 'a.txt': 'a\n' },
      )
      await session.send('x')
      const results = toolResults(server, 5)
      for (const result of results.slice(0, 3)) expect(result).toContain(`mode "${mode}"`)
      expect(results[3]).toContain(`mode "${mode}"`)
      expect(results[4]).toContain('a')
      expect(asked).toEqual([])
      expect(await readdir(root)).toEqual(['a.txt'])
      expect(await session.readFile('a.txt')).toBe('a\n')
    },
  )

  it('read-only runs commands that are known to change nothing', async () => {
    const { server, session } = await openSession(
      [bash('cat a.txt'), bash('cat a.txt > b.txt'), 'done'],
      { mode: 'read-only', permissionPolicy: { allow: ['bash'] } },
      { 'a.txt': 'hello\n' },
    )
    await session.send('x')
    const [read, written] = toolResults(server, 2)
    expect(read).toContain('hello')
    expect(written).toContain('mode "read-only"')
  })

  it('accept-edits writes without asking, and still asks about commands', async () => {
    const { server, session, root } = await openSession(
      [calls(['write', { file_path: 'x', content: '' }]), bash('touch y'), 'done'],
      {
        mode: 'accept-edits',
      },
    )
    await session.send('x')
    expect(await readdir(root)).toEqual(['x'])
    expect(toolResults(server, 2)[1]).toMatch(/No user can/)
  })

  it('full allows what no rule denies', async () => {
    const { server, session, root } = await openSession([bash('touch x'), bash('rm x'), 'done'], {
      mode: 'full',
      permissionPolicy: { deny: ['bash(rm *)'] },
    })
    await session.send('x')
    expect(await readdir(root)).toEqual(['x'])
    expect(toolResults(server, 2)[1]).toMatch(/Refused/)
  })

  it('can be changed while the session runs, and apply from the next call on', async () => {
    const changed = later()
    const { server, session, root } = await openSession(
      async (_, n) => {
        if (n === 1) await changed.promise
        return n < 2 ? bash(`touch file-${n}`) : 'done'
      },
      { mode: 'full' },
    )
    const stream = await session.stream('x')
    await until(stream, 'tool_end')
    await session.setMode('plan')
    changed.resolve()
    const events = await collect(stream)
    expect(ofType(events, 'agent_mode_changed')).toEqual([{ type: 'agent_mode_changed', mode: 'plan' }])
    expect(toolResults(server, 2)[1]).toContain('mode "plan"')
    expect(await readdir(root)).toEqual(['file-0'])
  })

  it('with an unknown name are rejected, and the previous one applies', async () => {
    const { server, session } = await openSession([bash('touch x'), 'done'], {
      mode: 'plan',
      permissionPolicy: { allow: ['bash'] },
    })
    await expect(session.setMode('readonly' as never)).rejects.toThrow(/readonly.*read-only/s)
    await session.send('x')
    expect(toolResults(server, 1)[0]).toContain('mode "plan"')
  })
})

describe('headless', () => {
  it('nothing waits for a user: ask is deny, questions are refused, the run ends', async () => {
    const { session, server } = await openSession([
      bash('npm publish'),
      calls(['question', { questions: [{ question: 'May I?' }] }]),
      bash('read -p "name? " x'),
      'done',
    ])
    expect((await session.send('x')).text).toBe('done')
    for (const result of toolResults(server, 3)) expect(result).toMatch(/No user can/)
    expect(session.pendingConfirmations()).toEqual([])
  })

  it('commands read nothing from the terminal', async () => {
    const { session } = await openSession([])
    expect(await session.bash('cat; echo end')).toBe('end\n')
  })
})
