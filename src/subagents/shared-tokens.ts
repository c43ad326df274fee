import type { Budget } from '../loop/budget.js'
import { BudgetExhaustedError } from '../loop/errors.js'

/** Tokens that several tasks have together. */
export type SharedTokens = { readonly limitTokens: number; consumedTokens: number }

/** A budget with one more limit. It is a soft one: what is being asked when the tokens are used up is answered. */
export function sharedBudget(budget: Budget, tokens: SharedTokens): Budget {
  return {
    async beforeModel(estimatedTokens, request) {
      if (tokens.consumedTokens >= tokens.limitTokens)
        throw new BudgetExhaustedError(
          'budgetTokens',
          `${tokens.consumedTokens} of ${tokens.limitTokens} tokens are used up`,
        )
      await budget.beforeModel(estimatedTokens, request)
    },
    afterModel(usage, costUsd, request) {
      tokens.consumedTokens += usage.totalTokens
      return budget.afterModel(usage, costUsd, request)
    },
    abandoned: (estimatedTokens, request) => budget.abandoned(estimatedTokens, request),
    beforeTool: (toolName) => budget.beforeTool(toolName),
  }
}
