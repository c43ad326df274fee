import { parseCommand } from '../commands/index.js'
import type { HookOutcome } from '../hooks/index.js'
import { createConversation } from '../loop/conversation.js'
import { RunError } from '../loop/errors.js'
import type { AgentEvent } from '../loop/events.js'
import { type RunOutcome, run } from '../loop/run.js'
import { snakeUsage } from '../loop/usage.js'
import type { UserMessage } from '../tool/completion.js'
import { CapstanError, messageOf } from '../tool/errors.js'
import type { JsonObject } from '../tool/json.js'
import { mergeMetadata } from '../tool/metadata.js'
import { ActiveRun } from './active-run.js'
import { type AgentResult, agentResult } from './agent-result.js'
import { commandSession } from './command-session.js'
import type { SessionCore } from './core.js'
import { RunExistsError, SessionBusyError, SessionClosedError } from './errors.js'
import { partsFor } from './loop-parts.js'
import { withDelegated } from './parts/auto-delegation.js'
import { namesServerPrompt, withServerPrompt } from './parts/mcp.js'
import { rememberRun, withMemories } from './parts/memory.js'
import { isSupervised, supervisedPrompt, supervisionOf } from './parts/supervision.js'
import { knownTasks } from './parts/tasks.js'
import { reportsOf, requiredOf } from './parts/verification.js'
import type { RunRequest } from './request.js'
import type { RunSnapshot } from './runs.js'
import { spendingRow } from './spending.js'

/**
 * Begins a run: it waits its turn behind those before it, and has a record and a stream from now on. `send` waits for its result,
 * `stream` hands out its events; there is no other difference.
 */
export function startRun(core: SessionCore, request: RunRequest): ActiveRun {
  core.assertOpen()
  if (core.isBusy && core.parts.options.whenBusy === 'reject')
    throw new SessionBusyError(core.parts.sessionId)
  const runId = request.runId ?? core.newId()
  if (core.runs.get(runId) !== undefined) throw new RunExistsError(core.parts.sessionId, runId)
  const record = core.runs.create(runId, core.parts.sessionId, request.text, core.now(), request.from?.runId)
  const supervision = supervisionOf(core)
  const keep =
    core.keeper &&
    ((event: AgentEvent, now: number, sequence: number) =>
      core.keeper?.event({ runId: record.id, sequence, timestampMs: now }, event))
  const told =
    supervision &&
    ((event: AgentEvent, now: number, sequence: number): void => {
      keep?.(event, now, sequence)
      supervision.seen(record.id, event)
    })
  const active = new ActiveRun(record, core.now, core.screen.events, told ?? keep)
  active.metadata = metadataOf(core, request)
  const unfollow = active.follow(request.signal)
  const idle = !core.isBusy
  core.open.set(active.id, active)
  // A run that waits its turn survives its process, like one at work. Whoever has the session open for writing has its lease.
  // A log that cannot be written fails the run when its turn comes.
  if (!idle && core.keeper?.isOpen) core.keeper.run(record.snapshot()).catch(() => undefined)
  const performed = idle ? perform(core, active, request) : afterOthers(core, active, request, core.queue)
  active.result = performed.finally(() => {
    core.open.delete(active.id)
    unfollow()
  })
  // One that was cancelled while it waited has ended before those in front of it. What runs came to is not kept here: each would hold
  // all before it.
  core.queue = Promise.allSettled([core.queue, active.result]).then(() => undefined)
  return active
}

function metadataOf({ parts }: SessionCore, { metadata }: RunRequest): JsonObject | undefined {
  const own = parts.options.metadata
  return own === undefined && metadata === undefined ? undefined : mergeMetadata(own, metadata)
}

async function afterOthers(
  core: SessionCore,
  active: ActiveRun,
  request: RunRequest,
  others: Promise<unknown>,
): Promise<AgentResult> {
  await Promise.race([others, aborted(active.signal)])
  if (!active.signal.aborted) return perform(core, active, request)
  const { error, event } = failureOf(core, active, active.signal.reason)
  active.emit(event)
  throw error
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

async function perform(core: SessionCore, active: ActiveRun, request: RunRequest): Promise<AgentResult> {
  core.active = active
  const startedAt = core.now()
  try {
    active.record.start(startedAt)
    await core.keeper?.open()
    // In the log before the prompt; whoever waits for the prompt waits for this too.
    const begun = core.keeper?.run(active.record.snapshot(), {
      ...(request.trigger !== undefined && { trigger: request.trigger }),
    })
    // A fire is claimed with it: nothing of it may happen before. And where others are waited for before the prompt is in the
    // conversation, a process that ends meanwhile leaves a run that can be resumed.
    if (request.trigger !== undefined || waitsForOthers(core)) await begun
    active.emit({ type: 'agent_start', runId: active.id, prompt: request.text })
    active.signal.throwIfAborted()
    if (request.from !== undefined) active.countFrom(request.from.totals)
    const result = await answer(core, active, request)
    await rememberRun(core, active, { result })
    // Whoever was told that the run is cancelled finds it cancelled, however near its end it was.
    active.signal.throwIfAborted()
    const end: AgentEvent = { type: 'agent_end', runId: active.id, result }
    await keepEnd(core, active, { status: 'completed', resultText: result.text }, end)
    active.emit(end)
    return result
  } catch (error) {
    throw await emitFailure(core, active, error)
  } finally {
    core.steering.length = 0
    core.active = undefined
  }
}

/** Whether hooks, a supervisor, servers, memories or other agents come before the prompt. */
function waitsForOthers({ hooks, parts }: SessionCore): boolean {
  const { mcpServers, autoDelegation, memoryStore } = parts.options
  return (
    hooks.has('session_start') ||
    hooks.has('pre_prompt') ||
    hooks.has('pre_planning') ||
    isSupervised(parts) ||
    [mcpServers, autoDelegation, memoryStore, parts.mcpServers].some((part) => part !== undefined)
  )
}

/** On disk before anybody is told. A log that fails here has failed before, or its failure is the run's. */
async function keepEnd(
  core: SessionCore,
  active: ActiveRun,
  end: Pick<RunSnapshot, 'status' | 'resultText' | 'error'>,
  event: AgentEvent,
): Promise<void> {
  // A run that never had the session is not in its log, and must not get there because somebody lets go of it meanwhile.
  if (!core.keeper?.isOpen) return
  const { usage, costUsd } = active.spent
  await core.keeper.run(
    { ...active.record.snapshot(), ...end, updatedAtMs: core.now() },
    { usage, spending: spendingRow(active.spending), ...(costUsd !== undefined && { costUsd }) },
    event,
  )
}

async function answer(core: SessionCore, active: ActiveRun, given: RunRequest): Promise<AgentResult> {
  // Without a wait for those that name none: a run can be steered from its first moment on.
  const names = !given.verbatim && namesServerPrompt(given)
  const request = names ? await withServerPrompt(core, given, active.signal) : given
  if (!request.verbatim && parseCommand(request.text) !== undefined) {
    const text = await core.commands.run(request.text, commandSession(core), { signal: active.signal })
    active.signal.throwIfAborted()
    if (text !== undefined) {
      active.emit({ type: 'text_delta', text })
      const outcome = { text, toolCallsCount: 0, rounds: 0, ...active.spent, finish: 'command' } as const
      return agentResult(active.id, outcome, reportsOf(core))
    }
  }
  active.steerable = true
  await core.start(active.signal)
  const { options } = core.parts
  // What there is to be checked is found before anybody works on it, agents that are asked first too.
  const required = await requiredOf(core)
  const startedAt = core.now()
  const prompt = await promptThroughHooks(core, active, request)
  const asked = await withMemories(core, prompt, request, active.signal)
  const message = await withDelegated(core, asked, active.signal)
  core.plan.begin(request.text, options.planningMode === 'enabled', options.goalTracking ?? false, core.emit)
  const conversation =
    request.history === undefined ? core.conversation : createConversation({ messages: request.history })
  const parts = await partsFor(core, active.signal, conversation)
  // What a run left behind still says when another is at work is nobody's.
  const emit: typeof core.emit = (event) => void (core.active === active && core.emit(event))
  // Whoever takes it finishes it: one that was cancelled on its way here leaves it as it is.
  active.signal.throwIfAborted()
  const unfinished = request.from && core.takeUnfinishedRound(request.from.family)
  if (request.history === undefined && unfinished === undefined) await core.closeInterrupted()
  if (request.history === undefined && message !== undefined && unfinished === undefined)
    for (const arrived of knownTasks(core)?.takeArrivals() ?? []) await core.conversation.append(arrived)
  if (request.history === undefined && message !== undefined) core.titleAfter(request.text)
  const { roundDone, ...plain } = parts
  const outcome = await run(
    {
      ...plain,
      ...required,
      emit,
      // What is said on top of another history is not in the log: nobody could go on from it.
      ...(request.history === undefined && roundDone !== undefined && { roundDone }),
      ...(request.from && { before: request.from.totals }),
      ...(unfinished !== undefined && { unfinished }),
      ...(request.trigger !== undefined && {
        promptFacts: { metadata: { trigger: { ...request.trigger } } },
      }),
      ...(request.unseen !== undefined && { unseen: request.unseen }),
    },
    message,
  )
  active.steerable = false
  core.plan.finish(core.emit)
  await emitResponse(core, { ...outcome, ...active.spent }, startedAt, active.signal)
  return agentResult(
    active.id,
    { ...outcome, ...active.spent, text: core.screen.text(outcome.text) },
    reportsOf(core),
  )
}

/** Hooks may stop a prompt, or put another in its place. */
async function promptThroughHooks(
  core: SessionCore,
  active: ActiveRun,
  { text, message, history }: RunRequest,
): Promise<UserMessage | undefined> {
  if (message === undefined) return undefined
  const { signal } = active
  let prompt = text
  const supervised = isSupervised(core.parts)
  const plans = core.parts.options.planningMode === 'enabled'
  const facts =
    supervised || core.hooks.has('pre_prompt')
      ? {
          system_prompt: await core.instructions(),
          message_count: (history ?? core.conversation.messages).length,
        }
      : undefined
  if (facts !== undefined && core.hooks.has('pre_prompt'))
    prompt = promptOf(await core.hooks.run('pre_prompt', { prompt, ...facts }, { signal }))
  if (plans && core.hooks.has('pre_planning'))
    prompt = promptOf(await core.hooks.run('pre_planning', { prompt }, { signal }))
  // Behind the hooks: it sees what they made of the prompt.
  if (supervised) prompt = await supervisedPrompt(core, 'pre_prompt', { prompt, ...facts }, signal)
  if (supervised && plans) prompt = await supervisedPrompt(core, 'planning', { prompt }, signal)
  if (prompt === text) return message
  const [, ...attachments] = message.content
  return { ...message, content: [{ type: 'text', text: prompt }, ...attachments] }
}

function promptOf(outcome: HookOutcome<'pre_prompt'> | HookOutcome<'pre_planning'>): string {
  if (outcome.action === 'continue') return outcome.payload.prompt
  const { hookId, reason = 'it asked for another try' } = outcome
  throw new RunError('blocked_by_hook', `The prompt was blocked by the hook '${hookId}': ${reason}`)
}

async function emitResponse(
  core: SessionCore,
  outcome: RunOutcome,
  startedAt: number,
  signal: AbortSignal,
): Promise<void> {
  if (!core.hooks.has('post_response')) return
  const payload = {
    response_text: outcome.text,
    tool_calls_count: outcome.toolCallsCount,
    usage: snakeUsage(outcome.usage),
    duration_ms: core.now() - startedAt,
  }
  await core.hooks.run('post_response', payload, { signal })
}

/** The last event of a run that failed, and the error its caller gets. */
async function emitFailure(core: SessionCore, active: ActiveRun, thrown: unknown): Promise<unknown> {
  const { error, event } = failureOf(core, active, thrown)
  core.confirmations.cancelAll('The run has ended.')
  if (active.signal.aborted) await knownTasks(core)?.stopAll('the run was cancelled')
  if (core.hooks.has('on_error')) {
    const told = core.hooks.run('on_error', { error_type: kindOf(error), error_message: messageOf(error) })
    // Whoever cancels is not kept waiting.
    if (!active.signal.aborted) await told
  }
  if (event.type === 'error') await rememberRun(core, active, { error })
  try {
    const status = event.type === 'agent_cancelled' ? 'cancelled' : 'failed'
    await keepEnd(core, active, { status, error: messageOf(error) }, { ...event, ...active.spent })
  } catch (lost) {
    active.emit({ type: 'persistence_failed', operation: 'run', error: messageOf(lost) })
  }
  // After everything that the run had begun has stopped.
  active.emit({ ...event, ...active.spent })
  return error
}

function failureOf(
  core: SessionCore,
  active: ActiveRun,
  thrown: unknown,
): {
  readonly error: unknown
  readonly event: Extract<AgentEvent, { type: 'error' | 'agent_cancelled' }>
} {
  const closed = core.isClosed && active.signal.aborted
  const error = closed ? new SessionClosedError(core.parts.sessionId) : thrown
  const message = messageOf(error)
  if (closed || (error instanceof RunError && error.code === 'cancelled'))
    return { error, event: { type: 'agent_cancelled', reason: message } }
  const code = error instanceof CapstanError ? { code: error.code } : {}
  return { error, event: { type: 'error', error: message, ...code } }
}

function kindOf(error: unknown): 'llm_failure' | 'timeout' | 'other' {
  if (!(error instanceof CapstanError)) return 'other'
  if (error.code.endsWith('timeout')) return 'timeout'
  return error.code.startsWith('model_') ? 'llm_failure' : 'other'
}
