/** What spans say about texts and figures that models, providers and approvals have written. */
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import type { SessionOptions } from '../../src/session/options.js'
import type { OtelAttributes, OtelSpanOptions } from '../../src/telemetry/otel.js'
import { type ScriptedStep, scriptedModel } from '../../src/testing/index.js'
import { temporaryDirectory } from '../support/temporary-directory.js'

type Span = { readonly name: string; readonly attributes: OtelAttributes }

/** The spans of one run without content. */
async function spansOf(
  steps: readonly (ScriptedStep | string)[],
  options: SessionOptions = {},
): Promise<Span[]> {
  const spans: Span[] = []
  const tracer = {
    startSpan(name: string, { attributes = {} }: OtelSpanOptions = {}) {
      const span = { name, attributes: { ...attributes } }
      spans.push(span)
      return {
        setAttributes: (more: OtelAttributes) => Object.assign(span.attributes, more),
        setStatus: () => undefined,
        spanContext: () => ({ traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags: 1 }),
        end: () => undefined,
      }
    },
  }
  const root = temporaryDirectory()
  const agent = await Agent.create({}, { telemetry: { tracer }, userDir: join(root, '.user'), env: {} })
  onTestFinished(() => agent.close())
  await agent.session(root, { sandbox: 'off', model: scriptedModel(steps), ...options }).send('Go.')
  return spans
}

it('computes no attributes for spans that are not sampled, and ends them', async () => {
  let ended = 0
  const tracer = {
    startSpan: () => ({
      isRecording: () => false,
      setAttributes: () => expect.unreachable('an attribute was set'),
      setStatus: () => undefined,
      spanContext: () => ({ traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags: 0 }),
      end: () => {
        ended += 1
      },
    }),
  }
  const root = temporaryDirectory()
  const notices: unknown[] = []
  const agent = await Agent.create({}, { telemetry: { tracer }, userDir: join(root, '.user'), env: {} })
  onTestFinished(() => agent.close())
  const model = scriptedModel([{ toolCalls: [{ name: 'ls', args: { path: '.' } }] }, 'Done.'])
  for await (const event of await agent.session(root, { model }).stream('Go.'))
    if (event.type === 'notice') notices.push(event)
  expect([ended, notices]).toEqual([4, []])
})

const secret = 'ghp_abcdefghijklmnopqrstuvwxyz0123456789'

describe('the attributes of spans without content', () => {
  it('have no secret of a command that a rule or an approval quotes', async () => {
    const command = `echo ${secret}`
    const call = { toolCalls: [{ name: 'bash', args: { command } }] }
    const spans = await spansOf([call, call, 'Done.'], {
      permissionPolicy: { allow: [`bash(${command})`] },
    })
    const calls = spans.filter(({ name }) => name === 'execute_tool bash')
    expect(calls).toHaveLength(2)
    expect(calls[0]?.attributes['capstan.rule']).toEqual([expect.stringContaining('bash(echo [REDACTED')])
    expect(JSON.stringify(spans)).not.toContain(secret)
  })

  it('do not have the name of a tool that a model invented', async () => {
    const invented = `tool_${secret}_${'x'.repeat(10_000)}`
    const spans = await spansOf([{ toolCalls: [{ name: invented, args: {} }] }, 'Done.'])
    const call = spans.find(({ name }) => name.startsWith('execute_tool'))
    expect(call?.name).toBe('execute_tool _OTHER')
    expect(call?.attributes['gen_ai.tool.name']).toBe('_OTHER')
    expect(JSON.stringify(spans)).not.toContain(secret)
  })

  it('have an id of a call with limited length', async () => {
    const spans = await spansOf([
      { toolCalls: [{ name: 'ls', args: { path: '.' }, id: 'c'.repeat(10_000) }] },
      'Done.',
    ])
    const call = spans.find(({ name }) => name === 'execute_tool ls')
    expect(String(call?.attributes['gen_ai.tool.call.id']).length).toBeLessThan(300)
  })

  it('have no figure that is not a count', async () => {
    const usage = { inputTokens: Number.NaN, outputTokens: -5, cachedInputTokens: Number.POSITIVE_INFINITY }
    const spans = await spansOf([{ text: 'Done.', usage }])
    const chat = spans.find(({ name }) => name.startsWith('chat '))
    expect(chat?.attributes).toMatchObject({
      'gen_ai.usage.input_tokens': 0,
      'gen_ai.usage.output_tokens': 0,
      'gen_ai.usage.cache_read.input_tokens': 0,
    })
  })
})
