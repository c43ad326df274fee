import type { ModelError } from '../../model/errors.js'
import { estimateTokens } from '../../model/estimate-tokens.js'
import type { Model } from '../../model/model.js'
import type { Message } from '../../tool/completion.js'
import { messageOf } from '../../tool/errors.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { type ContextGauge, gaugeOf, tokensUsed } from '../context-gauge.js'
import { RunError } from '../errors.js'
import { type RunState, textOf } from '../run-state.js'
import { prune } from './prune.js'
import { type CompactionSettings, defaultCompaction } from './settings.js'
import { type Ask, summarise } from './summarise.js'
import { tailStart } from './tail.js'

export type { Ask }

/** Why compaction must happen now, regardless of the threshold. */
export type Forced =
  | { readonly tooLong: ModelError }
  | {
      readonly asked: true
      /** What the summary must cover in any case, in the user's words. */
      readonly focus?: string | undefined
    }

/**
 * Makes a conversation fit its model again: first by removing large old outputs, and if that is not enough by a
 * summary of all but the last turns. Only the view changes, not the history. The size afterwards decides: after two
 * failures in a row the run ends, because compaction would fail again. Returns whether anything changed.
 */
export async function compactConversation(state: RunState, ask: Ask, forced?: Forced): Promise<boolean> {
  const { parts } = state
  const settings = parts.compaction
  if (settings === undefined) return false
  const { conversation } = parts
  const gauge = gaugeOf(conversation)
  const limit = usableTokens(parts.model(), settings)
  const fixed = await fixedTokens(state)
  const used = tokensUsed(gauge, conversation.view, fixed)
  const manual = forced !== undefined && 'asked' in forced
  const focus = manual ? forced.focus : undefined
  if (forced === undefined && used < limit) return false
  if (!settings.auto && !manual) return false
  if (!manual && gauge.failedCompactions >= maxFailures)
    throw tooLarge(
      gauge,
      used,
      limit,
      new Error('the provider still counts too many tokens after each summary'),
    )
  try {
    await parts.observe?.('pre_compact', {
      message_count: conversation.view.length,
      tokens: used,
      trigger: forced === undefined ? 'threshold' : manual ? 'command' : 'overflow',
      ...omitUndefined({ focus }),
    })
  } catch (error) {
    parts.emit({ type: 'compaction_failed', error: `a hook blocked it: ${messageOf(error)}` })
    return false
  }
  const before = { tokens: used, messages: conversation.view.length, percent: percentOf(used, parts.model()) }
  const estimate = (view: readonly Message[]): number =>
    fixed + estimateTokens({ chatHistory: view as Message[] })
  // Estimates are only compared with each other and scaled to the provider's count.
  const scale = used / Math.max(1, estimate(conversation.view))
  const measure = (view: readonly Message[]): number => Math.ceil(estimate(view) * scale)

  const pruned = prune(conversation.view)
  const smaller = measure(pruned)
  const enough = limit * enoughShare
  if (!manual && smaller < used && smaller <= enough) {
    await show(state, pruned, before, smaller, 'pruned')
    return true
  }
  try {
    const tail = manual
      ? conversation.view.length
      : tailStart(pruned, tailTurns(settings), tailBudget(settings, limit))
    if (tail === 0) throw new Error('there is nothing before the last turns that could be summarised')
    const summary = await summarise(state, ask, pruned.slice(0, tail), pruned.slice(tail), focus)
    const view: Message[] = [summary, ...pruned.slice(tail)]
    const after = measure(view)
    const problem =
      after >= used
        ? `with a summary it would have ${after} tokens instead of ${used}`
        : !manual && after > limit
          ? `with a summary it would have ${after} tokens, and ${limit} fit`
          : undefined
    if (problem !== undefined && manual) return unchanged(state, problem)
    if (problem !== undefined) throw new Error(problem)
    await show(state, view, before, after, 'summarised', textOf(summary))
    // The provider's next count shows whether the conversation really fits. Not checked for a manual compaction,
    // which does not need to reach the limit.
    if (manual) gauge.failedCompactions = 0
    else gauge.room = limit
    return true
  } catch (error) {
    if (state.signal.aborted) throw error
    if (!manual) return failed(state, error, used, limit)
    unchanged(state, messageOf(error))
    throw error
  }
}

/** Estimates how many tokens pruning would save in a conversation. */
export function pruneSavings(view: readonly Message[]): number {
  return estimateTokens({ chatHistory: [...view] }) - estimateTokens({ chatHistory: prune(view) })
}

/** Returns how many tokens of the model's window a request can use. */
export function usableTokens({ facts }: Model, { threshold }: CompactionSettings): number {
  const reserve = Math.min(
    maxReserveTokens,
    facts.outputTokens ?? facts.contextTokens / 5,
    facts.contextTokens / 2,
  )
  return Math.floor(Math.min(facts.contextTokens * threshold, facts.contextTokens - reserve))
}

const maxReserveTokens = 20_000
/**
 * Pruning must reduce the conversation to this share of the limit; otherwise it breaks the cached prefix for little
 * gain.
 */
const enoughShare = 0.6

function tailTurns({ tailTurns: turns }: CompactionSettings): number {
  return turns ?? defaultCompaction.tailTurns
}

function tailBudget({ tailShare }: CompactionSettings, limit: number): number {
  return limit * (tailShare ?? defaultCompaction.tailShare)
}

async function fixedTokens(state: RunState): Promise<number> {
  const instructions = await state.parts.instructions()
  const tools = (await state.parts.tools?.(state.goal, state.rounds)) ?? []
  return estimateTokens({
    chatHistory: [],
    tools: [...tools],
    ...omitUndefined({ instructions }),
  })
}

function percentOf(tokens: number, { facts }: Model): number {
  return Math.round((tokens / facts.contextTokens) * 100)
}

async function show(
  { parts }: RunState,
  view: readonly Message[],
  before: { readonly tokens: number; readonly messages: number; readonly percent: number },
  afterTokens: number,
  how: 'pruned' | 'summarised',
  summary?: string,
): Promise<void> {
  await parts.conversation.compact(view, how === 'summarised')
  gaugeOf(parts.conversation).counted = undefined
  parts.emit({
    type: 'context_compacted',
    how,
    beforeMessages: before.messages,
    afterMessages: view.length,
    beforeTokens: before.tokens,
    afterTokens,
    percentBefore: before.percent,
    ...omitUndefined({ summary }),
  })
  await parts.observe?.('post_compact', { before_messages: before.messages, after_messages: view.length })
}

/** Reports a failure. One of a manual compaction is not counted, because the conversation still fits. */
function unchanged({ parts }: RunState, why: string): false {
  parts.emit({ type: 'compaction_failed', error: why })
  return false
}

function failed(state: RunState, error: unknown, used: number, limit: number): boolean {
  const gauge = gaugeOf(state.parts.conversation)
  gauge.failedCompactions++
  unchanged(state, messageOf(error))
  if (gauge.failedCompactions < maxFailures) return false
  throw tooLarge(gauge, used, limit, error)
}

const maxFailures = 2

function tooLarge(gauge: ContextGauge, used: number, limit: number, error: unknown): RunError {
  gauge.failedCompactions = 0
  return new RunError(
    'compaction_failed',
    `The conversation has about ${used} tokens, ${limit} fit (autoCompactThreshold of the model's window), and compaction failed twice in a row: ${messageOf(error)}. Start a new session, or use a model with a larger window.`,
    { cause: error },
  )
}
