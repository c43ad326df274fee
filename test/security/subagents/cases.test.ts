import { describe, expect, it } from 'vitest'
import type { AgentEvent } from '../../../src/loop/events.js'
import { kernelOf } from '../../../src/session/session-class.js'
import type { AgentDefinition } from '../../../src/subagents/agent-definition.js'
import { subagentsFeature } from '../../../src/subagents/feature.js'
import { later } from '../../contract/open-session.js'
import { byPrompt, call, open } from '../../contract/subagents.js'

const anything: AgentDefinition = { name: 'anything', description: 'Has all tools.', prompt: 'Do it.' }

/** `Hand on` is handed from one to the next until no agent may; the last one writes. */
function chain(levels: number) {
  return byPrompt(({ prompt, turn, results }) => {
    const level = Number(/\d+/.exec(prompt)?.[0] ?? 0)
    if (turn > 0) return `level ${level}: ${results.join()}`
    return level < levels
      ? call('task', { agent: 'anything', prompt: `level ${level + 1}` })
      : call('write', { file_path: 'made.txt', content: 'x' })
  })
}

describe('subagents', () => {
  it('SEC-232 a read-only agent cannot make another one write', async () => {
    for (const options of [
      { mode: 'plan' as const },
      { mode: 'read-only' as const },
      { permissionPolicy: { allow: ['*'], deny: ['write'] } },
      { permissionPolicy: { allow: ['read'], defaultDecision: 'deny' as const } },
      { permissionPolicy: { allow: ['*'] }, ceiling: { fs: { read: ['**'] } } },
      { permissionPolicy: { allow: ['*'] }, builtinTools: ['read', 'task'] },
    ]) {
      const { session } = await open({ model: chain(3), ...options })
      kernelOf(session).use(subagentsFeature).agents.add(anything)
      const { text } = await session.send('level 0')
      expect(text).toContain('level 3')
      expect(await session.glob('*').catch(() => [])).toEqual([])
      await session.close()
    }
  })

  it('SEC-231 a rule that the parent adds while a child runs applies to the child', async () => {
    const halfway = later()
    const go = later()
    const model = byPrompt(async ({ turn, results }) => {
      if (turn === 0) return call('write', { file_path: 'one.txt', content: 'x' })
      if (turn > 1) return `got ${results.join()}`
      halfway.resolve()
      await go.promise
      return call('write', { file_path: 'two.txt', content: 'x' })
    })
    const { session } = await open({ model, mode: 'accept-edits' })
    const done = session.task({ agent: 'general', prompt: 'write' })
    await halfway.promise
    await session.setMode('plan')
    go.resolve()
    expect((await done).output).toContain('plan')
    await session.setMode(undefined)
    expect(await session.glob('*')).toEqual(['one.txt'])
  })

  it('SEC-231 depth is limited', async () => {
    const { session } = await open({ model: chain(9), permissionPolicy: { allow: ['*'] } })
    kernelOf(session).use(subagentsFeature).agents.add(anything)
    const { text } = await session.send('level 0')
    expect(text).toContain('it would be 6 levels deep, and 5 are allowed')
    expect(text).not.toContain('level 6')
  })

  it('SEC-231 the number of all tasks is limited, however they branch', async () => {
    let most = 0
    let open_ = 0
    const model = byPrompt(({ prompt, turn, results }) => {
      if (turn > 0) return results.join('\n')
      const level = Number(/\d+/.exec(prompt)?.[0] ?? 0)
      if (level === 2) return 'leaf'
      const tasks = Array.from({ length: 10 }, () => ({ agent: 'anything', prompt: `level ${level + 1}` }))
      return call('parallel_task', { tasks })
    })
    const { session } = await open({ model, permissionPolicy: { allow: ['*'] } })
    kernelOf(session).use(subagentsFeature).agents.add(anything)
    const stream = await session.stream('level 0')
    let text = ''
    for await (const event of stream) {
      open_ += step(event)
      most = Math.max(most, open_)
      if (event.type === 'agent_end') text = event.result.text
    }
    expect(text).toContain('at most 64 may be')
    expect(most).toBeLessThanOrEqual(64)
    // All of them were released.
    expect((await session.tasks([{ agent: 'general', prompt: 'level 2' }])).exitCode).toBe(0)
  })

  it('SEC-235 children that write the same file leave it complete', async () => {
    const model = byPrompt(({ prompt, turn }) =>
      turn === 0 ? call('write', { file_path: 'same.txt', content: prompt.repeat(20_000) }) : 'done',
    )
    const { session } = await open({ model, mode: 'accept-edits' })
    await session.tasks(['a', 'b', 'c', 'd'].map((prompt) => ({ agent: 'general', prompt })))
    expect(await session.readFile('same.txt')).toMatch(/^(a{20000}|b{20000}|c{20000}|d{20000})$/)
  })

  it('variables of the host are not passed on unless it says so', async () => {
    const model = byPrompt(({ turn, results }) =>
      turn === 0 ? call('bash', { command: 'echo "[$TOKEN][$COLOR]"' }) : results.join(),
    )
    const env = { TOKEN: 'hush', COLOR: 'blue' }
    const seen: string[] = []
    for (const delegation of [{}, { env: ['COLOR'] }, { env: true }]) {
      const onAsk = () => ({ decision: 'once' }) as const
      const { session } = await open({ model, env, delegation, onAsk })
      seen.push(/\[.*\]/.exec((await session.task({ agent: 'general', prompt: 'echo' })).output)?.[0] ?? '')
    }
    expect(seen).toEqual(['[][]', '[][blue]', '[hush][blue]'])
  })

  it('hooks and watchdog of the parent receive the calls of its children, under their names', async () => {
    const model = byPrompt(({ turn, results }) =>
      turn === 0 ? call('ls', { path: '.' }) : `got ${results.join()}`,
    )
    const watched: (string | undefined)[] = []
    const { session } = await open({
      model,
      watchdog: (asked: { tool: string; session?: string }) => {
        watched.push(asked.session)
        return { action: 'allow' as const }
      },
    })
    const hooked: string[] = []
    session.registerHook('no-ls', 'pre_tool_use', { tool: 'ls' }, null, ({ payload }) => {
      hooked.push(payload.session_id)
      return { action: 'block', reason: 'not today' }
    })
    const { output, metadata } = await session.task({ agent: 'explore', prompt: 'look' })
    expect(output).toContain('not today')
    expect(hooked).toEqual([metadata?.['session_id']])
    expect(watched).toContain(metadata?.['session_id'])
  })
})

function step(event: AgentEvent): number {
  if (event.type === 'subagent_start') return 1
  return event.type === 'subagent_end' ? -1 : 0
}
