import type { Budget } from '../loop/budget.js'
import { BudgetExhaustedError } from '../loop/errors.js'

/** A number of tokens that several tasks share. */
export type SharedTokens = { readonly limitTokens: number; consumedTokens: number }

/** Adds a limit to a budget. It is a soft limit: a request that is active when the tokens are used up is finished. */
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
