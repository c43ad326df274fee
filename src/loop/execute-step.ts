import type { AnyGovernedTool, ToolCallContext } from '../tool/contract.js'
import { type Envelope, errorEnvelope } from '../tool/envelope.js'
import { serializeToolOutput } from '../tool/serialize.js'
import { approvalsInside, toolCallIdOf } from './approval-step.js'
import { type Ended, withDeadline } from './deadline.js'
import type { CallState, Ready } from './gate.js'
import { writtenPaths } from './write-order.js'

/** An abort is over within two seconds, also with a tool that does not listen. */
const stopGraceMs = 1_750
/** One for all: making an exception costs more than a whole check. */
const callIsOver = new DOMException('the call is over', 'AbortError')

/**
 * Runs the work under its deadline, in its lane, with a runtime that ends with the call. `checked` is what was judged: arguments that
 * are no longer that do not run.
 */
export async function execute(
  passage: CallState,
  tool: AnyGovernedTool,
  ready: Ready,
  checked: string,
): Promise<Envelope> {
  passage.step = 'execute'
  const { parts, request } = passage
  const usualMs = tool.ownTime ? undefined : parts.toolTimeoutMs
  const ownMs = request.timeoutMs ?? usualMs ?? Number.POSITIVE_INFINITY
  const starting = () =>
    parts.starting?.({
      callId: passage.id,
      toolName: tool.name,
      origin: request.origin,
      args: checked,
      idempotent: tool.idempotent,
      ...(request.toolCallId !== undefined && { toolCallId: request.toolCallId }),
      ...(request.inside !== undefined && { inside: request.inside }),
    })
  const run = async (laneMs = Number.POSITIVE_INFINITY): Promise<Envelope> => {
    const timeoutMs = tool.ownTime ? ownMs : Math.min(ownMs, laneMs)
    const alive = parts.runtimeFor === undefined ? undefined : new AbortController()
    let started = false
    let stopped: AbortSignal | undefined
    const work = async (signal: AbortSignal): Promise<Envelope> => {
      stopped = signal
      // What was judged, shown and approved is what runs: nobody on the way may have changed it.
      if (serializeToolOutput(ready.args) !== checked)
        return errorEnvelope('Refused: the arguments changed while the call was judged.')
      await starting()
      started = true
      if (alive !== undefined)
        signal.addEventListener('abort', () => alive.abort(signal.reason), { once: true })
      return ready.run(await contextFor(passage, signal, alive?.signal ?? signal))
    }
    let ended: Ended<Envelope>
    try {
      const graceMs = parts.stopGraceMs ?? stopGraceMs
      ended = await withDeadline(work, { signal: request.signal, timeoutMs, graceMs })
    } finally {
      // A tool that was left behind, or kept its runtime, can do nothing more with it.
      alive?.abort(callIsOver)
    }
    if (ended.how === 'done')
      return stopped !== undefined && isTimeout(stopped)
        ? stoppedInTime(request.name, timeoutMs, ended.result)
        : ended.result
    const why =
      ended.how === 'timeout'
        ? `did not finish within ${timeoutMs} ms`
        : 'was stopped because the run was aborted'
    if (!started) return errorEnvelope(`Tool "${request.name}" was not run: the run was aborted.`)
    return errorEnvelope(`Tool "${request.name}" ${why}; what it had already done may remain.`, {
      duration_ms: elapsed(passage),
      ...(ended.how === 'timeout' && { timed_out: true }),
    })
  }
  if (request.place !== undefined && !(await request.place.turn()))
    return errorEnvelope(`Tool "${request.name}" was not run: the run was ended by another call.`)
  const leave = await enterWriteOrder(passage)
  try {
    if (parts.lane === undefined) return await run()
    const { origin, signal } = request
    const call = { tool, args: checked, origin, starting, ...(signal !== undefined && { signal }) }
    return await parts.lane(call, run)
  } finally {
    leave?.()
  }
}

/**
 * Waits for the session's earlier calls that write the same files. A call inside a call that writes does not wait: the outer call
 * would wait for it in turn.
 */
async function enterWriteOrder(passage: CallState): Promise<(() => void) | undefined> {
  const { parts, request, expanded } = passage
  if (parts.writes === undefined || request.insideWriter === true || expanded === undefined) return undefined
  const paths = writtenPaths(expanded.subjects)
  if (paths.length === 0) return undefined
  passage.writer = true
  return parts.writes.enter(paths, request.signal)
}

function isTimeout({ reason }: AbortSignal): boolean {
  return reason instanceof DOMException && reason.name === 'TimeoutError'
}

/** It heard that its time was up, and ended. What it says may be a part, or all of it: the model must know that it is late. */
function stoppedInTime(name: string, timeoutMs: number, envelope: Envelope): Envelope {
  const text = envelope.type === 'error' ? envelope.error_text : serializeToolOutput(envelope.data)
  return errorEnvelope(
    `Tool "${name}" did not finish within ${timeoutMs} ms (toolTimeoutMs) and was told to stop. What it gave then:\n${text}`,
    { ...envelope.metadata, timed_out: true },
  )
}

async function contextFor(
  passage: CallState,
  signal: AbortSignal,
  alive: AbortSignal,
): Promise<ToolCallContext> {
  const { parts, request, authority, expanded, run } = passage
  const runtime =
    authority &&
    expanded &&
    (await parts.runtimeFor?.({
      call: expanded.call,
      authority,
      signal: alive,
      origin: request.origin,
      request,
      writer: passage.writer === true || request.insideWriter === true,
      endRun: (error) => {
        passage.fatal ??= { error }
      },
    }))
  return {
    signal,
    now: parts.now,
    ...(runtime === undefined ? {} : { runtime }),
    ...(run === undefined ? {} : { run }),
    ...(passage.pins === undefined ? {} : { pins: passage.pins }),
    approvals: approvalsInside(passage),
    ...toolCallIdOf(request),
    ...(request.progress === undefined ? {} : { progress: request.progress }),
    ...(request.emitStreamEvent === undefined
      ? {}
      : { emitStreamEvent: (event) => request.emitStreamEvent?.(event, passage.id) }),
  }
}

/** Milliseconds since the call came to the gate; none when the clock fails, which the record has said already. */
export function elapsed({ parts, start }: CallState): number {
  try {
    return Math.max(0, Math.round(parts.now() - start))
  } catch {
    return 0
  }
}
