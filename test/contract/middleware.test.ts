import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { scriptedModel } from '../../src/testing/scripted-model.js'
import type { ToolApprovalRunContext } from '../../src/tool/approval.js'
import { createTool } from '../../src/tool/create-tool.js'
import { openSession } from './open-session.js'

const skill = {
  name: 'knots',
  kind: 'instruction',
  description: 'How to tie knots.',
  content: 'Tie a bowline.',
} as const

const results = (model: ReturnType<typeof scriptedModel>, at = -1): string[] =>
  (model.requests.at(at)?.chatHistory ?? []).flatMap((message) =>
    message.role === 'tool'
      ? message.content.map(({ content }) =>
          content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join(''),
        )
      : [],
  )

describe('output middleware of a session', () => {
  it('does not see the results of skill, search_skills and Skill', async () => {
    const seen: string[] = []
    const model = scriptedModel([
      { toolCalls: [{ name: 'skill', args: { name: 'knots' } }] },
      { toolCalls: [{ name: 'search_skills', args: { query: 'knots' } }] },
      { toolCalls: [{ name: 'Skill', args: { skill_name: 'knots', prompt: 'Tie one.' } }] },
      'A bowline.',
      { toolCalls: [{ name: 'ls', args: {} }] },
      'done',
    ])
    const { session } = await openSession([], {
      model,
      inlineSkills: [skill],
      permissionPolicy: { defaultDecision: 'allow' },
      middleware: [
        {
          onToolOutput({ toolName }) {
            seen.push(toolName)
            return 'REPLACED'
          },
        },
      ],
    })
    await session.send('Use the skill.')
    const texts = results(model)
    expect(texts[0]).toContain('Tie a bowline.')
    expect(texts[1]).toContain('knots')
    expect(texts[2]).not.toBe('REPLACED')
    expect(texts[3]).toBe('REPLACED')
    expect(seen).toEqual(['ls'])
  })

  it('does not affect the redaction of secrets for skills', async () => {
    const model = scriptedModel([{ toolCalls: [{ name: 'skill', args: { name: 'knots' } }] }, 'done'])
    const { session } = await openSession([], {
      model,
      inlineSkills: [{ ...skill, content: 'The key is KEY-1234567890.' }],
      securityProvider: {
        kind: 'own',
        redactOutput: (text: string) => text.replaceAll('KEY-1234567890', '[gone]'),
      },
    })
    await session.send('Use the skill.')
    expect(results(model)[0]).toContain('The key is [gone].')
  })

  it('replaces the result of a refused call exactly, and that of a truncated call', async () => {
    const model = scriptedModel([
      { toolCalls: [{ name: 'bash', args: { command: 'true' } }] },
      { toolCalls: [{ name: 'long', args: {} }] },
      { toolCalls: [{ name: 'long', args: {} }] },
      'done',
    ])
    const long = createTool({
      name: 'long',
      description: 'd',
      input: z.object({}),
      limits: { maxBytes: 1_000 },
      execute: () => 'x'.repeat(5_000),
    })
    let turn = 0
    const { session } = await openSession([], {
      model,
      tools: [long],
      permissionPolicy: { deny: ['bash'], allow: ['long'] },
      middleware: [{ onToolOutput: ({ result }) => [`No.`, `Short.`, result.replaceAll('x', 'y')][turn++] }],
    })
    await session.send('Go.')
    const [refused, short, masked] = results(model)
    expect(refused).toBe('No.')
    expect(short).toBe('Short.')
    // The place of the rest is in what middleware received, and so in what it returned.
    expect(masked).toMatch(/^y{900,1000}\n/)
    expect(masked).toContain('/long-')
  })
})

describe('response middleware of a session', () => {
  it('can change usage and message id too', async () => {
    const model = scriptedModel(['draft'])
    const { session } = await openSession([], {
      model,
      middleware: [
        {
          onCompletionResponse: ({ response }) => ({
            response: {
              ...response,
              choice: [{ type: 'text', text: 'final' }],
              messageId: 'msg-7',
              usage: { inputTokens: 70, outputTokens: 7, totalTokens: 77 },
            },
          }),
        },
      ],
    })
    const result = await session.send('Go.')
    expect(result.text).toBe('final')
    expect(result.usage).toMatchObject({ promptTokens: 70, completionTokens: 7, totalTokens: 77 })
    expect(session.spending().usage).toMatchObject({ totalTokens: 77 })
  })

  it('that throws does not lose the used tokens', async () => {
    const model = scriptedModel([
      { text: 'draft', usage: { inputTokens: 5, outputTokens: 5, totalTokens: 10 } },
    ])
    const { session } = await openSession([], {
      model,
      middleware: [
        {
          onCompletionResponse: () => {
            throw new Error('middleware broke')
          },
        },
      ],
    })
    await expect(session.send('Go.')).rejects.toThrow('middleware broke')
    expect(session.spending().usage).toMatchObject({ totalTokens: 10 })
  })
})

describe('metadata of a session', () => {
  it('and of a request reach approval policies, tools and subagents; the request takes precedence', async () => {
    const seen: ToolApprovalRunContext[] = []
    const tool = createTool({
      name: 'note',
      description: 'd',
      input: z.object({}),
      approval: { when: ({ run }) => seen.push(run) < 0 },
      execute: (_, { run }) => {
        seen.push(run as ToolApprovalRunContext)
        return 'noted'
      },
    })
    const note = { toolCalls: [{ name: 'note', args: {} }] }
    const model = scriptedModel([
      note,
      'one',
      note,
      'two',
      { toolCalls: [{ name: 'task', args: { agent: 'helper', description: 'd', prompt: 'note it' } }] },
      note,
      'noted',
      'three',
    ])
    const { session } = await openSession([], {
      model,
      tools: [tool],
      metadata: { tenant: 't', role: 'user' },
      workerAgents: [{ name: 'helper', description: 'Helps.', prompt: 'Help.' }],
      permissionPolicy: { defaultDecision: 'allow' },
    })
    await session.send({ prompt: 'First.', metadata: { role: 'admin' } })
    await session.send('Second.')
    for await (const _ of await session.stream({ prompt: 'Third.', metadata: { role: 'owner' } }));
    expect(seen.map(({ metadata }) => metadata)).toEqual([
      { tenant: 't', role: 'admin' },
      { tenant: 't', role: 'admin' },
      { tenant: 't', role: 'user' },
      { tenant: 't', role: 'user' },
      { tenant: 't', role: 'owner' },
      { tenant: 't', role: 'owner' },
    ])
    expect(seen[4]?.agentId).toBe('helper')
    expect(seen.every(({ sessionId }) => typeof sessionId === 'string')).toBe(true)
  })

  it('must be a JSON object', async () => {
    await expect(openSession([], { metadata: 'admin' as never })).rejects.toThrow(/metadata must be/)
    const { session } = await openSession([])
    await expect(session.send({ prompt: 'Go.', metadata: ['x'] as never })).rejects.toThrow(
      /metadata must be/,
    )
  })
})
