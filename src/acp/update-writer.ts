import type { AgentEvent } from '../loop/events.js'
import type { ToolKind } from '../tool/contract.js'
import { tryOr } from '../tool/errors.js'
import { parseToolArgs } from '../tool/serialize.js'
import { callTitle } from './call-title.js'
import type { SessionUpdate, WireToolCall, WireToolContent } from './wire.js'

/** What the updates of one session need from it. */
export type UpdateSource = {
  /** The size of the model's context window. */
  contextSize(): number
  costUsd(): number | undefined
  /** Returns the file changes of a call that has ended. */
  changesOf(toolId: string): readonly WireToolContent[]
  now(): number
}

/** Converts the events of a session's runs to updates for the client. */
export class UpdateWriter {
  readonly #source: UpdateSource
  readonly #calls = new Map<string, Call>()
  /** Message ids are the id of the run with a number: unique in the session, in every process that resumes it. */
  #run = 'history'
  #messages = 0
  #compactions = 0

  constructor(source: UpdateSource) {
    this.#source = source
  }

  write(event: AgentEvent): readonly SessionUpdate[] {
    switch (event.type) {
      case 'agent_start':
        this.#run = event.runId
        this.#messages = 0
        return []
      case 'turn_start':
      case 'answer_restarted':
        this.newMessage()
        return []
      case 'text_delta':
        return [this.#chunk('agent_message_chunk', event.text)]
      case 'reasoning_delta':
        return [this.#chunk('agent_thought_chunk', event.text)]
      case 'steered':
        return [this.#chunk('user_message_chunk', event.prompt)]
      case 'tool_start':
        return [this.announce(event.toolId, event)]
      case 'tool_execution_start':
        return this.#started(event)
      case 'tool_output_delta':
        return this.#output(event)
      case 'tool_end':
        return [this.#ended(event)]
      case 'planning_end':
        return [planOf(event.plan)]
      case 'task_updated':
        return [planOf(event.tasks)]
      case 'turn_end':
        return [this.usage(event.usage.totalTokens)]
      case 'context_compacted':
        return [
          {
            sessionUpdate: 'compaction_update',
            compactionId: this.#nextCompaction(),
            status: 'completed',
            summary: event.summary === undefined ? undefined : [{ type: 'text', text: event.summary }],
          },
          this.usage(event.afterTokens),
        ]
      case 'compaction_failed':
        return [
          {
            sessionUpdate: 'compaction_update',
            compactionId: this.#nextCompaction(),
            status: 'failed',
            error: event.error,
          },
        ]
      case 'notice':
        return [warning(event.message)]
      case 'model_retry':
        return [warning(`A request to the model failed and is sent again: ${event.reason}`)]
      case 'model_rate_limit_wait':
        return [
          warning(
            `The request to ${event.model} waits for its rate limit (${Math.ceil(event.waitMs / 1000)} s).`,
          ),
        ]
      case 'model_circuit_opened':
        return [
          warning(`${event.model} is not used for ${Math.ceil(event.openMs / 1000)} s: ${event.reason}`),
        ]
      case 'model_fallback':
        return [warning(`${event.to} answers in place of ${event.from}: ${event.reason}`)]
      case 'budget_threshold_hit':
        return [warning(event.message ?? `The budget of ${event.resource} is nearly used up.`)]
      case 'persistence_failed':
        return [warning(`The session could not be saved: ${event.error}`)]
      default:
        return []
    }
  }

  /** Starts a new message: the next chunks belong to it. */
  newMessage(): void {
    this.#messages += 1
  }

  /** Announces a call to the client. */
  announce(
    toolId: string,
    facts: {
      readonly toolName: string
      readonly title?: string | undefined
      readonly kind?: ToolKind | undefined
    },
    args?: unknown,
  ): SessionUpdate {
    const call: Call = { title: facts.title ?? facts.toolName, output: '', sentAtMs: undefined }
    this.#calls.set(toolId, call)
    return {
      sessionUpdate: 'tool_call',
      toolCallId: toolId,
      title: callTitle(call.title, args),
      name: facts.toolName,
      kind: facts.kind ?? 'other',
      status: 'pending',
      rawInput: args,
    }
  }

  /** Whether the client has received this active call. */
  knows(toolId: string): boolean {
    return this.#calls.has(toolId)
  }

  /** Ends the calls that no event ends: nested calls, and those of a cancelled run. */
  endOpenCalls(status: 'completed' | 'failed'): readonly SessionUpdate[] {
    const open = [...this.#calls.keys()]
    this.#calls.clear()
    return open.map((toolCallId) => ({ sessionUpdate: 'tool_call_update', toolCallId, status }))
  }

  usage(used: number): SessionUpdate {
    const costUsd = this.#source.costUsd()
    return {
      sessionUpdate: 'usage_update',
      used,
      size: this.#source.contextSize(),
      cost: costUsd === undefined ? undefined : { amount: costUsd, currency: 'USD' },
    }
  }

  #chunk(
    sessionUpdate: 'agent_message_chunk' | 'agent_thought_chunk' | 'user_message_chunk',
    text: string,
  ): SessionUpdate {
    // A message has chunks of one kind, because a model can think, write, and think again.
    return {
      sessionUpdate,
      content: { type: 'text', text },
      messageId: `${this.#run}-${this.#messages}-${sessionUpdate.split('_')[1]}`,
    }
  }

  #nextCompaction(): string {
    return `${this.#run}-compaction-${++this.#compactions}`
  }

  #started(event: Extract<AgentEvent, { type: 'tool_execution_start' }>): readonly SessionUpdate[] {
    const args = readArgs(event.args)
    const known = this.#calls.has(event.toolId) ? [] : [this.announce(event.toolId, event)]
    const call = this.#calls.get(event.toolId)
    if (call === undefined) return known
    const update: WireToolCall = {
      toolCallId: event.toolId,
      title: callTitle(call.title, args),
      status: 'in_progress',
      rawInput: args,
      locations: event.paths?.map((path) => ({ path })),
    }
    return [...known, { sessionUpdate: 'tool_call_update', ...update }]
  }

  /** An update contains the whole content, so output is sent at most four times a second, and only its end. */
  #output(event: Extract<AgentEvent, { type: 'tool_output_delta' }>): readonly SessionUpdate[] {
    const call = this.#calls.get(event.toolId)
    if (call === undefined) return []
    call.output = `${event.whole === true ? '' : call.output}${event.text}`.slice(-maxLiveOutput)
    const now = this.#source.now()
    if (call.sentAtMs !== undefined && now - call.sentAtMs < outputPauseMs) return []
    call.sentAtMs = now
    return [
      { sessionUpdate: 'tool_call_update', toolCallId: event.toolId, content: [textContent(call.output)] },
    ]
  }

  #ended(event: Extract<AgentEvent, { type: 'tool_end' }>): SessionUpdate {
    this.#calls.delete(event.toolId)
    const isFailed = event.isError || event.exitCode !== 0
    const changes = this.#source.changesOf(event.toolId)
    return {
      sessionUpdate: 'tool_call_update',
      toolCallId: event.toolId,
      status: isFailed ? 'failed' : 'completed',
      content: changes.length > 0 && !isFailed ? changes : [textContent(event.toolOutput)],
      rawOutput: { output: event.toolOutput, exitCode: event.exitCode, isError: event.isError },
      locations: event.paths?.map((path) => ({ path })),
    }
  }
}

export function planOf(
  todos: readonly { readonly content: string; readonly status: 'pending' | 'in_progress' | 'completed' }[],
): SessionUpdate {
  return {
    sessionUpdate: 'plan',
    entries: todos.map(({ content, status }) => ({ content, status, priority: 'medium' })),
  }
}

export function textContent(text: string): WireToolContent {
  return { type: 'content', content: { type: 'text', text } }
}

type Call = { readonly title: string; output: string; sentAtMs: number | undefined }

const maxLiveOutput = 8_000
const outputPauseMs = 250

function warning(title: string): SessionUpdate {
  return { sessionUpdate: 'notice', severity: 'warning', title }
}

function readArgs(args: string): unknown {
  // The gate rejects arguments that are not JSON; the client sees the text of the model.
  return tryOr(() => parseToolArgs(args), args)
}
