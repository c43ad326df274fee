import type { CompletionUsage, Message } from '../../tool/completion.js'
import { Usage } from '../../tool/message.js'
import { type ArgumentProblem, listProblems } from '../../tool/problem.js'
import { unlessAborted } from '../../tool/unless-aborted.js'
import type { Validate } from '../../tool/validation.js'
import { ModelError } from '../errors.js'
import type { ModelAnswer, ModelFacts } from '../model.js'
import { ObjectGenerationError } from './errors.js'
import { askAgain, askFor, modeOf, type ObjectAsk, type ObjectWay, waysFor } from './object-asks.js'
import type { GeneratedObject, ObjectRequest, PartialObject } from './object-request.js'
import { readings } from './object-shape.js'
import { type ObjectTask, readObjectTask, schemaCheck } from './object-task.js'
import { createPartialObjects, type PartialObjects, type ReceivedPiece } from './partial-objects.js'
import { readObjectAnswer } from './read-answer.js'

export type ObjectAnswer = Pick<ModelAnswer, 'content' | 'text' | 'toolCalls' | 'finish' | 'usage'>

/** How requests are sent, and how partial results are received. */
export type ObjectParts<Value = unknown> = {
  readonly facts: Pick<ModelFacts, 'tools' | 'structuredOutput'>
  /** Sends one request to the model. Pieces of the answer are passed to `hear` as they arrive. */
  ask(request: ObjectAsk, signal: AbortSignal, hear: (piece: ReceivedPiece) => void): Promise<ObjectAnswer>
  /** Checks and converts an answer. Default: a check against the schema of the request. */
  readonly check?: Validate<Value> | undefined
  readonly onPartial?: ((partial: PartialObject) => void) | undefined
  readonly signal?: AbortSignal | undefined
  now(): number
}

/**
 * Requests a value that matches a JSON Schema from a model. An answer that does not match is sent back with its
 * problems, a limited number of times; then it throws {@link ObjectGenerationError}.
 */
export async function generateObject<Value = unknown>(
  request: ObjectRequest,
  parts: ObjectParts<Value>,
): Promise<GeneratedObject<Value>> {
  const task = readObjectTask(request)
  // By passing the schema, the caller asserts that a value that matches it is a `Value`.
  const check = parts.check ?? (schemaCheck(task.shape.schema) as Validate<Value>)
  const clock = startClock(task.timeoutMs, parts.signal)
  const state: State = { ways: waysLeft(task, parts.facts), said: [], usage: Usage.empty(), repairs: 0 }
  try {
    return await untilItFits(task, { ...parts, check }, state, clock.signal)
  } catch (error) {
    throw clock.isOver() ? tooLate(task, state) : error
  } finally {
    clock.stop()
  }
}

/**
 * The state of a generation: the current and the remaining ways to ask the model, the messages so far, and the usage.
 */
type State = {
  ways: readonly ObjectWay[]
  readonly said: Message[]
  usage: CompletionUsage
  repairs: number
  rawText?: string
}

async function untilItFits<Value>(
  task: ObjectTask,
  parts: ObjectParts<Value> & { readonly check: Validate<Value> },
  state: State,
  signal: AbortSignal,
): Promise<GeneratedObject<Value>> {
  for (;;) {
    const partials = follow(task, parts, state.repairs)
    const answer = await askInSomeWay(task, parts, state, signal, partials)
    state.usage = Usage.add(state.usage, answer.usage)
    const judged = await unlessAborted(judge(task, answer, parts.check), signal)
    state.rawText = judged.rawText
    if (judged.ok) {
      partials?.end({ value: judged.written })
      const { usage, repairs: repairAttempts } = state
      return { object: judged.value, mode: modeNow(state), repairAttempts, usage, rawText: judged.rawText }
    }
    partials?.end()
    if (state.repairs >= task.maxRepairAttempts) throw neverFitted(task, state, judged)
    state.repairs++
    state.said.push(...askAgain(answer, judged.problem))
    // A server can accept a schema but ignore it, so that the model never gets it: use the next way.
    if (judged.isNoJson && state.ways[0] === 'native' && state.ways.length > 1)
      state.ways = state.ways.slice(1)
  }
}

function follow<Value>(
  task: ObjectTask,
  parts: ObjectParts<Value>,
  repairAttempt: number,
): PartialObjects | undefined {
  const { onPartial } = parts
  if (onPartial === undefined) return undefined
  return createPartialObjects({
    wrapped: task.shape.wrapped,
    now: () => parts.now(),
    emit: (value) => {
      // Pieces that arrived together are still processed after the listener has aborted.
      if (parts.signal?.aborted !== true) onPartial({ value, repairAttempt })
    },
  })
}

/**
 * Sends a request. If the provider rejects it, the next way is used; when no way is left, the first rejection is
 * thrown.
 */
async function askInSomeWay<Value>(
  task: ObjectTask,
  parts: ObjectParts<Value>,
  state: State,
  signal: AbortSignal,
  partials: PartialObjects | undefined,
): Promise<ObjectAnswer> {
  let refusal: unknown
  for (let ways = state.ways; ; ways = ways.slice(1)) {
    const way = ways[0]
    if (way === undefined) throw refusal
    try {
      const asked = parts.ask(askFor(task, way, state.said), signal, (piece) => partials?.hear(piece))
      const answer = await unlessAborted(asked, signal)
      state.ways = ways
      return answer
    } catch (error) {
      if (!(error instanceof ModelError) || error.code !== 'model_request_refused' || error.emitted)
        throw error
      refusal ??= error
      noteRefusal(parts.facts, way, error)
    }
  }
}

/** The ways that a model's server does not support, by the facts of that model. They are not tried again. */
const unknownTo = new WeakMap<object, Set<ObjectWay>>()

function noteRefusal(facts: object, way: ObjectWay, { message }: ModelError): void {
  // If only this schema is rejected, others may still be accepted.
  if (!/response_format|tool_choice/.test(message) || /invalid schema/i.test(message)) return
  const known = unknownTo.get(facts) ?? new Set()
  unknownTo.set(facts, known.add(way))
}

function waysLeft({ mode }: ObjectTask, facts: ObjectParts['facts']): readonly ObjectWay[] {
  const ways = waysFor(mode, facts)
  const left = ways.filter((way) => unknownTo.get(facts)?.has(way) !== true)
  return left.length === 0 ? ways : left
}

type Judged<Value> = { readonly rawText: string } & (
  | { readonly ok: true; readonly value: Value; readonly written: unknown }
  | {
      readonly ok: false
      /** A message for the model. */
      readonly problem: string
      readonly issues: readonly ArgumentProblem[]
      readonly isNoJson: boolean
      readonly truncated: boolean
    }
)

async function judge<Value>(
  { toolName, shape }: ObjectTask,
  answer: ObjectAnswer,
  check: Validate<Value>,
): Promise<Judged<Value>> {
  const read = readObjectAnswer(answer, toolName)
  const { rawText } = read
  if (!read.ok) {
    const { problem, truncated } = read
    return {
      ok: false,
      rawText,
      problem,
      truncated,
      isNoJson: true,
      issues: [{ path: [], message: problem }],
    }
  }
  let refused: Judged<Value> | undefined
  for (const written of readings(shape, read.value)) {
    const checked = await check(written)
    if (checked.ok) return { ok: true, rawText, value: checked.value, written }
    const list = listProblems(checked.problems, written, 'the whole')
    refused ??= {
      ok: false,
      rawText,
      problem: `Your answer does not fit the schema:\n${list}\nWrite the whole answer again, corrected.`,
      issues: checked.problems,
      isNoJson: false,
      truncated: false,
    }
  }
  return refused ?? { ok: false, rawText, problem: '', issues: [], isNoJson: true, truncated: false }
}

function neverFitted<Value>(
  { maxRepairAttempts }: ObjectTask,
  state: State,
  { problem, issues, truncated, rawText }: Extract<Judged<Value>, { ok: false }>,
): ObjectGenerationError {
  const after =
    maxRepairAttempts === 0 ? 'No repair was allowed' : `${maxRepairAttempts} repair attempt(s) did not help`
  return new ObjectGenerationError(
    'object_invalid',
    `The model returned no object that fits the schema. ${after}. The problems of its last answer:\n${problem}`,
    { issues, mode: modeNow(state), repairAttempts: state.repairs, usage: state.usage, rawText, truncated },
  )
}

function tooLate({ timeoutMs }: ObjectTask, state: State): ObjectGenerationError {
  const { repairs: repairAttempts, usage, rawText } = state
  return new ObjectGenerationError(
    'object_timeout',
    `There was no object within ${timeoutMs} ms, after ${repairAttempts} repair attempt(s). Allow more time, or ask for less.`,
    { mode: modeNow(state), repairAttempts, usage, rawText },
  )
}

function modeNow({ ways }: State): GeneratedObject['mode'] {
  return modeOf(ways[0] ?? 'prompt')
}

/** Combines the caller's signal with a timeout. */
function startClock(
  timeoutMs: number,
  signal: AbortSignal | undefined,
): { readonly signal: AbortSignal; isOver(): boolean; stop(): void } {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(new DOMException('the time is up', 'TimeoutError')), timeoutMs)
  return {
    signal: signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]),
    // The timeout counts only if the caller did not abort.
    isOver: () => late.signal.aborted && signal?.aborted !== true,
    stop: () => clearTimeout(timer),
  }
}
