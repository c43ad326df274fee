import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { queueModel, resultOf, textsIn, ways } from '../../../test/agent/completion-models.js'
import { createRuleBook } from '../../authority/rule-book.js'
import type { AskRequest } from '../../loop/ask.js'
import { MaxTurnsError } from '../../loop/errors.js'
import { createGate } from '../../loop/gate.js'
import { type ToolApprovalRequest, ToolApprovalRequiredError } from '../../tool/approval.js'
import { createTool } from '../../tool/create-tool.js'
import { AssistantContent } from '../../tool/message.js'
import { AgentBuilder } from './agent-builder.js'
import type { BuiltAgent } from './built-agent.js'
import type { AgentStreamEvent } from './prompt-events.js'

const { text, toolCall } = AssistantContent
const ask = (name = 'ask_child'): AssistantContent[] => [toolCall('p1', name, { prompt: 'do it' }, 'fc_p1')]

/** An agent that pays when it is asked, and needs a yes for it. */
function payer(ran: string[] = []): AgentBuilder {
  const pay = createTool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({}),
    approval: { when: () => true, reason: 'money' },
    execute: () => ran.push('paid'),
  })
  return new AgentBuilder('child', queueModel([toolCall('c1', 'pay', {})], [text('child done')])).tool(pay)
}

describe('an agent as a tool', () => {
  it('describes what it is for', () => {
    const builder = new AgentBuilder('support', queueModel())
    expect(builder.build().asTool({ name: 'ask' }).definition().description).toContain('support')
    const tool = builder.description('Answers questions.').build().asTool({ name: 'ask' })
    expect(tool.definition()).toMatchObject({
      name: 'ask',
      description: 'Answers questions.',
      parameters: { type: 'object', required: ['prompt'], additionalProperties: false },
    })
  })

  it('runs its agent, also when it is called outside of a run', async () => {
    const model = queueModel([text('answer')])
    const tool = new AgentBuilder('child', model).build().asTool({ name: 'ask' })
    await expect(tool.call({ prompt: 'why?' })).resolves.toBe('answer')
    expect(model.requests[0]?.chatHistory).toMatchObject([{ role: 'user', content: [{ text: 'why?' }] }])
  })

  it('has its own limit of turns', async () => {
    const agent = payer().build()
    await expect(agent.asTool({ name: 'ask', maxTurns: 0 }).call({ prompt: 'go' })).rejects.toThrow(
      MaxTurnsError,
    )
  })
})

describe.each(ways)('an agent inside a run (%s)', (way) => {
  const parent = (child: BuiltAgent, stream = false): AgentBuilder =>
    new AgentBuilder('parent', queueModel(ask(), [text('all done')])).tool(
      child.asTool({ name: 'ask_child', stream }),
    )

  it.each([true, false])(
    'asks the handler of the run that called it, and names itself (stream: %s)',
    async (stream) => {
      const asked: ToolApprovalRequest[] = []
      const ran: string[] = []
      const agent = parent(payer(ran).build(), stream)
        .approvals({ handler: (request) => asked.push(request) > 0 })
        .build()
      expect((await resultOf(agent.prompt('go'), way)).output).toBe('all done')
      expect(asked).toMatchObject([{ toolName: 'pay', reason: 'money', run: { agentId: 'child' } }])
      expect(ran).toEqual(['paid'])
    },
  )

  it('asks through agents in between', async () => {
    const ran: string[] = []
    const middle = new AgentBuilder('middle', queueModel(ask(), [text('middle done')]))
      .tool(payer(ran).build().asTool({ name: 'ask_child' }))
      .build()
    const agent = parent(middle)
      .approvals({ handler: ({ run }) => run.agentId === 'child' })
      .build()
    await resultOf(agent.prompt('go'), way)
    expect(ran).toEqual(['paid'])
  })

  it('asks its own handler when it has one', async () => {
    const ran: string[] = []
    const child = payer(ran)
      .approvals({ handler: () => true })
      .build()
    await resultOf(parent(child).build().prompt('go'), way)
    expect(ran).toEqual(['paid'])
  })

  it('continues when that handler rejects the call', async () => {
    const ran: string[] = []
    const agent = parent(payer(ran).build())
      .approvals({ handler: () => false })
      .build()
    expect((await resultOf(agent.prompt('go'), way)).output).toBe('all done')
    expect(ran).toEqual([])
  })

  it('ends the run when no user can be asked', async () => {
    const failed = resultOf(parent(payer().build()).build().prompt('go'), way)
    await expect(failed).rejects.toThrow(ToolApprovalRequiredError)
    await expect(failed).rejects.toMatchObject({ request: { toolName: 'pay', run: { agentId: 'child' } } })
  })

  it('ends the run with the error that the handler throws', async () => {
    const thrown = new Error('desk is closed')
    const agent = parent(payer().build())
      .approvals({ handler: () => Promise.reject(thrown) })
      .build()
    await expect(resultOf(agent.prompt('go'), way)).rejects.toBe(thrown)
  })

  it('is a failed tool call when it fails for another reason', async () => {
    const child = new AgentBuilder('child', queueModel()).build()
    const model = queueModel(ask(), [text('all done')])
    const agent = new AgentBuilder('parent', model).tool(child.asTool({ name: 'ask_child' })).build()
    await resultOf(agent.prompt('go'), way)
    expect(textsIn(model.requests[1]?.chatHistory)[0]).toContain('No answer for request 1')
  })

  it('is aborted with the run', async () => {
    const stop = new AbortController()
    let wasAborted = false
    const waits = createTool({
      name: 'waits',
      description: 'Waits.',
      input: z.object({}),
      execute: (_, { signal }) =>
        new Promise<void>((resolve) => {
          signal?.addEventListener(
            'abort',
            () => {
              wasAborted = true
              resolve()
            },
            { once: true },
          )
          stop.abort()
        }),
    })
    const childModel = queueModel([toolCall('1', 'waits', {})], [text('never')])
    const child = new AgentBuilder('child', childModel).tool(waits).build()
    await expect(resultOf(parent(child).build().prompt('go').withSignal(stop.signal), way)).rejects.toThrow(
      /cancelled/,
    )
    expect([wasAborted, childModel.requests.length]).toEqual([true, 1])
  })
})

describe('an agent inside a call of a session', () => {
  it.each([
    ['once', 'paid'],
    ['reject', undefined],
  ] as const)('asks the user of the session (answer: %s)', async (decision, outcome) => {
    const ran: string[] = []
    const asked: AskRequest[] = []
    const tool = payer(ran).build().asTool({ name: 'ask_child' })
    const scope = { variables: { workspace: ['/work'] } }
    const gate = createGate({
      tools: { get: () => tool, names: () => [tool.name] },
      authorityFor: () => ({ book: createRuleBook({ rules: [], scope, defaultDecision: 'allow' }) }),
      onAsk: (request) => {
        asked.push(request)
        return { decision, message: 'no money' }
      },
      spill: async () => '',
      now: () => 0,
      newId: () => 'outer',
    })
    const { envelope, fatal } = await gate.call({
      name: 'ask_child',
      input: { value: { prompt: 'go' } },
      origin: 'model',
    })
    expect([envelope, fatal]).toMatchObject([{ type: 'output', data: 'child done' }, undefined])
    expect(asked).toMatchObject([
      {
        toolName: 'pay',
        args: {},
        reasons: ['money'],
        notes: [expect.stringContaining('"child" inside a call of "ask_child"')],
        run: { agentId: 'child' },
      },
    ])
    expect(asked[0]?.id).not.toBe('outer')
    expect(ran[0]).toBe(outcome)
  })
})

describe('the events of an agent inside a run', () => {
  it('are passed on with its name, and its answer is the result', async () => {
    const child = new AgentBuilder('child', queueModel([text('child '), text('done')])).name('Child').build()
    const agent = new AgentBuilder('parent', queueModel(ask(), [text('all done')]))
      .tool(child.asTool({ name: 'ask_child', stream: true }))
      .build()
    const events: AgentStreamEvent[] = []
    await resultOf(agent.prompt('go'), 'stream', events)
    const inner = events.flatMap((event) => (event.type === 'agent_tool_event' ? [event] : []))
    expect(inner.map(({ event }) => (event as AgentStreamEvent).type)).toEqual([
      'turn_start',
      'text_delta',
      'text_delta',
      'turn_end',
      'final',
    ])
    expect(inner[1]).toMatchObject({
      turn: 1,
      toolName: 'ask_child',
      toolCallId: 'fc_p1',
      internalCallId: expect.any(String),
      agentId: 'child',
      agentName: 'Child',
      event: { delta: 'child ' },
    })
    expect(events).toContainEqual(
      expect.objectContaining({
        type: 'tool_result',
        toolName: 'ask_child',
        result: 'child done',
        internalCallId: inner[0]?.internalCallId,
      }),
    )
  })
})
