import type { CompletionRequest } from '../tool/completion.js'
import type { ModelFacts, ReasoningLevel } from './model.js'

/** How much a model should reason: a level, or not at all. */
export type ReasoningEffort = ReasoningLevel | 'none'

/** All levels, from little to much. */
export const reasoningEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

/**
 * Returns the level that a request asks for, as the model has it: the next lower one where the model does not have it,
 * else its lowest. A budget of tokens is a level too. Undefined: the request asks for none, or the model cannot reason.
 */
export function effortFor(
  { additionalParams }: Pick<CompletionRequest, 'additionalParams'>,
  { reasoning, reasoningLevels = [] }: Pick<ModelFacts, 'reasoning' | 'reasoningLevels'>,
): ReasoningEffort | undefined {
  const { reasoningEffort, thinkingBudget } = additionalParams ?? {}
  const wanted = isEffort(reasoningEffort)
    ? reasoningEffort
    : typeof thinkingBudget === 'number'
      ? effortOfBudget(thinkingBudget)
      : undefined
  if (wanted === undefined || !reasoning) return undefined
  if (wanted === 'none' || reasoningLevels.length === 0) return wanted
  const rank = reasoningEfforts.indexOf(wanted)
  return reasoningLevels.findLast((level) => reasoningEfforts.indexOf(level) <= rank) ?? reasoningLevels[0]
}

/** Returns how many tokens a level is, for models that are given a number. */
export function budgetOfEffort(effort: ReasoningEffort): number {
  return budgets[effort]
}

const budgets: Readonly<Record<ReasoningEffort, number>> = {
  none: 0,
  minimal: 1_024,
  low: 4_096,
  medium: 16_384,
  high: 32_768,
  xhigh: 49_152,
  max: 63_999,
}

/** Providers with levels do not accept tokens; the limits match common budgets of other providers. */
function effortOfBudget(budget: number): ReasoningEffort {
  if (budget <= 0) return 'none'
  if (budget < 1_024) return 'minimal'
  if (budget <= 4_096) return 'low'
  return budget <= 16_384 ? 'medium' : 'high'
}

function isEffort(value: unknown): value is ReasoningEffort {
  return typeof value === 'string' && (reasoningEfforts as readonly string[]).includes(value)
}
