import { type Budget, type BudgetGuard, createBudget } from '../loop/budget.js'
import { addUsage, noUsage, type Usage } from '../loop/usage.js'
import type { SessionState } from '../store/session-state.js'
import { isRecord, type JsonObject, type JsonValue } from '../tool/json.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import type { SessionKernel } from './kernel.js'

/** The usage and the cost of one model. */
export type ModelSpending = {
  /** `provider/model`. */
  readonly model: string
  readonly usage: Usage
  /** US dollars; absent when the price of the model is not known. */
  readonly costUsd?: number
}

/** Tokens and cost of all requests to models: rounds, subagents, side questions, summaries, generated objects. */
export type Spending = {
  readonly usage: Usage
  /** US dollars for the models whose price is known; absent when none is. */
  readonly costUsd?: number
  /** Tokens and cost of each model. */
  readonly models: readonly ModelSpending[]
}

/** Adds up the usage and the cost of models. */
export class Ledger {
  /** One entry per model: most sessions use one or two. */
  #models: readonly ModelSpending[] = []
  #usage = noUsage
  #costUsd: number | undefined

  add({ model, usage, costUsd }: ModelSpending): void {
    this.#usage = addUsage(this.#usage, usage)
    this.#costUsd = sum(this.#costUsd, costUsd)
    const at = this.#models.findIndex((one) => one.model === model)
    const before = this.#models[at]
    const cost = sum(before?.costUsd, costUsd)
    const next = {
      model,
      usage: addUsage(before?.usage ?? noUsage, usage),
      ...omitUndefined({ costUsd: cost }),
    }
    this.#models = before === undefined ? [...this.#models, next] : this.#models.with(at, next)
  }

  get usage(): Usage {
    return this.#usage
  }

  get costUsd(): number | undefined {
    return this.#costUsd
  }

  get models(): readonly ModelSpending[] {
    return this.#models
  }

  list(): Spending {
    const { usage, costUsd, models } = this
    return { usage, ...omitUndefined({ costUsd }), models }
  }
}

/** Everything that a session spends, including earlier processes, and the budget that limits it. */
export class SpendingAccount {
  readonly #kernel: SessionKernel
  readonly total: Ledger
  /** The part that belongs to no run. */
  readonly #outside: Ledger
  #outsideSaved: number
  guard: BudgetGuard | undefined
  #budget: Budget | undefined

  constructor(kernel: SessionKernel) {
    const { restored, options } = kernel.setup
    this.#kernel = kernel
    this.guard = options.budgetGuard
    const { total, outside } = restoredSpending(restored)
    this.total = total
    this.#outside = outside
    this.#outsideSaved = outside.usage.totalTokens
  }

  /**
   * Counts every answer, including those of failed runs, subagents, side questions, summaries and generated objects,
   * for the session and for the run that is active at that moment.
   */
  get budget(): Budget {
    if (this.#budget === undefined) {
      const { parent, sessionId, emit, queue } = this.#kernel
      // The spending of a subagent counts for all its ancestors.
      const budget = parent?.budget ?? createBudget(() => this.guard, sessionId, emit)
      this.#budget = {
        ...budget,
        afterModel: (usage, costUsd, request) => {
          const spent = { model: request.model, usage, ...omitUndefined({ costUsd }) }
          this.total.add(spent)
          const ledger = queue.active?.spending ?? this.#outside
          ledger.add(spent)
          return budget.afterModel(usage, costUsd, request)
        },
      }
    }
    return this.#budget
  }

  /** Drops the budget between runs: it has no state, so the next run can create it again. */
  rest(): void {
    this.#budget = undefined
  }

  /** Writes the spending outside runs to the log, which has no other record of it. */
  async save(): Promise<void> {
    const spending = this.#unsaved()
    if (spending !== undefined) await this.#kernel.log.recorder?.session({ spending })
  }

  /** Like `save`, with the last record of the session. */
  saveLast(): void {
    const spending = this.#unsaved()
    if (spending !== undefined) this.#kernel.log.recorder?.noteSession({ spending })
  }

  #unsaved(): ReturnType<typeof spendingRow> | undefined {
    const { totalTokens } = this.#outside.usage
    if (totalTokens === this.#outsideSaved || !this.#kernel.log.recorder?.isOpen) return undefined
    this.#outsideSaved = totalTokens
    return spendingRow(this.#outside)
  }
}

/** Returns the sum of two costs, either of which may be unknown. */
export function sum(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : one + other
}

/** Returns the spending in the form for the log. */
export function spendingRow(ledger: Ledger): readonly JsonObject[] {
  return ledger.models.map((each): JsonObject => ({ ...each, usage: { ...each.usage } }))
}

/**
 * Computes the spending of a session from its log, in total and outside runs. A run that ended has its spending in its
 * row; for an interrupted run, its answers and its tasks count.
 */
export function restoredSpending(state: SessionState | undefined): {
  readonly total: Ledger
  readonly outside: Ledger
} {
  const total = new Ledger()
  const outside = new Ledger()
  if (state === undefined) return { total, outside }
  const runs = [...state.runs.values()]
  const counted = new Set(runs.flatMap(({ id, spending }) => (spending === undefined ? [] : [id])))
  const answers = state.messages.flatMap(({ row }): ModelSpending[] => {
    const { usage, model, costUsd, runId } = row
    if (usage === undefined || (runId !== undefined && counted.has(runId))) return []
    const name = model === undefined ? unknownModel : `${model.provider}/${model.id}`
    return [spendingFrom(name, usage, costUsd)]
  })
  const tasks = [...state.tasks.values()].flatMap(({ usage, startedAtMs }): ModelSpending[] => {
    const run = runs.findLast(({ createdAtMs }) => createdAtMs <= startedAtMs)
    if (usage === undefined || (run !== undefined && counted.has(run.id))) return []
    return [spendingFrom(unknownModel, usage, undefined)]
  })
  const outsideRuns = readSpending(state.session?.spending)
  for (const spent of outsideRuns) outside.add(spent)
  for (const spent of [...runs.flatMap(({ spending }) => readSpending(spending)), ...answers, ...tasks])
    total.add(spent)
  for (const spent of outsideRuns) total.add(spent)
  return { total, outside }
}

/** Logs of earlier versions do not record which model a task used. */
const unknownModel = 'unknown'

function readSpending(rows: unknown): ModelSpending[] {
  if (!Array.isArray(rows)) return []
  return rows.flatMap((row: JsonValue) =>
    isRecord(row) && typeof row['model'] === 'string' && isRecord(row['usage'])
      ? [spendingFrom(row['model'], row['usage'], row['costUsd'])]
      : [],
  )
}

function spendingFrom(model: string, usage: Readonly<Record<string, unknown>>, cost: unknown): ModelSpending {
  const costUsd = amount(cost)
  return { model, usage: usageFrom(usage), ...omitUndefined({ costUsd }) }
}

/** Parses the usage of a row. A log may come from elsewhere: an invalid amount counts as 0. */
export function usageFrom(row: Readonly<Record<string, unknown>> | undefined): Usage {
  const names = Object.keys(noUsage) as (keyof Usage)[]
  const read = names.map((name) => [name, amount(row?.[name]) ?? 0] as const)
  return { ...noUsage, ...Object.fromEntries(read) }
}

function amount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
}
