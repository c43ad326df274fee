import type { CallRecord } from '../loop/gate-parts.js'
import { ModelError } from '../model/errors.js'
import type { Model } from '../model/model.js'
import type { OtelAttributes, OtelHistogram, OtelMeter } from './otel.js'

export type Durations = Readonly<Record<'run' | 'request' | 'call', OtelHistogram>>

/** Returns one set of instruments per meter. */
export function durationsOf(meter: OtelMeter): Durations {
  const known = durations.get(meter)
  if (known !== undefined) return known
  const seconds = (name: string, description: string): OtelHistogram =>
    meter.createHistogram(name, { unit: 's', description })
  const made = {
    run: seconds('gen_ai.invoke_agent.duration', 'Duration of runs'),
    request: seconds('gen_ai.client.operation.duration', 'Duration of requests to models'),
    call: seconds('gen_ai.execute_tool.duration', 'Duration of tool calls'),
  }
  durations.set(meter, made)
  return made
}

const durations = new WeakMap<OtelMeter, Durations>()

/** The attributes of every request to a model. */
export function modelAttributes(model: Model): Readonly<OtelAttributes> {
  const known = knownModels.get(model)
  if (known !== undefined) return known
  const { provider, id } = model
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': providerNames.get(provider.toLowerCase()) ?? provider,
    'gen_ai.request.model': id,
  }
  knownModels.set(model, attributes)
  return attributes
}

const knownModels = new WeakMap<Model, Readonly<OtelAttributes>>()

/** The provider names of the semantic conventions, where they differ from ours. */
const providerNames = new Map([
  ['gpt', 'openai'],
  ['openai-responses', 'openai'],
  ['claude', 'anthropic'],
  ['google', 'gcp.gemini'],
  ['gemini', 'gcp.gemini'],
  ['vertex', 'gcp.vertex_ai'],
  ['bedrock', 'aws.bedrock'],
  ['azure', 'azure.ai.openai'],
  ['mistral', 'mistral_ai'],
  ['xai', 'x_ai'],
  ['grok', 'x_ai'],
])

/** Limits a text of a provider: valid names are short. */
export function bounded(text: string): string {
  return text.length <= maxNameLength ? text : `${text.slice(0, maxNameLength)}…`
}

const maxNameLength = 256

export function errorType(error: unknown): string {
  if (error instanceof ModelError) return error.code
  return error instanceof Error ? error.name : 'error'
}

/**
 * Returns the error type of a call; undefined if it succeeded. A call that never ran counts as refused, for any
 * reason.
 */
export function callFailure({ envelope, endedAt, verdict }: CallRecord): string | undefined {
  if (envelope.type === 'output') return undefined
  const isRefused =
    verdict?.action === 'deny' ||
    endedAt === 'capability' ||
    endedAt === 'rules' ||
    endedAt === 'watchdog' ||
    endedAt === 'hooks' ||
    endedAt === 'approval'
  return isRefused ? 'refused' : 'tool_error'
}

export function errorText({ envelope }: CallRecord): string {
  return envelope.type === 'output' ? '' : envelope.error_text
}
