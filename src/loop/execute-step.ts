import type { Call } from '../authority/call.js'
import type { Authority } from '../authority/decide.js'
import type { AnyGovernedTool, ToolCallContext } from '../tool/contract.js'
import { type Envelope, errorEnvelope } from '../tool/envelope.js'
import type { ToolRuntime } from '../tool/runtime.js'
import { serializeToolOutput } from '../tool/serialize.js'
import { isThenable } from '../tool/thenable.js'
import { approvalsInside, toolCallIdOf } from './approval-step.js'
import { startDeadline } from './deadline.js'
import type { CallState, Ready } from './gate.js'
import type { GateCall, GateParts, RuntimeRequest } from './gate-parts.js'
import { type WriteOrder, writtenPaths } from './write-order.js'

/** The grace period keeps an abort under two seconds, also with a tool that ignores its signal. */
const stopGraceMs = 1_750
/** One object for all calls: creating an exception costs more than a whole check. */
const callIsOver = new DOMException('the call has ended', 'AbortError')

/**
 * Runs the tool in its turn, in its lane and under its deadline, with a runtime that ends with the call. If the
 * arguments differ from those that were judged, the tool does not run.
 */
export async function execute(
  state: CallState,
  tool: AnyGovernedTool,
  ready: Ready,
  /** Judges a call that has waited again, and throws if it must not run any more. */
  judgeWaited: () => void,
): Promise<Envelope> {
  state.step = 'execute'
  const { parts, request } = state
  const work: Work = { state, tool, ready }
  const turn = request.slot?.turn()
  const hasTurn = isThenable(turn) ? await turn : turn
  if (hasTurn === false)
    return errorEnvelope(`Tool "${request.name}" was not run: the run was ended by another call.`)
  const entering = enterWriteOrder(state)
  const leave = entering && (await entering)
  try {
    if (parts.lane !== undefined) return await runInLane(work, parts.lane, judgeWaited)
    // Rules can have changed while the call waited for its turn.
    if (isThenable(turn) || leave !== undefined) judgeWaited()
    return await runHere(work)
  } finally {
    leave?.()
  }
}

/** Judges the call when the lane starts it, here or elsewhere. A refusal ends the call, whatever the lane returns. */
async function runInLane(
  work: Work,
  lane: NonNullable<GateParts['lane']>,
  judgeWaited: () => void,
): Promise<Envelope> {
  const { state, tool } = work
  const { origin, signal, toolCallId } = state.request
  let refusal: { readonly thrown: unknown } | undefined
  const judge = (): void => {
    try {
      judgeWaited()
    } catch (thrown) {
      refusal = { thrown }
      throw thrown
    }
  }
  let isReported = false
  const starting = (): void | Promise<void> => {
    judge()
    if (isReported) return
    isReported = true
    return reportStart(work)
  }
  const run = async (laneMs?: number): Promise<Envelope> => {
    judge()
    return runHere(work, laneMs)
  }
  try {
    return await lane({ tool, toolCallId, args: state.checked, origin, signal, starting }, run)
  } finally {
    // biome-ignore lint/correctness/noUnsafeFinally: the refusal replaces what the lane returned or threw.
    if (refusal !== undefined) throw refusal.thrown
  }
}

type Work = {
  readonly state: CallState
  readonly tool: AnyGovernedTool
  readonly ready: Ready
}

/** Runs the tool in this process, within the time limits of the call and of its lane. */
async function runHere(work: Work, laneMs = Number.POSITIVE_INFINITY): Promise<Envelope> {
  const { state, tool, ready } = work
  const { parts, request } = state
  const notRun = `Tool "${request.name}" was not run: the run was aborted.`
  if (request.signal?.aborted) return errorEnvelope(notRun)
  // Run exactly what was judged, shown and approved: no step may have changed it.
  if (serializeToolOutput(ready.args) !== state.checked)
    return errorEnvelope('Refused: the arguments changed while the call was judged.')
  const defaultMs = tool.ownTime ? undefined : parts.toolTimeoutMs
  const ownMs = request.timeoutMs ?? defaultMs ?? Number.POSITIVE_INFINITY
  const timeoutMs = tool.ownTime ? ownMs : Math.min(ownMs, laneMs)
  const graceMs = parts.stopGraceMs ?? stopGraceMs
  const deadline = startDeadline({ signal: request.signal, timeoutMs, graceMs })
  const life = new CallLife(deadline.signal)
  const progress = { started: false }
  try {
    const beginning = begin(work, life, progress)
    const begun = beginning instanceof Promise ? await deadline.settle(beginning) : done(beginning)
    const ended = begun.how === 'done' ? await deadline.settle(ready.run(begun.result)) : begun
    if (ended.how === 'done')
      return isTimeout(deadline.signal)
        ? resultAfterTimeout(request.name, timeoutMs, ended.result)
        : ended.result
    if (!progress.started) return errorEnvelope(notRun)
    const isLate = ended.how === 'timeout'
    const why = isLate ? `did not finish within ${timeoutMs} ms` : 'was stopped because the run was aborted'
    return errorEnvelope(`Tool "${request.name}" ${why}; what it had already done may remain.`, {
      duration_ms: elapsed(state),
      ...(isLate && { timed_out: true }),
    })
  } finally {
    deadline.stop()
    // A tool that was abandoned, or that stored its runtime, must not be able to use it any more.
    life.end()
  }
}

function done<Result>(result: Result): { readonly how: 'done'; readonly result: Result } {
  return { how: 'done', result }
}

/**
 * The life of a call, which ends with its deadline or its result. Many tools use nothing of their runtime, so the
 * signal for it is created when it is first read.
 */
class CallLife {
  readonly deadline: AbortSignal
  #controller: AbortController | undefined
  #isOver = false

  constructor(deadline: AbortSignal) {
    this.deadline = deadline
  }

  get signal(): AbortSignal {
    if (this.#controller !== undefined) return this.#controller.signal
    const controller = new AbortController()
    this.#controller = controller
    const { deadline } = this
    if (this.#isOver) controller.abort(callIsOver)
    else if (deadline.aborted) controller.abort(deadline.reason)
    else deadline.addEventListener('abort', () => controller.abort(deadline.reason), { once: true })
    return controller.signal
  }

  /** Whether the call has ended: a tool that was stopped can still be cleaning up before that. */
  get isOver(): boolean {
    return this.#isOver
  }

  end(): void {
    this.#isOver = true
    this.#controller?.abort(callIsOver)
  }
}

/** Records that the work begins, and creates the context of the tool. */
function begin(
  work: Work,
  life: CallLife,
  progress: { started: boolean },
): ToolCallContext | Promise<ToolCallContext> {
  const reported = reportStart(work)
  if (isThenable(reported)) return Promise.resolve(reported).then(started)
  return started()

  function started(): ToolCallContext | Promise<ToolCallContext> {
    progress.started = true
    return contextFor(work.state, life)
  }
}

function reportStart({ state, tool }: Work): void | Promise<void> {
  const { parts, request } = state
  return parts.starting?.({
    callId: state.id,
    toolCallId: request.toolCallId,
    toolName: tool.name,
    origin: request.origin,
    args: state.checked,
    idempotent: tool.idempotent,
    inside: request.inside,
  })
}

/**
 * Waits for the session's earlier calls that write the same files. A call inside a call that writes does not wait,
 * because the outer call would wait for it in turn.
 */
function enterWriteOrder(state: CallState): ReturnType<WriteOrder['enter']> | undefined {
  const { parts, request, expanded } = state
  if (parts.writes === undefined || request.insideWriter === true || expanded === undefined) return undefined
  const paths = writtenPaths(expanded.subjects)
  if (paths.length === 0) return undefined
  state.writer = true
  return parts.writes.enter(paths, request.signal)
}

function isTimeout({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof DOMException && reason.name === 'TimeoutError'
}

/**
 * Returns the result of a tool that ended after it was stopped at its time limit. The result may be partial or
 * complete, so the model must be informed that the tool was stopped.
 */
function resultAfterTimeout(name: string, timeoutMs: number, envelope: Envelope): Envelope {
  const text = envelope.type === 'error' ? envelope.error_text : serializeToolOutput(envelope.data)
  return errorEnvelope(
    `Tool "${name}" did not finish within ${timeoutMs} ms (toolTimeoutMs) and was stopped. Its output until then:\n${text}`,
    { ...envelope.metadata, timed_out: true },
  )
}

function contextFor(state: CallState, life: CallLife): ToolCallContext | Promise<ToolCallContext> {
  const { parts, authority, expanded } = state
  if (authority === undefined || expanded === undefined) return contextWith(state, life, undefined)
  const runtime = parts.runtimeFor?.(new CallRuntime(state, life, expanded.call, authority))
  return isThenable(runtime)
    ? Promise.resolve(runtime).then((known) => contextWith(state, life, known))
    : contextWith(state, life, runtime)
}

/** A class, because an object with getters takes three times as long to create. */
class CallRuntime implements RuntimeRequest {
  readonly callId: string
  readonly call: Call
  readonly authority: Authority
  readonly origin: RuntimeRequest['origin']
  readonly request: GateCall
  readonly writer: boolean
  readonly #state: CallState
  readonly #life: CallLife

  constructor(state: CallState, life: CallLife, call: Call, authority: Authority) {
    const { request } = state
    this.callId = state.id
    this.call = call
    this.authority = authority
    this.origin = request.origin
    this.request = request
    this.writer = state.writer === true || request.insideWriter === true
    this.#state = state
    this.#life = life
  }

  get signal(): AbortSignal {
    return this.#life.signal
  }

  get hasEnded(): boolean {
    return this.#life.isOver
  }

  endRun(error: unknown): void {
    this.#state.fatal ??= { error }
  }
}

function contextWith(
  state: CallState,
  { deadline: signal }: CallLife,
  runtime: ToolRuntime | undefined,
): ToolCallContext {
  const { parts, request, run } = state
  const context: ToolCallContext = {
    signal,
    now: parts.now,
    approvals: approvalsInside(state),
    ...toolCallIdOf(request),
  }
  if (runtime !== undefined) context.runtime = runtime
  if (run !== undefined) context.run = run
  if (state.pins !== undefined) context.pins = state.pins
  if (request.progress !== undefined) context.progress = request.progress
  if (request.emitStreamEvent !== undefined)
    context.emitStreamEvent = (event) => request.emitStreamEvent?.(event, state.id)
  return context
}

/**
 * Returns the milliseconds since the call reached the gate; 0 when the clock fails, which the record already states.
 */
export function elapsed({ parts, start }: CallState): number {
  try {
    return Math.max(0, Math.round(parts.now() - start))
  } catch {
    return 0
  }
}
