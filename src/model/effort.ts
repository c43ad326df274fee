import type { CompletionRequest } from '../tool/completion.js'
import type { ModelFacts, ReasoningLevel } from './model.js'

/** How much a model should reason: a level, or not at all. */
export type ReasoningEffort = ReasoningLevel | 'none'

/** All levels, in ascending order. */
export const reasoningEfforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

/**
 * Returns the level that a request asks for, limited to those of the model: the next lower one if the model does not
 * have it, otherwise its lowest. A token budget is converted to a level. Undefined: the request asks for none, or the
 * model cannot reason.
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

/** Returns the token budget of a level, for models that accept a number. */
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

/**
 * Converts a budget to a level, for providers that do not accept tokens. The thresholds match common budgets of other
 * providers.
 */
function effortOfBudget(budget: number): ReasoningEffort {
  if (budget <= 0) return 'none'
  if (budget < 1_024) return 'minimal'
  if (budget <= 4_096) return 'low'
  return budget <= 16_384 ? 'medium' : 'high'
}

function isEffort(value: unknown): value is ReasoningEffort {
  return typeof value === 'string' && (reasoningEfforts as readonly string[]).includes(value)
}
