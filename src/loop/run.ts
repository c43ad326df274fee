import type { ModelAnswer } from '../model/model.js'
import { unlessAborted } from '../model/unless-aborted.js'
import type { Message, UserMessage } from '../tool/completion.js'
import { messageOf } from '../tool/errors.js'
import { askModel, keepAnswer } from './ask-model.js'
import { callTools, refuseCalls } from './call-tools.js'
import { compactConversation } from './compaction/compact.js'
import { MaxTurnsError } from './errors.js'
import type { CallingAnswer, RunParts, UnfinishedRound } from './run-parts.js'
import { beginRun, type RunClock, type RunState, startClock } from './run-state.js'
import type { Usage } from './usage.js'

/** What a run came to. */
export type RunOutcome = {
  readonly text: string
  readonly finish: ModelAnswer['finish'] | 'stop_condition'
  readonly usage: Usage
  /** Absent when the model's price is not known. */
  readonly costUsd?: number | undefined
  readonly rounds: number
  readonly toolCallsCount: number
  /** What this run added to the conversation, its prompt included. */
  readonly messages: readonly Message[]
}

/**
 * The one loop: the model answers, its calls walk the gate, and so on until it calls no tool, a limit is met, or the run is
 * aborted. The prompt is in the conversation before the model is asked; whatever happens, every call that was written there has a
 * result. Without a prompt it goes on from where the conversation stands.
 */
export async function run(parts: RunParts, prompt?: UserMessage): Promise<RunOutcome> {
  const clock = startClock(parts)
  const state = beginRun(parts, clock, prompt)
  const before = parts.conversation.messages.length
  try {
    clock.signal.throwIfAborted()
    if (prompt !== undefined) await parts.conversation.append(prompt, parts.promptFacts)
    const finish = await rounds(state, clock)
    // It ends here whatever is found.
    if (finish === 'stop_condition') await lookAtWork(state, clock, finish)
    // What came too late for this run is read in the next.
    await takeSteering(state)
    return outcomeOf(state, finish, parts.conversation.messages.slice(before))
  } catch (error) {
    await keepSteering(state)
    // What an aborted run throws on its way out is only the noise of stopping.
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
      if (await goesOn(state, answer)) continue
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

/** The calls of an answer, and what comes behind them. True when the run is to stop there. */
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

/** Whether there is more to come although no tool was called: a message came in, or the answer was cut off, or there was none. */
async function goesOn(state: RunState, answer: ModelAnswer): Promise<boolean> {
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
    ? 'Your answer was cut off by the output limit. Go on exactly where it stopped, without repeating anything.'
    : 'Your last answer was empty. Answer in words, or call a tool.'
  await state.parts.conversation.append({ role: 'user', content: [{ type: 'text', text }] })
  return true
}

/** Whether whoever looks at the work, or speaks up meanwhile, sends the model back to it. */
async function isSentBack(state: RunState, clock: RunClock, finish: ModelAnswer['finish']): Promise<boolean> {
  if (state.parts.beforeDone === undefined) return false
  const message = await lookAtWork(state, clock, finish)
  if (message !== undefined) await state.parts.conversation.append(message)
  const goesOn = (await takeSteering(state)) || message !== undefined
  if (goesOn) state.text = ''
  return goesOn
}

/** What is looked at has time limits of its own: it is no part of a round. */
async function lookAtWork(
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

/** Whoever was told that their message is taken finds it in the history, whatever became of the run. */
async function keepSteering(state: RunState): Promise<void> {
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
    ...(state.costUsd !== undefined && { costUsd: state.costUsd }),
  }
}
