import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { queueModel, resultOf, resultsIn, textsIn, ways } from '../../../test/agent/completion-models.js'
import { type ToolApprovalRequest, ToolApprovalRequiredError } from '../../tool/approval.js'
import { createTool } from '../../tool/create-tool.js'
import { AssistantContent, Message } from '../../tool/message.js'
import { AgentBuilder } from './agent-builder.js'
import { createHook, PromptCancelledError } from './hook.js'
import type { AgentStreamEvent } from './prompt-events.js'

const { text, toolCall } = AssistantContent

function pay(when = false) {
  const ran: unknown[] = []
  const tool = createTool({
    name: 'pay',
    description: 'd',
    input: z.object({ cents: z.number() }),
    approval: { when: () => when, reason: 'The policy asks.', rejectMessage: 'The policy says no.' },
    execute: ({ cents }) => {
      ran.push(cents)
      if (cents < 0) throw new Error('negative')
      return `paid ${cents}`
    },
  })
  return { tool, ran }
}

const paying = (cents = 5) => queueModel([toolCall('c', 'pay', { cents }, 'fc')], [text('done')])

describe.each(ways)('a hook (%s)', (way) => {
  it('sees every step of a prompt, in order', async () => {
    const log: string[] = []
    const note = (name: string) => (args: object) =>
      void log.push(`${name}: ${Object.keys(args).sort().join(' ')}`)
    const { tool } = pay()
    const agent = new AgentBuilder('a', paying())
      .tool(tool)
      .hook(
        createHook({
          onRunStart: note('run start'),
          onTurnStart: note('turn start'),
          onCompletionCall: note('call'),
          onCompletionResponse: note('response'),
          onTurnEnd: note('turn end'),
          onToolCall: note('tool call'),
          onToolResult: note('tool result'),
          onRunEnd: note('run end'),
          onRunError: note('run error'),
          onToolError: note('tool error'),
          onCompletionError: note('completion error'),
        }),
      )
      .build()
    await resultOf(agent.prompt('go'), way)
    const turn = [
      'turn start: history prompt run turn',
      'call: history prompt run',
      'response: prompt response run',
      'turn end: response run turn',
    ]
    expect(log).toEqual([
      'run start: history maxTurns prompt run',
      ...turn,
      'tool call: args internalCallId tool toolCallId toolName',
      'tool result: args internalCallId result run toolCallId toolName',
      ...turn,
      'run end: messages output run usage',
    ])
  })

  it('gets the values of each step', async () => {
    const seen: object[] = []
    const { tool } = pay()
    const agent = new AgentBuilder('a', paying())
      .tool(tool)
      .hook({
        onRunStart: ({ prompt, history, maxTurns }) => void seen.push({ prompt, history, maxTurns }),
        onToolCall: ({ toolName, toolCallId, args }) => void seen.push({ toolName, toolCallId, args }),
        onToolResult: ({ result, toolCallId }) => void seen.push({ result, toolCallId }),
        onRunEnd: ({ output, messages }) => void seen.push({ output, messages: messages.length }),
      })
      .build()
    await resultOf(agent.prompt([Message.user('hi'), Message.assistant('ho'), Message.user('go')]), way)
    expect(seen).toEqual([
      {
        prompt: Message.user('go'),
        history: [Message.user('hi'), Message.assistant('ho')],
        maxTurns: 20,
      },
      { toolName: 'pay', toolCallId: 'fc', args: '{"cents":5}' },
      { result: 'paid 5', toolCallId: 'fc' },
      { output: 'done', messages: 4 },
    ])
  })

  it('of a prompt replaces the hook of the agent', async () => {
    const log: string[] = []
    const agent = new AgentBuilder('a', queueModel([text('ok')]))
      .hook({ onRunStart: () => void log.push('agent') })
      .build()
    await resultOf(agent.prompt('go').withHook({ onRunStart: () => void log.push('prompt') }), way)
    expect(log).toEqual(['prompt'])
  })

  it('skips a call: the tool does not run, and the model reads the reason', async () => {
    const { tool, ran } = pay()
    const model = paying()
    const results: string[] = []
    const agent = new AgentBuilder('a', model)
      .tool(tool)
      .hook({
        onToolCall: ({ tool: call }) => call.skip('Not now.'),
        onToolResult: ({ result }) => void results.push(result),
      })
      .build()
    expect((await resultOf(agent.prompt('go'), way)).output).toBe('done')
    expect(textsIn(model.requests[1]?.chatHistory)).toEqual(['Not now.'])
    expect([ran, results]).toEqual([[], ['Not now.']])
  })

  it('sees the arguments that will run, after middleware', async () => {
    const { tool, ran } = pay()
    const seen: string[] = []
    const agent = new AgentBuilder('a', paying())
      .tool(tool)
      .middleware({ onToolInput: () => ({ args: { cents: 7 } }) })
      .hook({ onToolCall: ({ args }) => void seen.push(args) })
      .build()
    await resultOf(agent.prompt('go'), way)
    expect([seen, ran]).toEqual([['{"cents":7}'], [7]])
  })

  it.each([
    'onRunStart',
    'onTurnStart',
    'onTurnEnd',
    'onCompletionCall',
    'onCompletionResponse',
    'onToolCall',
    'onToolResult',
    'onRunEnd',
  ] as const)('cancels the prompt at %s', async (point) => {
    const { tool, ran } = pay()
    const stop = (args: {
      run?: { cancel(reason: string): unknown }
      tool?: { cancel(reason: string): unknown }
    }) => (args.run ?? args.tool)?.cancel('enough')
    const agent = new AgentBuilder('a', paying())
      .tool(tool)
      .hook({ [point]: stop })
      .build()
    const events: AgentStreamEvent[] = []
    const error = await resultOf(agent.prompt('go'), way, events).catch((thrown) => thrown)
    expect(error).toBeInstanceOf(PromptCancelledError)
    expect(error).toMatchObject({ code: 'cancelled', reason: 'enough' })
    if (point === 'onToolCall') expect(ran).toEqual([])
    if (way === 'stream') expect(events.at(-1)).toEqual({ type: 'error', error, usage: expect.anything() })
  })

  it('asks for approval in addition to the tool’s own policy, and the handler is asked once', async () => {
    for (const policyAsks of [false, true]) {
      const { tool, ran } = pay(policyAsks)
      const asked: ToolApprovalRequest[] = []
      const agent = new AgentBuilder('a', paying())
        .tool(tool)
        .hook({ onToolCall: ({ tool: call }) => call.requestApproval({ reason: 'The hook asks.' }) })
        .approvals({ handler: (request) => asked.push(request) > 0 })
        .build()
      await resultOf(agent.prompt('go'), way)
      expect(asked).toMatchObject([
        { toolName: 'pay', args: { cents: 5 }, reason: policyAsks ? 'The policy asks.' : 'The hook asks.' },
      ])
      expect(ran).toEqual([5])
    }
  })

  it('can set the message of a rejection, and ends the run when there is no handler for its approval', async () => {
    const { tool, ran } = pay()
    const hook = createHook({
      onToolCall: ({ tool: call }) => call.requestApproval({ rejectMessage: 'Ask Ada.' }),
    })
    const model = paying()
    const agent = new AgentBuilder('a', model).tool(tool).hook(hook).build()
    await resultOf(agent.prompt('go').approvals({ handler: () => false }), way)
    expect(resultsIn(model.requests[1]?.chatHistory)).toMatchObject([{ content: [{ text: 'Ask Ada.' }] }])
    const alone = new AgentBuilder('a', paying()).tool(tool).hook(hook).build()
    await expect(resultOf(alone.prompt('go'), way)).rejects.toThrow(ToolApprovalRequiredError)
    expect(ran).toEqual([])
  })

  it('receives failures of tools, models and runs', async () => {
    const log: string[] = []
    const { tool } = pay()
    const agent = new AgentBuilder('a', paying(-1))
      .tool(tool)
      .hook({
        onToolError: ({ error }) => void log.push(`tool ${(error as Error).message}`),
        onToolResult: ({ result }) => void log.push(`result ${result}`),
      })
      .build()
    await resultOf(agent.prompt('go'), way)
    const broken = new AgentBuilder('a', queueModel())
      .hook({
        onCompletionError: ({ error }) => void log.push(`completion ${(error as Error).message}`),
        onRunError: ({ error, messages }) =>
          void log.push(`run ${(error as Error).message} ${messages.length}`),
      })
      .build()
    await expect(resultOf(broken.prompt('go'), way)).rejects.toThrow('No answer')
    expect(log).toEqual([
      'tool negative',
      'result Error: negative',
      expect.stringMatching(/^completion .*No answer for request 1/),
      expect.stringMatching(/^run .*No answer for request 1 1$/),
    ])
  })

  it.each(['onRunStart', 'onTurnEnd', 'onToolCall', 'onToolResult'] as const)(
    'ends the run with the error that it throws at %s',
    async (point) => {
      const thrown = new Error('hook broke')
      const { tool } = pay()
      const hook = { [point]: () => Promise.reject(thrown) }
      const agent = new AgentBuilder('a', paying()).tool(tool).hook(hook).build()
      await expect(resultOf(agent.prompt('go'), way)).rejects.toBe(thrown)
    },
  )
})

describe('a hook in a stream', () => {
  it('does not delay the output of the model when it only handles the end of turns', async () => {
    const order: string[] = []
    const agent = new AgentBuilder('a', queueModel([text('hi')]))
      .hook({ onTurnEnd: () => void order.push('hook') })
      .build()
    for await (const { type } of agent.prompt('go').stream()) order.push(type)
    expect(order.indexOf('text_delta')).toBeLessThan(order.indexOf('hook'))
  })
})
