import type { BudgetGuard } from '../../loop/budget.js'
import type { ModelPrice } from '../../model/model.js'
import { costOf } from '../../model/usage.js'
import { UsageError } from '../errors.js'

export type Budget =
  | { readonly unit: 'tokens'; readonly limit: number }
  | { readonly unit: 'usd'; readonly limit: number }

/**
 * Parses `--budget`, or another option with an amount: `0.50usd` or `$0.50`, `200000tokens` or `200k`. A number without
 * a unit is rejected, because it is ambiguous.
 */
export function readBudget(text: string, option = 'budget', prefix = `--${option} `): Budget {
  const written = text.trim().toLowerCase()
  const money = /^(?:\$(\d+(?:\.\d+)?)|(\d+(?:\.\d+)?) ?(?:usd|\$))$/.exec(written)
  const dollars = Number(money?.[1] ?? money?.[2])
  if (money !== null && dollars > 0) return { unit: 'usd', limit: dollars }
  const tokens = /^(\d+(?:\.\d+)?) ?(k|m|tokens?|k ?tokens|m ?tokens)$/.exec(written)
  const factor = tokens?.[2]?.startsWith('k') ? 1_000 : tokens?.[2]?.startsWith('m') ? 1_000_000 : 1
  const limit = Math.floor(Number(tokens?.[1]) * factor)
  if (tokens !== null && limit > 0) return { unit: 'tokens', limit }
  throw new UsageError(
    `--${option} takes an amount with a unit, not ${JSON.stringify(text)}.`,
    `Dollars: ${prefix}0.50usd. Tokens: ${prefix}200k.`,
  )
}

/**
 * Creates a guard that denies the model request that would exceed the budget, from the usage so far and an estimate of
 * the request.
 */
export function budgetGuard(budget: Budget, price: ModelPrice | undefined): BudgetGuard {
  if (budget.unit === 'usd' && price === undefined)
    throw new UsageError(
      'A budget in dollars needs the price of the model, which is not known.',
      'Give the budget in tokens (--budget 200k), or declare the model with its cost in a configuration.',
    )
  let spent = 0
  return {
    // If the guard itself fails, the request is denied.
    onError: 'deny',
    checkBeforeLlm(_session, estimatedTokens) {
      const next =
        budget.unit === 'tokens' || price === undefined ? estimatedTokens : inputCost(estimatedTokens, price)
      if (spent + next <= budget.limit) return { decision: 'allow' }
      return {
        decision: 'deny',
        resource: budget.unit,
        reason: `${shown(spent, budget.unit)} of ${shown(budget.limit, budget.unit)} are used, and the next request needs about ${shown(next, budget.unit)}`,
      }
    },
    recordAfterLlm(_session, usage) {
      spent += budget.unit === 'tokens' ? usage.totalTokens : (usage.costUsd ?? 0)
    },
  }
}

function inputCost(inputTokens: number, price: ModelPrice): number {
  return costOf({ inputTokens, outputTokens: 0, totalTokens: inputTokens }, price)
}

function shown(amount: number, unit: Budget['unit']): string {
  return unit === 'usd' ? `${amount.toFixed(4)} dollars` : `${Math.ceil(amount)} tokens`
}
