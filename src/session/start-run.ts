import type { RunRequest } from '../feature/run-request.js'
import type { RunChecks } from '../feature/session-feature.js'
import type { EndedRun } from '../feature/shared-services.js'
import { createConversation } from '../loop/conversation.js'
import { RunError } from '../loop/errors.js'
import type { AgentEvent } from '../loop/events.js'
import { run } from '../loop/run.js'
import type { RunRow } from '../store/records.js'
import type { UserMessage } from '../tool/completion.js'
import { CapstanError, messageOf } from '../tool/errors.js'
import type { JsonObject } from '../tool/json.js'
import { mergeMetadata } from '../tool/metadata.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { untilAborted } from '../tool/unless-aborted.js'
import { ActiveRun } from './active-run.js'
import { type AgentResult, agentResult } from './agent-result.js'
import { RunExistsError, SessionBusyError, SessionClosedError } from './errors.js'
import { featuresWith } from './features-with.js'
import type { SessionKernel } from './kernel.js'
import { partsFor, takeMessages } from './loop-parts.js'
import type { RunSnapshot } from './runs.js'
import { spendingRow } from './spending.js'

/**
 * Starts a run: it waits for the runs before it, and has a record and a stream from now on. `send` waits for its
 * result, `stream` returns its events; there is no other difference.
 */
export function startRun(kernel: SessionKernel, request: RunRequest): ActiveRun {
  kernel.assertOpen()
  const { queue, sessionId } = kernel
  if (queue.hasUnended && kernel.options.whenBusy === 'reject') throw new SessionBusyError(sessionId)
  for (const feature of featuresWith('checkRequest')) feature.checkRequest(request)
  const runId = request.runId ?? kernel.newId()
  if (kernel.runs.get(runId) !== undefined) throw new RunExistsError(sessionId, runId)
  const record = kernel.runs.create(runId, sessionId, request.text, kernel.now(), request.from?.runId)
  const active = new ActiveRun(
    record,
    kernel.now,
    kernel.redactor.events,
    watchersOf(kernel, record.id, request),
  )
  active.metadata = metadataOf(kernel, request)
  const unfollow = active.follow(request.signal)
  // A queued run is recorded, so that it survives its process like an active one. If the log cannot be written, the run
  // fails when it starts.
  if (queue.isBusy) {
    const facts = featuresWith('queuedRun').map((feature) => feature.queuedRun(request))
    kernel.log.recorder
      ?.run(record.snapshot(), Object.assign({}, ...facts), { prompt: request.message })
      .catch(() => undefined)
  }
  const others = queue.add(active)
  const started =
    others === undefined ? perform(kernel, active, request) : afterOthers(kernel, active, request, others)
  active.result = started.finally(unfollow)
  queue.removeAtEnd(active)
  return active
}

/** Returns the receiver of a run's events: the log, then features. */
function watchersOf(
  kernel: SessionKernel,
  runId: string,
  request: RunRequest,
): ((event: AgentEvent, now: number, sequence: number) => void) | undefined {
  const { recorder } = kernel.log
  const watchers = featuresWith('watchRun').flatMap(
    (feature) => feature.watchRun(kernel, runId, request) ?? [],
  )
  if (recorder === undefined && watchers.length === 0) return undefined
  return (event, timestampMs, sequence) => {
    recorder?.event({ runId, sequence, timestampMs }, event)
    for (const watch of watchers) watch(event)
  }
}

function metadataOf({ options }: SessionKernel, { metadata }: RunRequest): JsonObject | undefined {
  const own = options.metadata
  return own === undefined && metadata === undefined ? undefined : mergeMetadata(own, metadata)
}

async function afterOthers(
  kernel: SessionKernel,
  active: ActiveRun,
  request: RunRequest,
  others: Promise<unknown>,
): Promise<AgentResult> {
  await Promise.race([others, untilAborted(active.signal)])
  if (!active.signal.aborted) return perform(kernel, active, request)
  const { error, event } = failureOf(kernel, active, active.signal.reason)
  active.emit(event)
  kernel.log.recorder?.runFailed(error)
  throw error
}

async function perform(kernel: SessionKernel, active: ActiveRun, request: RunRequest): Promise<AgentResult> {
  kernel.queue.active = active
  try {
    active.record.start(kernel.now())
    await kernel.log.recorder?.open()
    const facts = featuresWith('startRun').map((feature) => feature.startRun(kernel, active.id, request))
    const written = recordStart(kernel, active, request, Object.assign({}, ...facts))
    if (mustBeWritten(kernel, request)) await written
    active.emit({ type: 'agent_start', runId: active.id, prompt: request.text })
    active.signal.throwIfAborted()
    if (request.from !== undefined) active.countFrom(request.from.totals)
    const result = await answer(kernel, active, request)
    for (const feature of featuresWith('afterRun'))
      await feature.afterRun(kernel, endedRun(kernel, active), { result })
    // A run that was cancelled just before its end is still reported as cancelled.
    active.signal.throwIfAborted()
    const end: AgentEvent = { type: 'agent_end', runId: active.id, result }
    await recordEnd(kernel, active, { status: 'completed', resultText: result.text }, end)
    active.emit(end)
    // All messages are in the log by now.
    kernel.log.conversation.trim(kernel.options.retentionLimits?.maxMessages ?? Number.POSITIVE_INFINITY)
    kernel.restSoon()
    return result
  } catch (error) {
    throw await endFailed(kernel, active, error)
  } finally {
    kernel.queue.active = undefined
  }
}

/** Writes the start of a run to the log, before its prompt; the write of the prompt waits for this one too. */
function recordStart(
  { log: { recorder } }: SessionKernel,
  { record }: ActiveRun,
  { trigger, message }: RunRequest,
  facts: Pick<RunRow, 'traceparent' | 'goal'>,
): Promise<void> | undefined {
  const more = { ...facts, ...omitUndefined({ trigger }) }
  return recorder?.run(record.snapshot(), more, { prompt: message })
}

/**
 * Whether the start must be written before anything else happens: it claims the fire of a schedule, and if a feature
 * works before the prompt is in the conversation, a process that ends during that work leaves a run that can be
 * resumed.
 */
function mustBeWritten(kernel: SessionKernel, { trigger }: RunRequest): boolean {
  return trigger !== undefined || featuresWith('delaysPrompt').some((feature) => feature.delaysPrompt(kernel))
}

/**
 * Writes the end of a run to the log before it is reported. If the log fails here, it has failed before, or the run
 * fails with it.
 */
async function recordEnd(
  kernel: SessionKernel,
  active: ActiveRun,
  end: Pick<RunSnapshot, 'status' | 'resultText' | 'error'>,
  event: AgentEvent,
): Promise<void> {
  // A run that never got the lease is not in the log, and must not be written because another process releases the
  // lease in the meantime.
  if (!kernel.log.recorder?.isOpen) return
  const { usage, costUsd } = active.spent
  await kernel.log.recorder.run(
    { ...active.record.snapshot(), ...end, updatedAtMs: kernel.now() },
    { usage, spending: spendingRow(active.spending), ...omitUndefined({ costUsd }) },
    { end: event },
  )
}

async function answer(kernel: SessionKernel, active: ActiveRun, given: RunRequest): Promise<AgentResult> {
  // Nothing is awaited unless a feature handles the request: a run can be steered from its start.
  let request = given
  for (const feature of featuresWith('expandRequest')) {
    const changed = feature.expandRequest(kernel, request, active.signal)
    if (changed !== undefined) request = await changed
  }
  for (const feature of featuresWith('answerRequest')) {
    const answering = feature.answerRequest(kernel, request, active.signal)
    if (answering === undefined) continue
    const text = await answering
    active.signal.throwIfAborted()
    if (text === undefined) continue
    active.emit({ type: 'text_delta', text })
    const outcome = { text, toolCallsCount: 0, rounds: 0, ...active.spent, finish: 'command' } as const
    return agentResult(active.id, outcome, kernel.service('checks')?.reports())
  }
  active.steerable = true
  await kernel.start(active.signal)
  const checks = await checksBeforeEnd(kernel, request)
  const startedAt = kernel.now()
  const message = request.message && (await promptOf(kernel, request, request.message, active.signal))
  const outcome = await runLoop(kernel, active, request, message, checks)
  active.steerable = false
  kernel.plan.finish(kernel.emit)
  for (const feature of featuresWith('afterResponse'))
    await feature.afterResponse(kernel, { ...outcome, ...active.spent }, startedAt, active.signal)
  const text = kernel.redactor.text(outcome.text)
  return agentResult(
    active.id,
    {
      ...outcome,
      ...active.spent,
      text,
      goal: kernel.service('goals')?.outcome(),
      circuitsOpened: active.circuitsOpened,
    },
    kernel.service('checks')?.reports(),
  )
}

async function runLoop(
  kernel: SessionKernel,
  active: ActiveRun,
  request: RunRequest,
  message: UserMessage | undefined,
  { maxToolRounds, stopWhen = [], ...checks }: RunChecks,
) {
  const { options } = kernel
  const { conversation } = kernel.log
  kernel.plan.begin(
    request.text,
    options.planningMode === 'enabled',
    options.goalTracking ?? false,
    kernel.emit,
  )
  const own = request.history === undefined
  const parts = await partsFor(
    kernel,
    active.signal,
    own ? conversation : createConversation({ messages: request.history }),
    kernel.engine.openForRun(),
  )
  // The model would silently lose attachments that it does not support. Most messages have none.
  if (message?.content.some(({ type }) => type !== 'text')) {
    const { assertAttachmentsSupported } = await import('../model/completion-capability.js')
    assertAttachmentsSupported(kernel.models.current(), message.content)
  }
  // A run that takes the unfinished round finishes it; a run that was cancelled before this point leaves it as it is.
  active.signal.throwIfAborted()
  const unfinished = request.from && kernel.log.interrupted.takeUnfinishedRound(request.from.family)
  if (own && unfinished === undefined) await kernel.log.interrupted.close()
  if (own && message !== undefined && unfinished === undefined)
    for (const arrived of takeMessages(kernel)) await conversation.append(arrived)
  if (own && message !== undefined) kernel.log.titleAfter(request.text)
  const { roundDone, callEnded, ...plain } = parts
  return run(
    {
      ...plain,
      ...checks,
      stopWhen: [...(plain.stopWhen ?? []), ...stopWhen],
      ...(maxToolRounds !== undefined && { limits: { ...plain.limits, maxToolRounds } }),
      // Work that an ended run left active must not emit events into the next run.
      emit: (event) => void (kernel.queue.active === active && kernel.emit(event)),
      // Messages on another history are not in the log, so nothing could be resumed from them.
      ...(own && { roundDone, callEnded }),
      before: request.from?.totals,
      unfinished,
      promptFacts: request.trigger && { metadata: { trigger: { ...request.trigger } } },
      unseen: request.unseen,
    },
    message,
  )
}

/** Collects the checks of features before the run ends. Features read the workspace now, before the run changes it. */
async function checksBeforeEnd(kernel: SessionKernel, request: RunRequest): Promise<RunChecks> {
  const found: RunChecks[] = []
  for (const feature of featuresWith('beforeRun'))
    found.push((await feature.beforeRun(kernel, request)) ?? {})
  const checks = found.flatMap(({ beforeDone }) => beforeDone ?? [])
  if (checks.length === 0) return {}
  return {
    stopWhen: found.flatMap(({ stopWhen }) => stopWhen ?? []),
    maxToolRounds: found.find(({ maxToolRounds }) => maxToolRounds !== undefined)?.maxToolRounds,
    beforeDone: async (done) => {
      for (const check of checks) {
        const message = await check(done)
        if (message !== undefined) return message
      }
      return undefined
    },
  }
}

/** Returns the message of the user for the model: features replace its text, then add to it. */
async function promptOf(
  kernel: SessionKernel,
  request: RunRequest,
  given: UserMessage,
  signal: AbortSignal,
): Promise<UserMessage> {
  let text = request.text
  for (const feature of featuresWith('rewritePrompt'))
    text = await feature.rewritePrompt(kernel, text, request, signal)
  let message = given
  if (text !== request.text) {
    const [, ...attachments] = given.content
    message = { ...given, content: [{ type: 'text', text }, ...attachments] }
  }
  for (const feature of featuresWith('extendPrompt'))
    message = await feature.extendPrompt(kernel, message, request, signal)
  return message
}

function endedRun({ runs }: SessionKernel, { id, record }: ActiveRun): EndedRun {
  return {
    id,
    prompt: record.snapshot().prompt,
    toolNames: () => {
      const names = runs
        .events(id)
        .flatMap(({ event }) => (event.type === 'tool_end' ? [event.toolName] : []))
      return [...new Set(names)]
    },
  }
}

/** Ends a run that failed or was cancelled: emits its last event, and returns the error for its caller. */
async function endFailed(kernel: SessionKernel, active: ActiveRun, thrown: unknown): Promise<unknown> {
  const { error, event } = failureOf(kernel, active, thrown)
  const cancelled = event.type === 'agent_cancelled'
  const { aborted: wasAborted } = active.signal
  kernel.confirmations.cancelAll('The run has ended.')
  if (wasAborted)
    for (const feature of featuresWith('stopWork')) await feature.stopWork(kernel, 'the run was cancelled')
  for (const feature of featuresWith('afterRun'))
    await feature.afterRun(kernel, endedRun(kernel, active), { error, cancelled, aborted: wasAborted })
  try {
    const status = cancelled ? 'cancelled' : 'failed'
    await recordEnd(kernel, active, { status, error: messageOf(error) }, { ...event, ...active.spent })
  } catch (lost) {
    active.emit({ type: 'persistence_failed', operation: 'run', error: messageOf(lost) })
  }
  // Emitted after everything that the run had started has stopped.
  active.emit({ ...event, ...active.spent })
  kernel.log.recorder?.runFailed(error)
  return error
}

function failureOf(
  kernel: SessionKernel,
  active: ActiveRun,
  thrown: unknown,
): {
  readonly error: unknown
  readonly event: Extract<AgentEvent, { type: 'error' | 'agent_cancelled' }>
} {
  const closed = kernel.isClosed && active.signal.aborted
  const error = closed ? new SessionClosedError(kernel.sessionId) : thrown
  const message = messageOf(error)
  if (closed || (error instanceof RunError && error.code === 'cancelled'))
    return { error, event: { type: 'agent_cancelled', reason: message } }
  const code = error instanceof CapstanError ? { code: error.code } : {}
  return { error, event: { type: 'error', error: message, ...code } }
}
