import type { CounterAddition, CounterLimits, CounterTotals, Reservation } from '../run-queue/run-queue.js'
import type { Database } from '../store/postgres/database.js'
import { encodeText } from '../store/postgres/text.js'
import { nowMs } from './run-rows.js'

/** Totals by name, in the table `counters`: the usage of tenants in a period. */
export class Counters {
  readonly #database: Database
  readonly #schema: string

  constructor(database: Database, schema: string) {
    this.#database = database
    this.#schema = schema
  }

  async count(name: string, add?: CounterAddition): Promise<CounterTotals> {
    const [row] = await this.#database.query<TotalsRow>(
      add === undefined
        ? {
            text: `select tokens, cost_usd from ${this.#schema}.counters where name = $1`,
            values: [encodeText(name)],
          }
        : {
            name: 'capstan_add_to_counter',
            text: addition(this.#schema),
            values: [encodeText(name), add.tokens, add.costUsd, additionName(add)],
          },
    )
    if (add !== undefined) await this.#forgetSometimes()
    return totalsOf(row)
  }

  async reserve(name: string, add: CounterAddition, limits: CounterLimits): Promise<Reservation> {
    const reserve = async (): Promise<ReservedRow | undefined> => {
      const [row] = await this.#database.query<ReservedRow>({
        name: 'capstan_reserve',
        text: reservation(this.#schema),
        values: [
          ...[encodeText(name), add.tokens, add.costUsd, additionName(add)],
          ...[limits.tokens ?? null, limits.costUsd ?? null],
        ],
      })
      return row
    }
    const row = (await reserve()) ?? (await this.#create(name).then(reserve))
    await this.#forgetSometimes()
    return { isReserved: row?.is_reserved === true, totals: totalsOf(row) }
  }

  /** Creates the row of a counter, which a reservation must lock. */
  async #create(name: string): Promise<void> {
    await this.#database.query({
      text: `insert into ${this.#schema}.counters (name) values ($1) on conflict do nothing`,
      values: [encodeText(name)],
    })
  }

  /** Removes old additions: they are needed only while their answer can be lost. */
  async #forgetSometimes(): Promise<void> {
    if (Math.random() >= 1 / forgetEvery) return
    await this.#database.query({
      text: `delete from ${this.#schema}.counters where name >= $1 and name < $2
        and tokens < ${nowMs} - ${10 * 60_000}`,
      values: [additionPrefix, `${additionPrefix.slice(0, -1)};`],
    })
  }
}

type TotalsRow = { readonly tokens: number; readonly cost_usd: number }
type ReservedRow = TotalsRow & { readonly is_reserved: boolean }

/**
 * The prefix of additions to counters, which are stored as counters themselves: their total is the time of the
 * addition.
 */
const additionPrefix = 'capstan:added:'
const forgetEvery = 100

function additionName({ id }: CounterAddition): string {
  return encodeText(`${additionPrefix}${id}`)
}

function totalsOf(row: TotalsRow | undefined): CounterTotals {
  return { tokens: row?.tokens ?? 0, costUsd: row?.cost_usd ?? 0 }
}

/**
 * Adds to a counter unless the addition with this id was made before. A statement sees the rows as of its start, so
 * the second of two concurrent ones detects the first only by the conflict on the row of the addition.
 */
function addition(schema: string): string {
  return `with added as (
      insert into ${schema}.counters (name, tokens) values ($4, ${nowMs}) on conflict do nothing returning 1
    ), changed as (
      insert into ${schema}.counters as c (name, tokens, cost_usd)
        values ($1, case when exists (select 1 from added) then $2::float8 else 0 end,
          case when exists (select 1 from added) then $3::float8 else 0 end)
      on conflict (name) do update set tokens = c.tokens + excluded.tokens, cost_usd = c.cost_usd + excluded.cost_usd
      returning tokens, cost_usd
    )
    select tokens, cost_usd from changed`
}

/**
 * Adds to a counter unless a limit is reached. The row of the counter is locked first, so reservations are decided
 * one after the other, each on the total of those before. The row of the addition has the outcome (1 or -1), which a
 * retry after a lost answer finds. Selects nothing when there is no such counter.
 */
function reservation(schema: string): string {
  return `with counter as (
      select tokens, cost_usd, (tokens >= $5::float8) is true or (cost_usd >= $6::float8) is true as is_full
      from ${schema}.counters where name = $1 for update
    ), made as (
      insert into ${schema}.counters as a (name, tokens, cost_usd)
        select $4, ${nowMs}, case when is_full then -1 else 1 end from counter
      on conflict (name) do update set name = a.name
      returning cost_usd > 0 as is_reserved, xmax = 0 as is_new
    ), changed as (
      update ${schema}.counters c set tokens = c.tokens + $2::float8, cost_usd = c.cost_usd + $3::float8
      from made where c.name = $1 and made.is_reserved and made.is_new returning c.tokens, c.cost_usd
    )
    select made.is_reserved, coalesce(changed.tokens, counter.tokens) as tokens,
      coalesce(changed.cost_usd, counter.cost_usd) as cost_usd
    from counter, made left join changed on true`
}
