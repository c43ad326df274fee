import { approvalKey } from '../../authority/approval-key.js'
import type { GateHooks } from '../../hooks/gate-hooks.js'
import { type AskHandler, readAnswer } from '../../loop/ask.js'
import { RunError } from '../../loop/errors.js'
import type { AgentEvent } from '../../loop/events.js'
import type { HookCall, HookVerdict } from '../../loop/gate-parts.js'
import { unlessAborted } from '../../model/unless-aborted.js'
import type { AhpEvent, BlockingEvent, NoticeEvent } from '../../supervise/protocol.js'
import type { Outcome, Supervisor, SupervisorStatus } from '../../supervise/supervisor.js'
import { type AhpTransport, settingsOf } from '../../supervise/transport.js'
import type { Envelope } from '../../tool/envelope.js'
import { messageOf } from '../../tool/errors.js'
import { serializeToolOutput } from '../../tool/serialize.js'
import type { SessionCore, SessionParts } from '../core.js'
import { labelsOf } from '../options.js'
import type { SessionPart } from '../part.js'

/** The supervision of a session: connected with the first run or call, told goodbye when the session is closed. */
export const supervisionPart: SessionPart<Supervision> = {
  name: 'supervision',
  make: (core) => new Supervision(core),
  close: (supervision) => supervision.close(),
}

export function isSupervised({ options, parent }: Pick<SessionParts, 'options' | 'parent'>): boolean {
  return options.ahpTransport !== undefined || parent?.supervision !== undefined
}

/** Nothing for a session that nobody supervises. */
export function supervisionOf(core: SessionCore): Supervision | undefined {
  return isSupervised(core.parts) ? core.part(supervisionPart) : undefined
}

/** Looks, and connects nothing. */
export function supervisorStatus(core: SessionCore): SupervisorStatus | null {
  const { options, parent } = core.parts
  const known = core.peekPart(supervisionPart) ?? parent?.supervision
  const kind = options.ahpTransport?.kind
  return known?.status() ?? (kind === undefined ? null : unused(kind))
}

function unused(kind: AhpTransport['kind']): SupervisorStatus {
  const counts = { asked: 0, blocked: 0, modified: 0, escalated: 0, unsupervised: 0, untold: 0 }
  return { kind, connected: false, ...counts }
}

/** A prompt as a supervisor lets it pass. Rejects when it does not. */
export async function supervisedPrompt(
  core: SessionCore,
  event: 'pre_prompt' | 'planning',
  payload: { readonly prompt: string } & Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<string> {
  const supervision = supervisionOf(core)
  return supervision === undefined ? payload.prompt : supervision.prompt(event, payload, signal)
}

/** Whether memories may be shown with a prompt. */
export async function mayRecall(core: SessionCore, query: string, signal: AbortSignal): Promise<boolean> {
  return (await supervisionOf(core)?.recall(query, signal)) ?? true
}

/** Asks and tells the supervisor in the name of one session. Subagents have their own, on their parent's connection. */
export class Supervision {
  readonly #core: SessionCore
  readonly #transport: AhpTransport | undefined
  readonly #parent: Supervision | undefined
  readonly #startedAt: number
  #loading: Promise<Supervisor> | undefined
  #loaded: Supervisor | undefined
  #heartbeat: NodeJS.Timeout | undefined
  #told = 0

  constructor(core: SessionCore) {
    const { options, parent, restored } = core.parts
    this.#core = core
    this.#transport = options.ahpTransport
    this.#parent = parent?.supervision
    this.#startedAt = core.now()
    this.#tell('session_start', { working_directory: core.parts.root, resumed: restored !== undefined })
    if (this.#transport === undefined || this.#parent !== undefined) return
    this.#beat(settingsOf(this.#transport).heartbeatMs)
  }

  status(): SupervisorStatus | undefined {
    if (this.#parent !== undefined) return this.#parent.status()
    if (this.#loaded !== undefined) return this.#loaded.status()
    return this.#transport && unused(this.#transport.kind)
  }

  /** The parts of the gate with the supervisor behind the hooks: it is asked about what they made of the call, and none can skip it. */
  gateHooks({ before, after }: GateHooks): GateHooks {
    return {
      before: async (call) => this.#judge(call, await before(call)),
      after: (call) => {
        this.#done(call)
        return after(call)
      },
    }
  }

  /** In front of the person: it may refuse, and never agree in their place. */
  confirmation(onAsk: AskHandler): AskHandler {
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
      if (outcome.action !== 'block') return onAsk(request)
      return { decision: 'reject', message: `Refused by the supervisor: ${outcome.reason}`, automatic: true }
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

  async recall(query: string, signal: AbortSignal): Promise<boolean> {
    const payload = { query, memory_type: 'all', working_directory: this.#core.parts.root }
    const outcome = await unlessAborted(this.#ask('memory_recall', payload, signal), signal)
    if (outcome.action === 'allow') return true
    this.#notice(
      `Nothing is recalled: ${'reason' in outcome ? outcome.reason : 'the supervisor did not allow it'}`,
    )
    return false
  }

  /** What happens in a run, as everybody may see it: texts have been screened. */
  seen(runId: string, event: AgentEvent): void {
    const run = { run_id: runId }
    if (event.type === 'agent_start') this.#tell('run_lifecycle', { ...run, status: 'started' })
    else if (event.type === 'agent_end') this.#completed(runId, event.result)
    else if (event.type === 'agent_cancelled') this.recordRunCancelled(runId, event.reason)
    else if (event.type === 'error') this.#broke(runId, event)
    else if (event.type === 'task_updated') this.#tell('task_list', { ...run, tasks: event.tasks })
    else if (event.type === 'verification_end') {
      const { type: _, ...report } = event
      this.#tell('verification', { ...run, ...report })
    } else if (event.type === 'model_retry' && event.status === 429 && event.agent === undefined)
      void this.#rateLimited(runId, event)
  }

  recordRunCancelled(runId: string, reason: string): void {
    this.#tell('run_lifecycle', { run_id: runId, status: 'cancelled', reason: cut(reason) })
  }

  async close(): Promise<void> {
    clearInterval(this.#heartbeat)
    this.#tell('session_end', { reason: 'closed', duration_ms: this.#core.now() - this.#startedAt })
    if (this.#parent !== undefined) return
    const supervisor = await this.#supervisor()
    await supervisor.close()
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
    this.#tell('post_action', {
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
    this.#tell('post_response', {
      response_text: cut(text),
      tool_calls_count: toolCallsCount,
      usage,
      run_id: runId,
    })
    this.#tell('success', { action_type: 'run', action_summary: cut(text, 500), run_id: runId })
    this.#tell('run_lifecycle', { run_id: runId, status: 'completed', rounds, finish })
  }

  #broke(runId: string, { error, code = 'error' }: Extract<AgentEvent, { type: 'error' }>): void {
    this.#tell('error', { error_type: code, error_message: cut(error), run_id: runId })
    this.#tell('run_lifecycle', { run_id: runId, status: 'failed', reason: cut(error) })
  }

  /** The model waits anyway. A supervisor that says so ends the run; one that cannot be asked does not. */
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
      this.#core.open.get(runId)?.cancel(`the supervisor ended it at a rate limit: ${outcome.reason}`)
  }

  /** Words when the person, or nobody being there, refuses. */
  async #refusedPrompt(prompt: string, reason: string, signal: AbortSignal): Promise<string | undefined> {
    const { confirmations, parts, newId } = this.#core
    const { options, root, sessionId, agentId } = parts
    if (options.onAsk === undefined && options.confirmationPolicy?.enabled !== true)
      return `${reason}. No user can be asked: set \`onAsk\``
    const id = newId()
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
      return approved ? undefined : (message ?? 'a person refused it')
    } finally {
      confirmations.withdraw(id, 'Nobody waits for it any more.')
    }
  }

  /** Never rejects: what breaks here refuses. */
  async #ask(event: BlockingEvent, payload: AhpEvent['payload'], signal?: AbortSignal): Promise<Outcome> {
    try {
      const supervisor = await this.#supervisor()
      return await supervisor.ask(this.#event(event, payload), signal)
    } catch (error) {
      return { action: 'block', reason: `the supervisor could not be asked: ${messageOf(error)}` }
    }
  }

  #tell(event: NoticeEvent, payload: AhpEvent['payload']): void {
    this.#told += 1
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
    const { sessionId, agentId, options, parent } = this.#core.parts
    const runId = this.#core.active?.id
    return {
      event_type: event,
      session_id: sessionId,
      agent_id: agentId,
      timestamp: new Date(this.#core.now()).toISOString(),
      depth: parent?.depth ?? 0,
      payload,
      metadata: { ...labelsOf(options), ...(runId !== undefined && { run_id: runId }) },
    }
  }

  #supervisor(): Promise<Supervisor> {
    if (this.#parent !== undefined) return this.#parent.#supervisor()
    this.#loading ??= this.#load()
    return this.#loading
  }

  async #load(): Promise<Supervisor> {
    const { Supervisor } = await import('../../supervise/supervisor.js')
    const transport = this.#transport
    if (transport === undefined) throw new TypeError('A session without a transport has no supervisor.')
    const { sessionId, agentId } = this.#core.parts
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
      const state = this.#core.active === undefined ? 'idle' : 'working'
      this.#tell('heartbeat', {
        uptime_ms: this.#core.now() - this.#startedAt,
        total_events_processed: this.#told,
        current_state: state,
      })
    }, everyMs)
    this.#heartbeat.unref()
  }

  #notice(message: string): void {
    this.#core.emit({ type: 'notice', source: 'supervisor', message })
  }
}

function actionOf(call: HookCall, args: unknown): AhpEvent['payload'] {
  const { subjects = [] } = call
  return {
    tool: call.toolName,
    arguments: args,
    call_id: call.callId,
    origin: call.origin,
    // What the arguments come to, links followed; only for those that the call was made with.
    ...(args === call.args && { touches: subjects }),
  }
}

const maxTextLength = 16_000

function cut(text: string, most = maxTextLength): string {
  return text.length <= most ? text : `${text.slice(0, most)}… (${text.length} characters)`
}
