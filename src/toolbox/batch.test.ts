import { describe, expect, it } from 'vitest'
import { toolboxWorkspace } from '../../test/toolbox/workspace.js'
import type { AnyGovernedTool } from '../tool/contract.js'
import { createJsonTool } from '../tool/create-json-tool.js'
import { type Envelope, errorEnvelope, outputEnvelope } from '../tool/envelope.js'
import type { ToolRuntime } from '../tool/runtime.js'
import type { RuntimeTools } from '../tool/session-services.js'
import { bashTool } from './bash.js'
import { batchTool } from './batch.js'
import { globTool } from './glob.js'
import { grepTool } from './grep.js'

const picture = createJsonTool({
  name: 'picture',
  description: 'A picture.',
  parameters: { type: 'object' },
  execute: () =>
    outputEnvelope([
      { type: 'text', text: 'seen' },
      { type: 'image', data: 'AAAA' },
    ]),
})

/** The session's tools, called without a gate; notes what was asked for. */
function lend(tools: readonly AnyGovernedTool[], runtime: ToolRuntime = {}) {
  const asked: { maxConcurrency?: number | undefined }[] = []
  const lent: RuntimeTools = {
    callAll: async (invocations, options) => {
      asked.push({ maxConcurrency: options?.maxConcurrency })
      return Promise.all(
        invocations.map(async ({ tool, args }): Promise<Envelope> => {
          const found = tools.find(({ name }) => name === tool)
          return found ? found.execute(args, { runtime }) : errorEnvelope(`Tool "${tool}" not found.`)
        }),
      )
    },
    hidden: () => [],
    offer: () => undefined,
  }
  return { asked, context: { runtime: { ...runtime, session: { tools: lent } } } }
}

async function real() {
  const space = await toolboxWorkspace({ 'a.txt': 'needle\n' })
  return lend([bashTool, grepTool, globTool, picture], space.runtime)
}

describe('batch', () => {
  it('returns the results in order, each with its index', async () => {
    const { context, asked } = await real()
    const envelope = await batchTool.execute(
      {
        invocations: [
          { tool: 'bash', args: { command: 'sleep 0.1; echo slow' } },
          { tool: 'grep', args: { pattern: 'needle' } },
        ],
      },
      context,
    )
    expect(envelope).toMatchObject({
      type: 'output',
      data: '--- [0: bash] ---\nslow\n\n\n--- [1: grep] ---\n>a.txt:1: needle\n\n1 match(es) in 1 file(s)\n\nBatch completed with 2 successful item(s).',
      metadata: {
        items: [
          { tool: 'bash', ok: true, exit_code: 0, output_bytes: 5 },
          { tool: 'grep', ok: true, exit_code: 0 },
        ],
      },
    })
    expect(asked).toEqual([{ maxConcurrency: 8 }])
  })

  it('names the calls that failed, and succeeds if any call succeeded', async () => {
    const { context } = await real()
    const envelope = await batchTool.execute(
      {
        invocations: [
          { tool: 'grep', args: {} },
          { tool: 'glob', args: { pattern: '*' } },
          { tool: 'nope', args: {} },
          { tool: 'bash', args: { command: 'exit 2' } },
        ],
        max_concurrency: 2,
      },
      context,
    )
    expect(envelope.type).toBe('output')
    const text = String((envelope as { data: unknown }).data)
    expect(text).toMatch(/^--- \[0: grep\] ---\nERROR: /)
    expect(text).toContain('--- [2: nope] ---\nERROR: Tool "nope" not found.')
    expect(text).toMatch(
      /Batch completed with 2 successful and 2 failed item\(s\)\. Retry only failed indices \[0, 2\]\.$/,
    )
    expect(envelope.metadata['items']).toMatchObject([
      { ok: false },
      { ok: true },
      { ok: false },
      { exit_code: 2 },
    ])
  })

  it('fails when all calls failed', async () => {
    const { context } = lend([])
    const envelope = await batchTool.execute({ invocations: [{ tool: 'x' }, { tool: 'y' }] }, context)
    expect(envelope).toMatchObject({ type: 'error' })
    expect((envelope as { error_text: string }).error_text).toContain('All 2 item(s) of the batch failed.')
  })

  it('rejects a batch inside a batch', async () => {
    const { context, asked } = lend([batchTool])
    const envelope = await batchTool.execute(
      { invocations: [{ tool: 'batch', args: { invocations: [] } }] },
      context,
    )
    expect(envelope).toMatchObject({
      error_text: expect.stringContaining('nested batch calls are not allowed'),
    })
    expect(asked).toEqual([])
  })

  it('passes images on with the text', async () => {
    const { context } = await real()
    const envelope = await batchTool.execute({ invocations: [{ tool: 'picture' }] }, context)
    expect(envelope).toMatchObject({
      data: [
        { type: 'text', text: '--- [0: picture] ---\nseen\n[image:image/png]' },
        { type: 'image', data: 'AAAA' },
        { type: 'text' },
      ],
    })
  })

  it.each([
    [{ invocations: [] }, 'invocations'],
    [{ invocations: Array.from({ length: 33 }, () => ({ tool: 'x' })) }, '32'],
    [{ invocations: [{ tool: 'x' }], max_concurrency: 17 }, '16'],
    [{ invocations: [{ tool: 'x', arg: 1 }] }, 'arg'],
  ])('rejects %#', async (args, words) => {
    expect(await batchTool.execute(args, {})).toMatchObject({
      type: 'error',
      error_text: expect.stringContaining(words),
    })
  })

  it('needs the tools of a session, and touches nothing itself', async () => {
    for (const runtime of [undefined, {}, { session: {} }]) {
      const context = runtime === undefined ? {} : { runtime }
      expect(await batchTool.execute({ invocations: [{ tool: 'x' }] }, context)).toMatchObject({
        error_text: expect.stringContaining('runtime.session'),
      })
    }
    expect(batchTool.touches({ invocations: [{ tool: 'bash', args: { command: 'rm x' } }] })).toEqual([])
    expect(batchTool.requires).toEqual({})
  })
})
