import type { Budget } from '../loop/budget.js'
import { addUsage, noUsage, type Usage } from '../loop/usage.js'
import type { SessionState } from '../store/session-state.js'
import { isRecord, type JsonObject, type JsonValue } from '../tool/json.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import type { SessionRecorder } from './journal/session-recorder.js'

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
  /** US dollars, of the models whose price is known; absent when none is. */
  readonly costUsd?: number
  /** Tokens and cost of each model. */
  readonly models: readonly ModelSpending[]
}

/** Adds up what models are used for. */
export class Ledger {
  /** One for each model: most sessions use one or two. */
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

  total(): Spending {
    const { usage, costUsd, models } = this
    return { usage, ...omitUndefined({ costUsd }), models }
  }
}

/** Everything that a session spends, in earlier processes too. */
export class SpendingAccount {
  readonly total = new Ledger()
  /** The part of it that belongs to no run. */
  readonly #outside = new Ledger()
  #outsideSaved: number

  constructor(restored: SessionState | undefined) {
    const { inRuns, outside } = restoredSpending(restored)
    for (const spent of [...inRuns, ...outside]) this.total.add(spent)
    for (const spent of outside) this.#outside.add(spent)
    this.#outsideSaved = this.#outside.usage.totalTokens
  }

  /**
   * Counts every answer: of runs that fail, of subagents, side questions, summaries and generated objects. It is
   * counted for the session, and for the run that is active at this moment.
   */
  counted(budget: Budget, activeRun: () => Ledger | undefined): Budget {
    return {
      ...budget,
      afterModel: (usage, costUsd, request) => {
        const spent = { model: request.model, usage, ...omitUndefined({ costUsd }) }
        this.total.add(spent)
        const ledger = activeRun() ?? this.#outside
        ledger.add(spent)
        return budget.afterModel(usage, costUsd, request)
      },
    }
  }

  /** Writes what was spent outside of runs to the log: nothing else in the log says it. */
  async save(recorder: SessionRecorder | undefined): Promise<void> {
    const { totalTokens } = this.#outside.usage
    if (totalTokens === this.#outsideSaved || !recorder?.isOpen) return
    this.#outsideSaved = totalTokens
    await recorder.session({ spending: spendingRow(this.#outside) })
  }
}

/** The sum of two costs, either of which may not be known. */
export function sum(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : one + other
}

/** As the log keeps it. */
export function spendingRow(ledger: Ledger): readonly JsonObject[] {
  return ledger.models.map((each): JsonObject => ({ ...each, usage: { ...each.usage } }))
}

/**
 * What a session has spent according to its log, in two parts: within runs, and outside of them. A run that ended says
 * what it spent; of one that was cut off its answers and its tasks count.
 */
function restoredSpending(state: SessionState | undefined): {
  readonly inRuns: readonly ModelSpending[]
  readonly outside: readonly ModelSpending[]
} {
  if (state === undefined) return { inRuns: [], outside: [] }
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
  return {
    inRuns: [...runs.flatMap(({ spending }) => readSpending(spending)), ...answers, ...tasks],
    outside: readSpending(state.session?.spending),
  }
}

/** Logs of earlier versions do not say which model a task used. */
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

/** A log may come from elsewhere: what is not an amount counts as nothing. */
export function usageFrom(row: Readonly<Record<string, unknown>> | undefined): Usage {
  const names = Object.keys(noUsage) as (keyof Usage)[]
  const read = names.map((name) => [name, amount(row?.[name]) ?? 0] as const)
  return { ...noUsage, ...Object.fromEntries(read) }
}

function amount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
}
