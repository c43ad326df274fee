import { isToolResultContentArray, type ToolResultContent } from '../tool/content.js'
import type { ToolCallContext } from '../tool/contract.js'
import { builtInTool } from '../tool/create-json-tool.js'
import { type Envelope, errorEnvelope, outputEnvelope } from '../tool/envelope.js'
import type { JsonObject } from '../tool/json.js'
import { objectSchema } from '../tool/object-schema.js'
import type { Invocation } from '../tool/session-services.js'
import { toToolResult } from '../tool/tool-result.js'
import { MissingServiceError, requireService } from './require-service.js'

export type BatchArgs = {
  invocations: { tool: string; args?: JsonObject }[]
  max_concurrency?: number | undefined
}

const name = 'batch'

/** Makes several tool calls as one. */
export const batchTool = builtInTool<BatchArgs>({
  name,
  description:
    'Make independent tool calls at once; results come in order, each under its index. Retry only the indices named as failed.',
  unlisted: ['max_concurrency'],
  kind: 'other',
  parameters: objectSchema({
    invocations: {
      type: 'array',
      minItems: 1,
      maxItems: 32,
      items: objectSchema({ tool: { type: 'string' }, 'args?': { type: 'object' } }),
    },
    'max_concurrency?': { type: 'integer', minimum: 1, maximum: 16, default: 8 },
  }),
  async execute({ invocations, max_concurrency = 8 }, context) {
    if (invocations.some(({ tool }) => tool === name))
      return errorEnvelope('nested batch calls are not allowed: list their calls in this batch instead')
    const calls = invocations.map(({ tool, args = {} }): Invocation => ({ tool, args }))
    const envelopes = await toolsOf(context).callAll(calls, {
      maxConcurrency: max_concurrency,
      ...(context.signal === undefined ? {} : { signal: context.signal }),
    })
    return joined(calls.map((call, index) => itemOf(call, envelopes[index])))
  },
})

function toolsOf(context: ToolCallContext) {
  const { tools } = requireService(context, 'session')
  if (tools === undefined) throw new MissingServiceError('session.tools')
  return tools
}

type Item = {
  readonly tool: string
  readonly ok: boolean
  readonly exitCode: number
  readonly text: string
  readonly images: readonly ToolResultContent[]
}

function itemOf({ tool }: Invocation, envelope: Envelope | undefined): Item {
  const known = envelope ?? errorEnvelope('the call gave no result')
  const { output, exitCode } = toToolResult(tool, known)
  const content = known.type === 'output' && isToolResultContentArray(known.data) ? known.data : []
  const images = content.filter(({ type }) => type === 'image')
  return { tool, ok: known.type === 'output', exitCode, text: output, images }
}

function joined(items: readonly Item[]): Envelope {
  const failed = items.flatMap(({ ok }, index) => (ok ? [] : [index]))
  const metadata = {
    items: items.map(({ tool, ok, exitCode, text }) => ({
      tool,
      ok,
      exit_code: exitCode,
      output_bytes: new TextEncoder().encode(text).byteLength,
    })),
  }
  const sections = items.map(
    ({ tool, ok, text }, index) => `--- [${index}: ${tool}] ---\n${ok ? text : `ERROR: ${text}`}`,
  )
  if (failed.length === items.length) {
    const all = `All ${items.length} item(s) of the batch failed.`
    return errorEnvelope(`${sections.join('\n\n')}\n\n${all}`, metadata)
  }
  const summary =
    failed.length === 0
      ? `Batch completed with ${items.length} successful item(s).`
      : `Batch completed with ${items.length - failed.length} successful and ${failed.length} failed item(s). Retry only failed indices [${failed.join(', ')}].`
  if (items.every(({ images }) => images.length === 0))
    return outputEnvelope(`${sections.join('\n\n')}\n\n${summary}`, metadata)
  const blocks = items.flatMap(({ images }, index): ToolResultContent[] => [
    { type: 'text', text: sections[index] ?? '' },
    ...images,
  ])
  return outputEnvelope([...blocks, { type: 'text', text: summary }], metadata)
}
