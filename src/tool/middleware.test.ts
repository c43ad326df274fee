import { describe, expect, it, vi } from 'vitest'
import type { CompletionRequest, CompletionResponse } from './completion.js'
import type { ToolResultContent } from './content.js'
import {
  type AgentMiddleware,
  applyCompletionRequest,
  applyCompletionResponse,
  applyToolInput,
  applyToolOutput,
  composeMiddleware,
  createMiddleware,
  createToolMiddleware,
  withoutOutputMiddleware,
} from './middleware.js'
import { createThinkTool } from './think-tool.js'

const request: CompletionRequest = { chatHistory: [], documents: [], tools: [], instructions: 'base' }
const response: CompletionResponse = {
  choice: [{ type: 'text', text: 'hi' }],
  usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
  rawResponse: null,
}
const call = { toolName: 'search', turn: 1, internalCallId: 'i1', toolCallId: 'c1' }
const append = (suffix: string): AgentMiddleware => ({
  onCompletionRequest: ({ request }) => ({
    request: { ...request, instructions: `${request.instructions}${suffix}` },
  }),
  onToolInput: ({ args }) => ({ args: `${args}${suffix}` }),
  onToolOutput: ({ result }) => `${result}${suffix}`,
})

describe('createMiddleware', () => {
  it('returns its argument, also under the deprecated name', () => {
    const middleware = append('x')
    expect(createMiddleware(middleware)).toBe(middleware)
    expect(createToolMiddleware(middleware)).toBe(middleware)
  })
})

describe('composeMiddleware', () => {
  it('orders the agent’s middleware before the request’s, each in order of registration', async () => {
    const stack = composeMiddleware([append('1'), append('2')], undefined, [append('3')])
    expect((await applyCompletionRequest(stack, { turn: 1, request })).instructions).toBe('base123')
    expect(await applyToolInput(stack, { ...call, args: 'in' })).toBe('in123')
    expect(await applyToolOutput(stack, { ...call, args: '{}', result: 'out' })).toEqual({ result: 'out123' })
  })
})

describe('applyCompletionRequest', () => {
  it('keeps the request when nothing is returned, and shows the original to each middleware', async () => {
    const seen = vi.fn()
    const stack: AgentMiddleware[] = [append('1'), { onCompletionRequest: seen }, {}]
    expect((await applyCompletionRequest(stack, { turn: 7, request })).instructions).toBe('base1')
    expect(seen).toHaveBeenCalledWith({
      turn: 7,
      request: { ...request, instructions: 'base1' },
      originalRequest: request,
    })
  })
})

describe('applyCompletionResponse', () => {
  it('replaces the response for later middleware', async () => {
    const seen = vi.fn()
    const replaced: CompletionResponse = { ...response, choice: [] }
    const stack: AgentMiddleware[] = [
      { onCompletionResponse: async () => ({ response: replaced }) },
      { onCompletionResponse: seen },
    ]
    expect(await applyCompletionResponse(stack, { turn: 2, request, response })).toBe(replaced)
    expect(seen).toHaveBeenCalledWith({ turn: 2, request, response: replaced, originalResponse: response })
  })
})

describe('applyToolInput', () => {
  it('uses a string as JSON text and converts other values to JSON', async () => {
    expect(
      await applyToolInput([{ onToolInput: () => ({ args: { q: 'x' } }) }], { ...call, args: '{}' }),
    ).toBe('{"q":"x"}')
    expect(
      await applyToolInput([{ onToolInput: () => ({ args: '{"q":1}' }) }], { ...call, args: '{}' }),
    ).toBe('{"q":1}')
    expect(await applyToolInput([{ onToolInput: () => ({ args: null }) }], { ...call, args: '{}' })).toBe(
      'null',
    )
  })

  it('shows the model’s arguments and the current ones', async () => {
    const seen = vi.fn()
    await applyToolInput([{ onToolInput: () => ({ args: 'b' }) }, { onToolInput: seen }], {
      ...call,
      args: 'a',
    })
    expect(seen).toHaveBeenCalledWith({ ...call, args: 'b', originalArgs: 'a' })
  })
})

describe('applyToolOutput', () => {
  const blocks: ToolResultContent[] = [{ type: 'text', text: 'chart' }]
  const output = (middleware: AgentMiddleware, structured?: ToolResultContent[]): Promise<unknown> =>
    applyToolOutput([middleware], {
      ...call,
      args: '{}',
      result: 'r',
      ...(structured && { structuredResult: structured }),
    })

  it('keeps text and blocks when nothing is returned', async () => {
    expect(await output({}, blocks)).toEqual({ result: 'r', structuredResult: blocks })
    expect(await output({ onToolOutput: () => undefined })).toEqual({ result: 'r' })
    expect(await output({ onToolOutput: () => ({}) }, blocks)).toEqual({
      result: 'r',
      structuredResult: blocks,
    })
  })

  it('drops the blocks when text replaces them', async () => {
    expect(await output({ onToolOutput: () => 'text' }, blocks)).toEqual({ result: 'text' })
    expect(await output({ onToolOutput: () => ({ result: 'text' }) }, blocks)).toEqual({ result: 'text' })
    expect(await output({ onToolOutput: () => '' }, blocks)).toEqual({ result: '' })
  })

  it('prefers blocks over text, and derives the text from them', async () => {
    expect(await output({ onToolOutput: () => ({ result: 'ignored', structuredResult: blocks }) })).toEqual({
      result: 'chart',
      structuredResult: blocks,
    })
  })

  it('calls the deprecated onResult right after onToolOutput of the same middleware', async () => {
    const order: string[] = []
    const tracing = (name: string): AgentMiddleware => ({
      onToolOutput: ({ result }) => {
        order.push(`${name}.output`)
        return `${result}-o${name}`
      },
      onResult: ({ result, originalResult }) => {
        order.push(`${name}.result`)
        return `${result}-r${name}(${originalResult})`
      },
    })
    const { result } = await applyToolOutput([tracing('1'), tracing('2')], {
      ...call,
      args: '{}',
      result: 'x',
    })
    expect(order).toEqual(['1.output', '1.result', '2.output', '2.result'])
    expect(result).toBe('x-o1-r1(x)-o2-r2(x)')
  })

  it('shows each middleware the arguments that ran, the current result and the original', async () => {
    const seen = vi.fn()
    await applyToolOutput([{ onToolOutput: () => 'new' }, { onToolOutput: seen }], {
      ...call,
      args: '{"q":1}',
      result: 'old',
      structuredResult: blocks,
    })
    expect(seen).toHaveBeenCalledWith({
      ...call,
      args: '{"q":1}',
      result: 'new',
      originalResult: 'old',
      originalStructuredResult: blocks,
    })
  })

  it('does not see the results of excluded tools', async () => {
    const tool = withoutOutputMiddleware(createThinkTool())
    const spy = vi.fn()
    const args = { ...call, args: '{}', result: 'skill text' }
    expect(await applyToolOutput([{ onToolOutput: spy }], args, tool)).toEqual({ result: 'skill text' })
    expect(spy).not.toHaveBeenCalled()
    await applyToolOutput([{ onToolOutput: spy }], args, createThinkTool())
    expect(spy).toHaveBeenCalledOnce()
  })
})

describe('an empty replacement', () => {
  it.each([null, {}, { args: undefined, request: undefined, response: undefined }])(
    'keeps the value: %j',
    async (nothing) => {
      const empty = {
        onCompletionRequest: () => nothing,
        onCompletionResponse: () => nothing,
        onToolInput: () => nothing,
        onToolOutput: () => nothing,
      } as unknown as AgentMiddleware
      expect(await applyCompletionRequest([empty], { turn: 1, request })).toBe(request)
      expect(await applyCompletionResponse([empty], { turn: 1, request, response })).toBe(response)
      expect(await applyToolInput([empty], { ...call, args: '{}' })).toBe('{}')
      expect(await applyToolOutput([empty], { ...call, args: '{}', result: 'r' })).toEqual({ result: 'r' })
    },
  )
})

describe('an error of middleware', () => {
  const broken: AgentMiddleware = {
    onCompletionRequest: () => Promise.reject(new Error('request')),
    onCompletionResponse: () => {
      throw new Error('response')
    },
    onToolInput: () => Promise.reject(new Error('input')),
    onToolOutput: () => {
      throw new Error('output')
    },
  }
  it('is thrown, and later middleware does not run', async () => {
    const later: Required<AgentMiddleware> = {
      onCompletionRequest: vi.fn(),
      onCompletionResponse: vi.fn(),
      onToolInput: vi.fn(),
      onToolOutput: vi.fn(),
      onResult: vi.fn(),
    }
    const stack = [broken, later]
    await expect(applyCompletionRequest(stack, { turn: 1, request })).rejects.toThrow('request')
    await expect(applyCompletionResponse(stack, { turn: 1, request, response })).rejects.toThrow('response')
    await expect(applyToolInput(stack, { ...call, args: '{}' })).rejects.toThrow('input')
    await expect(applyToolOutput(stack, { ...call, args: '{}', result: 'r' })).rejects.toThrow('output')
    for (const spy of Object.values(later)) expect(spy).not.toHaveBeenCalled()
  })
})
