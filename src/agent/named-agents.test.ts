import { execFileSync } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../test/support/temporary-directory.js'
import { compilePolicy } from '../authority/policy.js'
import { builtinToolNames } from '../session/tool-names.js'
import { scriptedModel } from '../testing/scripted-model.js'
import { CapstanError } from '../tool/errors.js'
import { Agent } from './agent.js'
import { AgentNotFoundError, builtinAgents, findAgent } from './named-agents.js'

const toolNames = builtinToolNames

describe('an agent by name', () => {
  it.each([
    ['explore', 'explore'],
    ['general-purpose', 'general'],
    ['verify', 'verification'],
    ['verifier', 'verification'],
    ['code-review', 'review'],
    ['reviewer', 'review'],
    ['plan', 'plan'],
  ])('is found as %s', (name, found) => {
    expect(findAgent(name).name).toBe(found)
  })

  it.each(['explor', 'constructor', '__proto__', 'toString', ''])(
    'is not found as %j, and the error names the known ones',
    (name) => {
      expect(() => findAgent(name)).toThrow(AgentNotFoundError)
      expect(() => findAgent(name)).toThrow(/explore/)
      try {
        findAgent(name)
      } catch (error) {
        expect(error).toMatchObject({ code: 'agent_not_found' })
        expect(error).toBeInstanceOf(CapstanError)
      }
    },
  )

  it.each(builtinAgents)(
    'has only tools that exist and rules that can be parsed: $name',
    ({ tools, permissions }) => {
      expect(toolNames).toEqual(expect.arrayContaining([...tools]))
      expect(() => compilePolicy(permissions)).not.toThrow()
    },
  )

  it.each(builtinAgents.filter(({ name }) => name !== 'general'))(
    'that is read-only has no tool to write with, and writing is denied: $name',
    ({ tools, permissions }) => {
      for (const tool of ['write', 'edit', 'patch']) {
        expect(tools).not.toContain(tool)
        expect(permissions.deny).toContain(tool)
      }
      expect(permissions.defaultDecision).toBe('deny')
    },
  )
})

describe('a read-only agent', () => {
  it.each([
    ['review', 'git', { command: 'status' }, true],
    ['review', 'git', { command: 'log' }, true],
    ['review', 'git', { command: 'diff' }, true],
    ['review', 'git', { command: 'checkout', ref: 'other', force: true }, false],
    ['review', 'git', { command: 'stash', message: 'mine' }, false],
    ['review', 'git', { command: 'branch', subcommand: 'create', name: 'x' }, false],
    ['plan', 'todo', { todos: [{ content: 'dig', status: 'pending' }] }, true],
    ['explore', 'bash', { command: 'ls' }, true],
    ['explore', 'bash', { command: 'find . -name x' }, true],
    ['explore', 'bash', { command: 'find . -delete' }, false],
    ['explore', 'bash', { command: 'ls; touch x' }, false],
    ['explore', 'bash', { command: 'cat a > b' }, false],
  ])('is limited to reading: %s calls %s %j', async (name, tool, args, allowed) => {
    const base = temporaryDirectory()
    const agent = await Agent.create({}, { userDir: join(base, 'user'), env: {} })
    try {
      const root = join(base, 'work')
      await mkdir(root)
      const git = (...words: string[]) =>
        execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.test', ...words], { cwd: root })
      git('init', '-q')
      git('commit', '-q', '--allow-empty', '-m', 'first')
      git('branch', 'other')
      const model = scriptedModel([{ toolCalls: [{ name: tool, args }] }, 'done'])
      const session = agent.sessionForAgent(root, name, [], { model, sandbox: 'off' })
      await session.send('go')
      expect(session.traceEvents()).toMatchObject([
        allowed ? { success: true } : { success: false, verdict: 'deny' },
      ])
    } finally {
      await agent.close()
    }
  })
})
