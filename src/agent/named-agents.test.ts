import { describe, expect, it } from 'vitest'
import { compilePolicy } from '../authority/policy.js'
import { CapstanError } from '../tool/errors.js'
import { createToolbox } from '../toolbox/toolbox.js'
import { AgentNotFoundError, builtinAgents, findAgent } from './named-agents.js'

const toolNames = createToolbox().map(({ name }) => name)

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
    'is not found as %j, and the known ones are named',
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
    'has tools that there are and rules that can be read: $name',
    ({ tools, permissions }) => {
      expect(toolNames).toEqual(expect.arrayContaining([...tools]))
      expect(() => compilePolicy(permissions)).not.toThrow()
    },
  )

  it.each(builtinAgents.filter(({ name }) => name !== 'general'))(
    'that changes nothing has no tool to write with, and is denied it: $name',
    ({ tools, permissions }) => {
      for (const tool of ['write', 'edit', 'patch']) {
        expect(tools).not.toContain(tool)
        expect(permissions.deny).toContain(tool)
      }
      expect(permissions.defaultDecision).toBe('deny')
    },
  )
})
