import { describe, expect, it } from 'vitest'
import {
  type AgentDefinition,
  AgentNotFoundError,
  agentLines,
  agentNamed,
  takesTasks,
} from './agent-definition.js'
import { AgentRegistry } from './agent-registry.js'

const agent = (name: string, more: Partial<AgentDefinition> = {}): AgentDefinition => ({
  name,
  description: `About ${name}.`,
  prompt: 'You work.',
  ...more,
})

describe('agentNamed', () => {
  const agents = [
    agent('explore', { aliases: ['look', 'plan'] }),
    agent('plan'),
    agent('secret', { hidden: true }),
  ]

  it('finds an agent by its name first, then by its other names', () => {
    expect(agentNamed('plan', agents).name).toBe('plan')
    expect(agentNamed('look', agents).name).toBe('explore')
    expect(agentNamed('secret', agents).name).toBe('secret')
  })

  it('suggests the nearest name, or lists them, and never names a hidden agent', () => {
    expect(() => agentNamed('exlpore', agents)).toThrow(/agent 'exlpore' not found\. Did you mean .*explore/)
    expect(() => agentNamed('zzzzzzzz', agents)).toThrow('Known are explore, plan.')
    expect(() => agentNamed('secre', agents)).not.toThrow(/secret/)
    expect(() => agentNamed('x', agents)).toThrow(AgentNotFoundError)
  })
})

describe('agentLines', () => {
  it('has a line for each agent that accepts tasks and is not hidden', () => {
    const lines = agentLines([
      agent('a', { description: 'Two\n  lines.' }),
      agent('b', { mode: 'primary' }),
      agent('c', { hidden: true }),
      agent('d', { mode: 'subagent', description: 'x'.repeat(500) }),
    ])
    expect(lines).toEqual(['- a: Two lines.', expect.stringMatching(/^- d: x+…$/)])
    expect(lines[1]).toHaveLength(160)
  })

  it('has 40 lines at most, and says how many are omitted', () => {
    const lines = agentLines(Array.from({ length: 45 }, (_, n) => agent(`a${n}`)))
    expect(lines).toHaveLength(41)
    expect(lines.at(-1)).toBe('- and 5 more')
  })
})

describe('AgentRegistry', () => {
  it('lists an added agent before its own, and replaces one with the same name', () => {
    const shelf = new AgentRegistry([agent('explore'), agent('plan')])
    shelf.add(agent('mine'))
    shelf.add(agent('plan', { description: 'Mine too.' }))
    expect(shelf.list().map(({ name }) => name)).toEqual(['mine', 'plan', 'explore'])
    expect(shelf.forTask('plan').description).toBe('Mine too.')
    shelf.add(agent('mine', { description: 'Another.' }))
    expect(shelf.added().map(({ description }) => description)).toEqual(['Another.', 'Mine too.'])
  })

  it('gives no tasks to an agent that only a host can open', () => {
    const shelf = new AgentRegistry([agent('main', { mode: 'primary' }), agent('explore')])
    expect(takesTasks(agent('x'))).toBe(true)
    expect(() => shelf.forTask('main')).toThrow("agent 'main' not found")
  })
})
