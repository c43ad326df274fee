import { approvalKey } from '../authority/approval-key.js'
import type { FeatureContext } from '../feature/feature-context.js'
import type { GateFeature } from '../feature/session-feature.js'
import { type AskHandler, readAnswer } from '../loop/ask.js'
import { RunError } from '../loop/errors.js'
import type { AgentEvent } from '../loop/events.js'
import type { HookCall, HookVerdict } from '../loop/gate-parts.js'
import type { Envelope } from '../tool/envelope.js'
import { messageOf } from '../tool/errors.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { serializeToolOutput } from '../tool/serialize.js'
import { unlessAborted } from '../tool/unless-aborted.js'
import type { AhpEvent, BlockingEvent, NoticeEvent } from './protocol.js'
import type { Outcome, Supervisor, SupervisorStatus } from './supervisor.js'
import { type AhpTransport, settingsOf } from './transport.js'

export type SuperviseFeatureOptions = {
  /**
   * A supervisor outside the process. It receives events, is asked before calls and prompts, and can only restrict.
   */
  readonly ahpTransport?: AhpTransport
}

export type SupervisedSession = FeatureContext<
  SuperviseFeatureOptions & {
    readonly planningMode?: string
    readonly onAsk?: AskHandler
    readonly confirmationPolicy?: { readonly enabled?: boolean }
  }
>

/** Asks the supervisor and reports events to it, for one session. */
export class Supervision {
  readonly #session: SupervisedSession
  readonly #transport: AhpTransport | undefined
  readonly #parent: Supervision | undefined
  readonly #startedAt: number
  #loading: Promise<Supervisor> | undefined
  #loaded: Supervisor | undefined
  #heartbeat: NodeJS.Timeout | undefined
  #reported = 0

  /** `parent` is the supervision of the session that this one works for. */
  constructor(session: SupervisedSession, parent: Supervision | undefined) {
    const { options, restored, root } = session
    this.#session = session
    this.#transport = options.ahpTransport
    this.#parent = parent
    this.#startedAt = session.now()
    this.#report('session_start', { working_directory: root, resumed: restored !== undefined })
    if (this.#transport === undefined || this.#parent !== undefined) return
    this.#beat(settingsOf(this.#transport).heartbeatMs)
  }

  status(): SupervisorStatus | undefined {
    if (this.#parent !== undefined) return this.#parent.status()
    if (this.#loaded !== undefined) return this.#loaded.status()
    return this.#transport && unused(this.#transport.kind)
  }

  /** The supervisor is asked after the hooks, about the call as they changed it, and no hook can skip it. */
  gate(): GateFeature {
    return {
      before: (call, verdict) => this.#judge(call, verdict),
      after: (call) => this.#done(call),
      ask: (next) => this.#confirmation(next),
    }
  }

  async prompt(
    event: 'pre_prompt' | 'planning',
    payload: { readonly prompt: string } & Readonly<Record<string, unknown>>,
    signal: AbortSignal,
  ): Promise<string> {
    const outcome = await unlessAborted(this.#ask(event, payload, signal), signal)
    if (outcome.action === 'allow') return payload.prompt
    if (outcome.action === 'modify') return String(outcome.value)
    const reason =
      outcome.action === 'ask'
        ? await this.#refusedPrompt(payload.prompt, outcome.reason, signal)
        : outcome.reason
    if (reason === undefined) return payload.prompt
    throw new RunError('blocked_by_hook', `The prompt was blocked by the supervisor: ${reason}`)
  }

  async mayRecall(query: string, signal: AbortSignal): Promise<boolean> {
    const payload = { query, memory_type: 'all', working_directory: this.#session.root }
    const outcome = await unlessAborted(this.#ask('memory_recall', payload, signal), signal)
    if (outcome.action === 'allow') return true
    this.#notice(
      `Nothing is recalled: ${'reason' in outcome ? outcome.reason : 'the supervisor did not allow it'}`,
    )
    return false
  }

  /** Handles an event of a run, whose texts are already redacted. */
  seen(runId: string, event: AgentEvent): void {
    const run = { run_id: runId }
    if (event.type === 'agent_start') this.#report('run_lifecycle', { ...run, status: 'started' })
    else if (event.type === 'agent_end') this.#completed(runId, event.result)
    else if (event.type === 'agent_cancelled') this.recordRunCancelled(runId, event.reason)
    else if (event.type === 'error') this.#broke(runId, event)
    else if (event.type === 'task_updated') this.#report('task_list', { ...run, tasks: event.tasks })
    else if (event.type === 'verification_end') {
      const { type: _, ...report } = event
      this.#report('verification', { ...run, ...report })
    } else if (event.type === 'model_retry' && event.status === 429 && event.agent === undefined)
      void this.#rateLimited(runId, event)
  }

  recordRunCancelled(runId: string, reason: string): void {
    this.#report('run_lifecycle', { run_id: runId, status: 'cancelled', reason: cut(reason) })
  }

  async close(): Promise<void> {
    clearInterval(this.#heartbeat)
    this.#report('session_end', { reason: 'closed', duration_ms: this.#session.now() - this.#startedAt })
    if (this.#parent !== undefined) return
    const supervisor = await this.#supervisor()
    await supervisor.close()
  }

  /** Asks the supervisor before the user. It can refuse, but never approve in the user's place. */
  #confirmation(next: AskHandler): AskHandler {
    return async (request) => {
      const { toolName, args, reasons, id } = request
      const outcome = await this.#ask('confirmation', {
        confirmation_type: 'user_confirm',
        message: reasons.join('; '),
        request_id: id,
        tool: toolName,
        arguments: args,
        reasons,
      })
      if (outcome.action !== 'block') return next(request)
      return { decision: 'reject', message: `Refused by the supervisor: ${outcome.reason}`, automatic: true }
    }
  }

  async #judge(call: HookCall, verdict: HookVerdict): Promise<HookVerdict> {
    if (verdict.action !== 'continue' && verdict.action !== 'change') return verdict
    const args = verdict.action === 'change' ? verdict.args : call.args
    const outcome = await this.#ask('pre_action', actionOf(call, args), call.signal)
    switch (outcome.action) {
      case 'block':
        return { action: 'block', reason: outcome.reason, by: 'the supervisor' }
      case 'modify':
        return { action: 'change', args: outcome.value }
      case 'ask':
        return { ...verdict, ask: outcome.reason }
      default:
        return verdict
    }
  }

  #done(call: HookCall & { readonly envelope: Envelope }): void {
    const { envelope } = call
    const { exit_code, duration_ms } = envelope.metadata
    const success = envelope.type === 'output'
    this.#report('post_action', {
      ...actionOf(call, call.args),
      result: {
        success,
        output: cut(envelope.type === 'output' ? serializeToolOutput(envelope.data) : envelope.error_text),
        exit_code: typeof exit_code === 'number' ? exit_code : success ? 0 : 1,
        duration_ms,
      },
    })
  }

  #completed(runId: string, result: Extract<AgentEvent, { type: 'agent_end' }>['result']): void {
    const { text, toolCallsCount, usage, rounds, finish } = result
    this.#report('post_response', {
      response_text: cut(text),
      tool_calls_count: toolCallsCount,
      usage,
      run_id: runId,
    })
    this.#report('success', { action_type: 'run', action_summary: cut(text, 500), run_id: runId })
    this.#report('run_lifecycle', { run_id: runId, status: 'completed', rounds, finish })
  }

  #broke(runId: string, { error, code = 'error' }: Extract<AgentEvent, { type: 'error' }>): void {
    this.#report('error', { error_type: code, error_message: cut(error), run_id: runId })
    this.#report('run_lifecycle', { run_id: runId, status: 'failed', reason: cut(error) })
  }

  /** A supervisor can end the run at a rate limit; an unreachable one does not. */
  async #rateLimited(runId: string, event: Extract<AgentEvent, { type: 'model_retry' }>): Promise<void> {
    const { attempt, delayMs, reason } = event
    const payload = {
      limit_type: 'llm_request_limit',
      retry_after_ms: delayMs,
      current_usage: reason,
      attempt,
      run_id: runId,
    }
    const outcome = await this.#ask('rate_limit', payload)
    if (outcome.action === 'block' && outcome.decided)
      this.#session.queue.cancel(runId, `the supervisor ended it at a rate limit: ${outcome.reason}`)
  }

  /** Returns why the prompt is refused: the user refused it, or no user can be asked. */
  async #refusedPrompt(prompt: string, reason: string, signal: AbortSignal): Promise<string | undefined> {
    const { confirmations, options, root, sessionId, agentId } = this.#session
    if (options.onAsk === undefined && options.confirmationPolicy?.enabled !== true)
      return `${reason}. No user can be asked: set \`onAsk\``
    const id = this.#session.newId()
    const key = await approvalKey({
      tool: 'prompt',
      args: serializeToolOutput({ prompt }),
      cwd: root,
      session: sessionId,
      agent: agentId,
    })
    const request = {
      ...{ id, key, toolName: 'prompt', args: { prompt }, subjects: [], rules: [], notes: [] },
      reasons: [reason],
      inPerson: true,
    }
    const asked = Promise.resolve(confirmations.ask(request))
    try {
      const { approved, message } = readAnswer(await unlessAborted(asked, signal))
      return approved ? undefined : (message ?? 'a user refused it')
    } finally {
      confirmations.withdraw(id, 'The prompt that asked has ended.')
    }
  }

  /** Never rejects: an error blocks the event. */
  async #ask(event: BlockingEvent, payload: AhpEvent['payload'], signal?: AbortSignal): Promise<Outcome> {
    try {
      const supervisor = await this.#supervisor()
      return await supervisor.ask(this.#event(event, payload), signal)
    } catch (error) {
      return { action: 'block', reason: `the supervisor could not be asked: ${messageOf(error)}` }
    }
  }

  #report(event: NoticeEvent, payload: AhpEvent['payload']): void {
    this.#reported += 1
    const made = this.#event(event, payload)
    this.#supervisor().then(
      (supervisor) => supervisor.tell(made),
      (error: unknown) => this.#notice(messageOf(error)),
    )
  }

  #event<Name extends BlockingEvent | NoticeEvent>(
    event: Name,
    payload: AhpEvent['payload'],
  ): AhpEvent<Name> {
    const { sessionId, agentId, labels, parent, activeRunId: runId } = this.#session
    return {
      event_type: event,
      session_id: sessionId,
      agent_id: agentId,
      timestamp: new Date(this.#session.now()).toISOString(),
      depth: parent?.depth ?? 0,
      payload,
      metadata: { ...labels, ...omitUndefined({ run_id: runId }) },
    }
  }

  #supervisor(): Promise<Supervisor> {
    if (this.#parent !== undefined) return this.#parent.#supervisor()
    this.#loading ??= this.#load()
    return this.#loading
  }

  async #load(): Promise<Supervisor> {
    const { Supervisor } = await import('./supervisor.js')
    const transport = this.#transport
    if (transport === undefined) throw new TypeError('A session without a transport has no supervisor.')
    const { sessionId, agentId } = this.#session
    this.#loaded = new Supervisor({
      transport,
      who: { sessionId, agentId, version: '0' },
      notice: (message) => this.#notice(message),
    })
    return this.#loaded
  }

  #beat(everyMs: number): void {
    if (everyMs === 0) return
    this.#heartbeat = setInterval(() => {
      const state = this.#session.activeRunId === undefined ? 'idle' : 'working'
      this.#report('heartbeat', {
        uptime_ms: this.#session.now() - this.#startedAt,
        total_events_processed: this.#reported,
        current_state: state,
      })
    }, everyMs)
    this.#heartbeat.unref()
  }

  #notice(message: string): void {
    this.#session.emit({ type: 'notice', source: 'supervisor', message })
  }
}

/** Returns the status of a supervisor that was not connected yet. */
export function unused(kind: AhpTransport['kind']): SupervisorStatus {
  const counts = { asked: 0, blocked: 0, modified: 0, escalated: 0, unsupervised: 0, undelivered: 0 }
  return { kind, connected: false, ...counts }
}

function actionOf(call: HookCall, args: unknown): AhpEvent['payload'] {
  const { subjects = [] } = call
  return {
    tool: call.toolName,
    arguments: args,
    call_id: call.callId,
    origin: call.origin,
    // The resolved subjects, with links followed; only for the arguments that the call was made with.
    ...(args === call.args && { touches: subjects }),
  }
}

const maxTextLength = 16_000

function cut(text: string, most = maxTextLength): string {
  return text.length <= most ? text : `${text.slice(0, most)}… (${text.length} characters)`
}
