import { compileHostPattern, type HostPattern, matchesHost, parseHost } from '../authority/host-pattern.js'
import { formatRule, type Rule } from '../authority/rule.js'
import type { FeatureContext } from '../feature/feature-context.js'
import type { RunRequest } from '../feature/run-request.js'
import type { RuntimeTrace } from '../feature/trace.js'
import { type AgentEvent, isTerminal } from '../loop/events.js'
import type { CallRecord, HookCall } from '../loop/gate-parts.js'
import type { RequestWatch } from '../loop/run-parts.js'
import { usageOf } from '../loop/usage.js'
import type { Model, ModelAnswer } from '../model/model.js'
import type { CompletionRequest } from '../tool/completion.js'
import { messageOf } from '../tool/errors.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { serializeToolOutput } from '../tool/serialize.js'
import type { TelemetryOptions } from './options.js'
import {
  activeContext,
  contextWith,
  type OtelAttributes,
  type OtelContext,
  type OtelSpan,
  type OtelSpanOptions,
  remoteSpan,
  spanKind,
  statusCode,
  traceparentOf,
} from './otel.js'
import {
  bounded,
  callFailure,
  type Durations,
  durationsOf,
  errorText,
  errorType,
  modelAttributes,
} from './span-attributes.js'

/**
 * The open spans of one session: `invoke_agent` for a run, `chat` for a request to a model, `execute_tool` for a call.
 * Calls and requests belong to their run. Usage is only on `chat` spans, so that sums count nothing twice.
 */
export class SessionSpans {
  readonly #session: FeatureContext
  readonly #options: TelemetryOptions
  readonly #parent: (() => OtelSpan | undefined) | undefined
  readonly #durations: Durations | undefined
  readonly #runs = new Map<string, OpenRun>()
  readonly #calls = new Map<string, { readonly span: OtelSpan; readonly toolName: string }>()
  /** Runs that are queued. */
  readonly #queued = new Map<string, QueuedRun>()
  readonly #targets: readonly HostPattern[]
  readonly #rules = new WeakMap<Rule, string>()
  /**
   * The attributes of every span. Attributes that samplers use are set at the start of a span, the others at its end.
   */
  readonly #identity: Readonly<OtelAttributes>
  #hasFailed = false

  constructor(session: FeatureContext, options: TelemetryOptions, parent?: () => OtelSpan | undefined) {
    this.#session = session
    this.#options = options
    this.#parent = parent
    this.#durations = options.meter && durationsOf(options.meter)
    this.#targets = (options.propagateTo ?? []).map(compileHostPattern)
    this.#identity = {
      'gen_ai.agent.name': session.agentId,
      'gen_ai.conversation.id': session.sessionId,
    }
  }

  /**
   * Called when a run is queued, in the host's own context. The parent is the span that `traceparent` in the run's
   * metadata names, else that of the parent session, else the one that is active in the host.
   */
  queueRun(runId: string, request: RunRequest): (event: AgentEvent) => void {
    const { metadata } = request
    const given =
      typeof metadata?.['traceparent'] === 'string' ? remoteSpan(metadata['traceparent']) : undefined
    const context = this.#safely(() => (given === undefined ? this.#parentContext() : contextWith(given)))
    this.#queued.set(runId, { request, context })
    return (event) => {
      if (isTerminal(event)) this.#safely(() => this.#closeRun(runId, event))
    }
  }

  /** Starts the span of a run. Returns its `traceparent`, for the log. */
  openRun(runId: string): { readonly traceparent: string } | undefined {
    return this.#safely(() => {
      const queued = this.#queued.get(runId)
      this.#queued.delete(runId)
      const span = queued && this.#openRun(runId, queued)
      const traceparent = span && traceparentOf(span)
      return traceparent === undefined ? undefined : { traceparent }
    })
  }

  startRequest(model: Model, request: CompletionRequest): RequestWatch {
    const startedAt = performance.now()
    let span: OtelSpan | undefined
    try {
      span = this.#openRequest(model, request)
    } catch (error) {
      this.#report(error)
    }
    return {
      answered: (answer) => {
        try {
          if (isRecording(span)) span.setAttributes(this.#answerAttributes(answer))
          span?.end()
          this.#durations?.request.record(secondsSince(startedAt), modelAttributes(model))
        } catch (error) {
          this.#report(error)
        }
      },
      failed: (error) =>
        this.#safely(() => {
          const failure = { 'error.type': errorType(error) }
          span?.setAttributes({ ...this.#identity, ...failure })
          this.#fail(span, failure['error.type'], messageOf(error))
          span?.end()
          this.#durations?.request.record(secondsSince(startedAt), { ...modelAttributes(model), ...failure })
        }),
      headersFor:
        span === undefined || this.#targets.length === 0 ? undefined : (url) => this.#headersFor(span, url),
    }
  }

  /** Called when a call has passed the rules, before it is approved and executed. */
  startCall({ callId, toolName }: HookCall): void {
    try {
      const span = this.#openCall(toolName, this.#session.activeRunId)
      if (span !== undefined) this.#calls.set(callId, { span, toolName })
    } catch (error) {
      this.#report(error)
    }
  }

  /** Called when a call has left the gate; a call that was refused before it started gets its span here. */
  endCall(record: CallRecord): void {
    try {
      const { callId, durationMs } = record
      const tool = this.#session.tools.get(record.toolName)
      const toolName = tool === undefined ? otherTool : record.toolName
      const failure = callFailure(record)
      const span =
        this.#calls.get(callId)?.span ?? this.#openCall(toolName, record.runId, Date.now() - durationMs)
      this.#calls.delete(callId)
      if (isRecording(span)) span.setAttributes(this.#callAttributes(record, tool, failure))
      if (failure !== undefined) this.#fail(span, failure, errorText(record))
      span?.end()
      // Unknown tools share one name: a model can invent any number of names, and a meter stores each.
      const measured: OtelAttributes = { 'gen_ai.tool.name': toolName }
      if (failure !== undefined) measured['error.type'] = failure
      this.#durations?.call.record(durationMs / 1000, measured)
    } catch (error) {
      this.#report(error)
    }
  }

  #openCall(toolName: string, runId: string | undefined, startTime?: number): OtelSpan | undefined {
    const { tracer } = this.#options
    if (tracer === undefined) return undefined
    const attributes = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': toolName }
    const options: OtelSpanOptions = { kind: spanKind.internal, attributes }
    if (startTime !== undefined) options.startTime = startTime
    return tracer.startSpan(`execute_tool ${toolName}`, options, this.#runContext(runId))
  }

  /** Returns what a call needs to continue its trace in another process; undefined for a call without a span. */
  traceOf(callId: string): RuntimeTrace | undefined {
    const span = this.#calls.get(callId)?.span
    const traceparent = span && this.#safely(() => traceparentOf(span))
    if (span === undefined || traceparent === undefined) return undefined
    return { traceparent, headersFor: (url) => this.#headersFor(span, url) }
  }

  #headersFor(span: OtelSpan, url: string): { readonly traceparent: string } | undefined {
    return this.#safely(() => {
      const host = parseHost(url)
      const isNamed = this.#targets.some((pattern) => matchesHost(pattern, host, 'permit'))
      const traceparent = isNamed ? traceparentOf(span) : undefined
      return traceparent === undefined ? undefined : { traceparent }
    })
  }

  /** Returns the span of the open call that delegates work; the run's span if there are several. */
  spanForSubagent(): OtelSpan | undefined {
    const giving = [...this.#calls.values()].filter(({ toolName }) => delegatingTools.has(toolName))
    const runId = this.#session.activeRunId
    const run = runId === undefined ? undefined : this.#runs.get(runId)
    return giving.length === 1 ? giving[0]?.span : (run?.span ?? this.#parent?.())
  }

  /** Ends spans that an abort left open. */
  close(): void {
    this.#safely(() => {
      for (const { span } of [...this.#calls.values(), ...this.#runs.values()]) {
        span?.setStatus({ code: statusCode.error, message: 'the session was closed' })
        span?.end()
      }
      this.#calls.clear()
      this.#runs.clear()
    })
  }

  #openRun(runId: string, { request, context }: QueuedRun): OtelSpan | undefined {
    const { text, from } = request
    const resumed = from?.traceparent === undefined ? undefined : remoteSpan(from.traceparent)
    const { tracer, recordContent } = this.#options
    const span = tracer?.startSpan(
      `invoke_agent ${this.#session.agentId}`,
      {
        kind: spanKind.internal,
        ...(resumed !== undefined && { links: [{ context: resumed.spanContext() }] }),
        attributes: {
          'gen_ai.operation.name': 'invoke_agent',
          ...this.#identity,
          'capstan.run.id': runId,
          ...omitUndefined({ 'capstan.run.resumed_from': from?.runId }),
          ...(recordContent === true && {
            'gen_ai.input.messages': this.#messages([{ role: 'user', content: text }]),
          }),
        },
      },
      context,
    )
    this.#runs.set(runId, {
      span,
      context: span === undefined ? context : contextWith(span, context),
      startedAt: performance.now(),
    })
    return span
  }

  #closeRun(runId: string, event: AgentEvent): void {
    const { span, startedAt } = this.#runs.get(runId) ?? {}
    this.#runs.delete(runId)
    this.#queued.delete(runId)
    const failure =
      event.type === 'error'
        ? (event.code ?? 'error')
        : event.type === 'agent_cancelled'
          ? 'cancelled'
          : undefined
    if (event.type === 'agent_end' && isRecording(span))
      span.setAttributes({
        'gen_ai.response.finish_reasons': [event.result.finish],
        'capstan.run.rounds': event.result.rounds,
        ...omitUndefined({ 'capstan.cost_usd': event.result.costUsd }),
        ...(this.#options.recordContent === true && {
          'gen_ai.output.messages': this.#messages([{ role: 'assistant', content: event.result.text }]),
        }),
      })
    if (failure !== undefined) {
      span?.setAttributes({ 'error.type': failure })
      this.#fail(span, failure, event.error ?? event.reason ?? failure)
    }
    span?.end()
    // A run that was cancelled in the queue has no duration.
    if (startedAt === undefined) return
    this.#durations?.run.record(secondsSince(startedAt), {
      'gen_ai.agent.name': this.#session.agentId,
      ...omitUndefined({ 'error.type': failure }),
    })
  }

  #openRequest(model: Model, request: CompletionRequest): OtelSpan | undefined {
    const { tracer, recordContent } = this.#options
    if (tracer === undefined) return undefined
    const { temperature, maxTokens } = request
    const attributes = { ...modelAttributes(model) }
    if (temperature !== undefined) attributes['gen_ai.request.temperature'] = temperature
    if (maxTokens !== undefined) attributes['gen_ai.request.max_tokens'] = maxTokens
    const context = this.#runContext(this.#session.activeRunId)
    const span = tracer.startSpan(`chat ${model.id}`, { kind: spanKind.client, attributes }, context)
    if (recordContent === true && isRecording(span))
      span.setAttributes({
        'gen_ai.system_instructions': this.#text(request.instructions ?? ''),
        'gen_ai.input.messages': this.#messages(request.chatHistory),
      })
    return span
  }

  #answerAttributes({ usage, response, finish, content }: ModelAnswer): OtelAttributes {
    const counted = usageOf(usage)
    const attributes: OtelAttributes = {
      ...this.#identity,
      'gen_ai.usage.input_tokens': counted.promptTokens,
      'gen_ai.usage.output_tokens': counted.completionTokens,
      'gen_ai.response.finish_reasons': [finish],
    }
    if (usage.cachedInputTokens !== undefined)
      attributes['gen_ai.usage.cache_read.input_tokens'] = counted.cacheReadTokens
    if (usage.cacheWriteTokens !== undefined || usage.cacheCreationInputTokens !== undefined)
      attributes['gen_ai.usage.cache_creation.input_tokens'] = counted.cacheWriteTokens
    if (usage.reasoningTokens !== undefined)
      attributes['gen_ai.usage.reasoning.output_tokens'] = counted.reasoningTokens
    if (response.id !== undefined) attributes['gen_ai.response.id'] = bounded(response.id)
    if (response.model !== undefined) attributes['gen_ai.response.model'] = bounded(response.model)
    if (this.#options.recordContent === true)
      attributes['gen_ai.output.messages'] = this.#messages([{ role: 'assistant', content }])
    return attributes
  }

  #callAttributes(record: CallRecord, tool: object | undefined, failure: string | undefined): OtelAttributes {
    const { toolName, toolCallId, callId, verdict, rules, approval, args, envelope } = record
    const isExtension = tool !== undefined && 'mcp' in tool && tool.mcp !== undefined
    const attributes: OtelAttributes = {
      ...this.#identity,
      'gen_ai.tool.call.id': toolCallId === undefined ? callId : bounded(toolCallId),
      'gen_ai.tool.type': isExtension ? 'extension' : 'function',
      'capstan.call.origin': record.origin,
      'capstan.gate.step': record.endedAt,
    }
    if (tool === undefined && this.#options.recordContent === true)
      attributes['gen_ai.tool.name'] = bounded(this.#text(toolName))
    if (verdict !== undefined) attributes['capstan.verdict'] = verdict.action
    if (rules !== undefined && rules.length > 0)
      attributes['capstan.rule'] = rules.map((rule) => this.#ruleText(rule))
    if (approval !== undefined) attributes['capstan.approval'] = approval
    if (failure !== undefined) attributes['error.type'] = failure
    if (this.#options.recordContent === true) {
      attributes['gen_ai.tool.call.arguments'] = this.#text(args)
      attributes['gen_ai.tool.call.result'] = this.#text(
        envelope.type === 'output' ? serializeToolOutput(envelope.data) : envelope.error_text,
      )
    }
    return attributes
  }

  #parentContext(): OtelContext | undefined {
    const parent = this.#parent?.()
    return parent === undefined ? activeContext() : contextWith(parent)
  }

  /** Work outside of runs belongs to the active context of the host. */
  #runContext(runId: string | undefined): OtelContext | undefined {
    const run = runId === undefined ? undefined : this.#runs.get(runId)
    return run?.context ?? this.#parentContext()
  }

  /** Errors of tools and providers can quote files, output and prompts, so their text counts as content. */
  #fail(span: OtelSpan | undefined, type: string, text: string): void {
    const message = this.#options.recordContent === true ? this.#text(text) : type
    span?.setStatus({ code: statusCode.error, message })
  }

  #messages(messages: readonly unknown[]): string {
    return this.#text(JSON.stringify(messages))
  }

  /** A rule that an approval created quotes the approved command. */
  #ruleText(rule: Rule): string {
    const known = this.#rules.get(rule)
    if (known !== undefined) return known
    const text = bounded(this.#text(formatRule(rule)))
    this.#rules.set(rule, text)
    return text
  }

  /** Removes secrets and limits the length to what a collector accepts. */
  #text(text: string): string {
    const { redactor } = this.#session
    const clean = redactor.record?.(text) ?? redactor.text(text)
    return clean.length <= maxTextLength ? clean : `${clean.slice(0, maxTextLength)}…`
  }

  #safely<T>(work: () => T): T | undefined {
    try {
      return work()
    } catch (error) {
      this.#report(error)
      return undefined
    }
  }

  /** Telemetry errors never fail the observed work. The first one is reported. */
  #report(error: unknown): void {
    if (this.#hasFailed) return
    this.#hasFailed = true
    this.#session.emit({
      type: 'notice',
      source: 'telemetry',
      message: `The tracer or meter failed: ${messageOf(error)}. Telemetry of this session may be incomplete.`,
    })
  }
}

type QueuedRun = { readonly request: RunRequest; readonly context: OtelContext | undefined }
type OpenRun = {
  readonly span: OtelSpan | undefined
  readonly context: OtelContext | undefined
  readonly startedAt: number
}

const maxTextLength = 64_000

/** The reported name of all tools that the session does not have. */
const otherTool = '_OTHER'

/** Whether the span is sampled: otherwise its attributes are not computed. */
function isRecording(span: OtelSpan | undefined): span is OtelSpan {
  return span !== undefined && span.isRecording?.() !== false
}

function secondsSince(startedAt: number): number {
  return (performance.now() - startedAt) / 1000
}

const delegatingTools = new Set(['task', 'parallel_task'])
