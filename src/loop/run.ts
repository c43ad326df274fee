import type { ModelAnswer } from '../model/model.js'
import type { Message, UserMessage } from '../tool/completion.js'
import { messageOf } from '../tool/errors.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import { unlessAborted } from '../tool/unless-aborted.js'
import { askModel, keepAnswer } from './ask-model.js'
import { callTools, refuseCalls } from './call-tools.js'
import { compactConversation } from './compaction/compact.js'
import { MaxTurnsError } from './errors.js'
import type { CallingAnswer, RunParts, UnfinishedRound } from './run-parts.js'
import { beginRun, type RunClock, type RunState, startClock } from './run-state.js'
import type { Usage } from './usage.js'

/** The outcome of a run. */
export type RunOutcome = {
  readonly text: string
  readonly finish: ModelAnswer['finish'] | 'stop_condition'
  readonly usage: Usage
  /** Absent when the model's price is not known. */
  readonly costUsd?: number | undefined
  /** The fallback model that gave the last answer, as `provider/model`; absent when the model of the run gave it. */
  readonly fallbackModel?: string | undefined
  readonly rounds: number
  readonly toolCallsCount: number
  /** The messages that this run added to the conversation, its prompt included. */
  readonly messages: readonly Message[]
}

/**
 * Runs the one loop: the model answers, its calls pass the gate, and so on until it calls no tool, a limit is reached,
 * or the run is aborted. The prompt is in the conversation before the model is asked, and every call in the
 * conversation gets a result. Without a prompt the run continues from the end of the conversation.
 */
export async function run(parts: RunParts, prompt?: UserMessage): Promise<RunOutcome> {
  const clock = startClock(parts)
  const state = beginRun(parts, clock, prompt)
  const before = parts.conversation.messages.length
  try {
    clock.signal.throwIfAborted()
    if (prompt !== undefined) await parts.conversation.append(prompt, parts.promptFacts)
    const finish = await rounds(state, clock)
    // The run ends here, regardless of the result of the check.
    if (finish === 'stop_condition') await checkWork(state, clock, finish)
    // Messages that arrived too late for this run are read in the next one.
    await takeSteering(state)
    return outcomeOf(state, finish, parts.conversation.messages.slice(before))
  } catch (error) {
    await saveSteering(state)
    // The errors of an aborted run are only a consequence of the abort.
    throw clock.signal.aborted ? clock.signal.reason : error
  } finally {
    clock.stop()
  }
}

async function rounds(state: RunState, clock: RunClock): Promise<RunOutcome['finish']> {
  const { unfinished, unseen } = state.parts
  if (unseen !== undefined) {
    state.text = unseen
    if (!(await isSentBack(state, clock, 'stop'))) return 'stop'
  }
  if (unfinished !== undefined) {
    clock.round()
    if (await finishRound(state, unfinished.answer, unfinished.settled)) return 'stop_condition'
  }
  for (;;) {
    clock.signal.throwIfAborted()
    clock.round()
    await compactConversation(state, run)
    state.rounds++
    state.parts.emit({ type: 'turn_start', turn: state.rounds })
    const answer = await askModel(state, run)
    await keepAnswer(state, answer)
    if (answer.toolCalls.length === 0) {
      if (await continues(state, answer)) continue
      if (await isSentBack(state, clock, answer.finish)) continue
      return answer.finish
    }
    if (state.toolRounds >= state.limits.maxToolRounds) {
      await refuseCalls(state, answer, 'the run has used all of its tool rounds')
      const { roundsOption = 'maxToolRounds', conversation } = state.parts
      throw new MaxTurnsError(state.limits.maxToolRounds, roundsOption, [...conversation.messages])
    }
    if (await finishRound(state, answer)) return 'stop_condition'
  }
}

/** Makes the calls of an answer and ends the round. Returns true when the run must stop there. */
async function finishRound(
  state: RunState,
  answer: CallingAnswer,
  settled?: UnfinishedRound['settled'],
): Promise<boolean> {
  state.text = ''
  await callTools(state, answer, settled)
  state.toolRounds++
  const { rounds: round, toolCallsCount } = state
  await state.parts.roundDone?.({
    round,
    toolCallsCount,
    messages: state.parts.conversation.messages.length,
    usage: state.usage,
  })
  if (await shouldStop(state, answer)) return true
  await takeSteering(state)
  return false
}

/** Returns whether the run continues without a tool call: a message arrived, or the answer was cut off or empty. */
async function continues(state: RunState, answer: ModelAnswer): Promise<boolean> {
  state.text += answer.text
  if (await takeSteering(state)) {
    state.text = ''
    return true
  }
  const { continuationEnabled, maxContinuationTurns } = state.limits
  const cutOff = answer.finish === 'length'
  const nothing = state.text.trim() === '' && answer.finish !== 'content_filter'
  if (!cutOff && !nothing) return false
  if (!continuationEnabled || state.continuations >= maxContinuationTurns) {
    if (nothing) state.parts.emit({ type: 'notice', source: 'model', message: 'The model answered nothing.' })
    return false
  }
  state.continuations++
  const text = cutOff
    ? 'Your answer was cut off by the output limit. Continue exactly where it stopped, without repeating anything.'
    : 'Your last answer was empty. Answer in words, or call a tool.'
  await state.parts.conversation.append({ role: 'user', content: [{ type: 'text', text }] })
  return true
}

/** Returns whether the check of the work, or a message that arrived meanwhile, makes the model continue. */
async function isSentBack(state: RunState, clock: RunClock, finish: ModelAnswer['finish']): Promise<boolean> {
  if (state.parts.beforeDone === undefined) return false
  const message = await checkWork(state, clock, finish)
  if (message !== undefined) await state.parts.conversation.append(message)
  const isSent = (await takeSteering(state)) || message !== undefined
  if (isSent) state.text = ''
  return isSent
}

/** Checks the work, outside of the time limit of a round: the check has its own time limits. */
async function checkWork(
  { parts, text, signal }: RunState,
  clock: RunClock,
  finish: RunOutcome['finish'],
): Promise<UserMessage | undefined> {
  if (parts.beforeDone === undefined) return undefined
  clock.rest()
  const message = await parts.beforeDone({ text, finish, signal })
  signal.throwIfAborted()
  return message
}

async function takeSteering({ parts }: RunState): Promise<boolean> {
  const messages = parts.takeSteering?.() ?? []
  for (const message of messages) {
    await parts.conversation.append(message)
    parts.emit({
      type: 'steered',
      prompt: message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n'),
    })
  }
  return messages.length > 0
}

/** Saves the messages that were accepted while a run failed, so that their senders find them in the history. */
async function saveSteering(state: RunState): Promise<void> {
  try {
    await takeSteering(state)
  } catch (error) {
    state.parts.emit({ type: 'notice', source: 'steer', message: `A message was lost: ${messageOf(error)}` })
  }
}

async function shouldStop(state: RunState, answer: CallingAnswer): Promise<boolean> {
  for (const condition of state.parts.stopWhen ?? []) {
    const asked = condition({
      rounds: state.rounds,
      toolCallsCount: state.toolCallsCount,
      usage: state.usage,
      text: answer.text,
      calls: answer.toolCalls,
      elapsedMs: state.parts.now() - state.startedAt,
    })
    const stop = typeof asked === 'object' ? await unlessAborted(asked, state.signal) : asked
    if (stop) {
      state.text = answer.text
      return true
    }
  }
  return false
}

function outcomeOf(state: RunState, finish: RunOutcome['finish'], messages: readonly Message[]): RunOutcome {
  return {
    text: state.text,
    finish,
    usage: state.usage,
    rounds: state.rounds,
    toolCallsCount: state.toolCallsCount,
    messages,
    ...omitUndefined({ costUsd: state.costUsd, fallbackModel: state.fallbackModel }),
  }
}
