import { describe, expect, it } from 'vitest'
import type { AgentDefinition } from './agent-definition.js'
import { suggestAgents } from './suggest-agents.js'

const agent = (name: string, description = '', more: Partial<AgentDefinition> = {}): AgentDefinition => ({
  name,
  description,
  prompt: '',
  ...more,
})
const agents = [
  agent('explore'),
  agent('general'),
  agent('plan'),
  agent('verification', '', { aliases: ['verify'] }),
  agent('review'),
  agent('db-expert', 'Knows the database schema, migrations and slow queries.'),
  agent('hidden-one', 'Knows the database.', { hidden: true }),
  agent('front', 'Knows the database.', { mode: 'primary' }),
]
const chosen = (prompt: string) =>
  suggestAgents(prompt, agents).map(({ agent, confidence }) => [agent.name, confidence])

describe('suggestAgents', () => {
  it.each([
    ['Ask @db-expert about this', [['db-expert', 0.96]]],
    ['use the review agent', [['review', 0.96]]],
    ['Use the verify subagent here', [['verification', 0.96]]],
    ['Where is the parser?', [['explore', 0.84]]],
    ['Check that the login works', [['verification', 0.88]]],
    ['Review this change', [['review', 0.86]]],
    ['Make a plan', [['plan', 0.82]]],
    ['Do these in parallel', [['general', 0.83]]],
    ['Why is the database slow?', [['db-expert', 0.74]]],
    ['Look at the schema', [['db-expert', 0.62]]],
    ['database schema migrations', [['db-expert', 0.8]]],
    ['Fix the typo', []],
    ['mail me@review.example', []],
  ])('%s', (prompt, expected) => {
    expect(chosen(prompt)).toEqual(expected)
  })

  it('lists the most certain ones first', () => {
    expect(chosen('Where is it, and review the code: check that it works').map(([name]) => name)).toEqual([
      'verification',
      'review',
      'explore',
    ])
  })

  it('ranks an agent a little higher when its description asks for proactive use', () => {
    const eager = agent('eager', 'Use proactively for tables.')
    expect(suggestAgents('about tables', [eager])[0]?.confidence).toBeCloseTo(0.7)
  })
})
