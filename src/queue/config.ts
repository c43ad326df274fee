import { isRecord } from '../tool/json.js'
import { type Lane, laneNames } from '../tool/lane.js'
import type { QueueEngine } from './engine.js'
import { QueueError } from './errors.js'
import { type LaneHandler, type LaneMode, readHandler, readLane } from './lane.js'

/** The configuration of the lanes of a session. Everything has a default; `{}` enables them. */
export type QueueConfig = {
  readonly controlConcurrency?: number
  readonly queryConcurrency?: number
  readonly executeConcurrency?: number
  readonly generateConcurrency?: number
  /** The maximum number of active calls in all lanes together. */
  readonly maxConcurrency?: number
  /** The time limit of one call in this process, in milliseconds. */
  readonly timeoutMs?: number
  readonly laneTimeouts?: { readonly [L in Lane]?: number }
  readonly laneHandlers?: {
    readonly [L in Lane]?: { readonly mode?: LaneMode; readonly timeoutMs?: number }
  }
  /** The lanes of tools that do not use the lane of their kind, by name. */
  readonly toolLanes?: Readonly<Record<string, Lane>>
  readonly retryPolicy?: RetryPolicy
  readonly rateLimit?: RateLimit
  readonly laneRateLimits?: { readonly [L in Lane]?: RateLimit }
  /** After this many milliseconds of waiting, the priority of a call rises by one step. Default: 1,000. */
  readonly ageingMs?: number
  readonly enableDlq?: boolean
  readonly dlqMaxSize?: number
  readonly enableMetrics?: boolean
  readonly enableAlerts?: boolean
  /** The number of waiting calls from which a lane counts as crowded; twice as many are critical. */
  readonly pressureThreshold?: number
  /** Enables dead letters, metrics, alerts, and a limit of 60 calls a minute in the lane `generate`. */
  readonly enableAllFeatures?: boolean
  /** How long a worker can be silent before its task counts as lost, in milliseconds. Default: 30,000. */
  readonly leaseMs?: number
  /** Replaces the built-in engine, which works in this process. */
  readonly engine?: QueueEngine
}

/** How failed calls are retried. */
export type RetryPolicy = {
  readonly strategy?: 'exponential' | 'fixed' | 'none'
  readonly maxRetries?: number
  readonly initialDelayMs?: number
  readonly fixedDelayMs?: number
  readonly maxDelayMs?: number
}
/** How many calls of a lane can start in a span of time. */
export type RateLimit = {
  readonly limitType?: RateSpan
  readonly maxOperations?: number
}
const spans = { per_second: 1_000, per_minute: 60_000, per_hour: 3_600_000 } as const
/** The span of a rate limit. */
export type RateSpan = keyof typeof spans

/** The configuration after validation, with all defaults applied. */
export type QueueSettings = {
  readonly lanes: { readonly [L in Lane]: LaneSettings }
  readonly maxConcurrency: number
  readonly toolLanes: ReadonlyMap<string, Lane>
  readonly retry: RetrySettings
  readonly ageingMs: number
  readonly deadLetters: number
  readonly metrics: boolean
  readonly alertDepth: number | undefined
  readonly leaseMs: number
  readonly engine?: QueueEngine
}
export type LaneSettings = {
  readonly concurrency: number
  readonly handler: LaneHandler
  readonly timeoutMs?: number | undefined
  readonly rate?: { readonly count: number; readonly perMs: number } | undefined
}
export type RetrySettings = {
  readonly maxRetries: number
  readonly firstDelayMs: number
  readonly growth: number
  readonly maxDelayMs: number
}

const concurrencies = { control: 4, query: 4, execute: 2, generate: 1 } as const

/** Reads the queue configuration of a host or a file; throws with the name of the invalid field. */
export function readQueueConfig(given: unknown): QueueSettings {
  if (!isRecord(given)) throw new QueueError('queue_config', 'it must be an object')
  refuseUnknown(given, known, '')
  const all = flag(given, 'enableAllFeatures')
  return {
    lanes: {
      control: laneSettings(given, 'control', all),
      query: laneSettings(given, 'query', all),
      execute: laneSettings(given, 'execute', all),
      generate: laneSettings(given, 'generate', all),
    },
    maxConcurrency: whole(given, 'maxConcurrency', 1) ?? Number.POSITIVE_INFINITY,
    toolLanes: readToolLanes(group(given, 'toolLanes')),
    retry: readRetry(group(given, 'retryPolicy')),
    ageingMs: whole(given, 'ageingMs', 1) ?? whole(group(given, 'priorityBoost'), 'deadlineMs', 1) ?? 1_000,
    deadLetters: flag(given, 'enableDlq') || all ? (whole(given, 'dlqMaxSize', 1) ?? 1_000) : 0,
    metrics: flag(given, 'enableMetrics') || all,
    alertDepth: flag(given, 'enableAlerts') || all ? (whole(given, 'pressureThreshold', 1) ?? 50) : undefined,
    leaseMs: whole(given, 'leaseMs', 10) ?? 30_000,
    ...(given['engine'] !== undefined && { engine: readEngine(given['engine']) }),
  }
}

/** The second spelling of each is that of the configuration file. */
const known = [
  ...laneNames.flatMap((lane) => [`${lane}Concurrency`, `${lane}MaxConcurrency`]),
  ...['maxConcurrency', 'timeoutMs', 'defaultTimeoutMs', 'laneTimeouts', 'laneHandlers', 'toolLanes'],
  ...['retryPolicy', 'rateLimit', 'laneRateLimits', 'ageingMs', 'priorityBoost', 'enableDlq', 'dlqMaxSize'],
  ...['enableMetrics', 'enableAlerts', 'pressureThreshold', 'enableAllFeatures', 'leaseMs', 'storagePath'],
  'engine',
]

function readEngine(value: unknown): QueueEngine {
  if (isRecord(value) && typeof value['enter'] === 'function' && isRecord(value['board'])) {
    // The other members are not checked: the engine is code of the host.
    return value as unknown as QueueEngine
  }
  throw new QueueError('queue_config', 'engine must be a QueueEngine, with enter() and a board')
}

function laneSettings(given: Given, lane: Lane, all: boolean): LaneSettings {
  const handlers = group(given, 'laneHandlers')
  const limits = group(given, 'laneRateLimits')
  for (const inner of [handlers, limits, group(given, 'laneTimeouts')])
    for (const name of Object.keys(inner)) readLane(name)
  const timeoutMs =
    whole(group(given, 'laneTimeouts'), lane, 1) ??
    whole(given, 'timeoutMs', 1) ??
    whole(given, 'defaultTimeoutMs', 1)
  const rate =
    readRate(group(limits, lane)) ??
    readRate(group(given, 'rateLimit')) ??
    (all && lane === 'generate' ? { count: 60, perMs: spans.per_minute } : undefined)
  return {
    concurrency:
      whole(given, `${lane}Concurrency`, 1) ??
      whole(given, `${lane}MaxConcurrency`, 1) ??
      concurrencies[lane],
    handler: handlers[lane] === undefined ? { mode: 'internal' } : readHandler(handlers[lane]),
    timeoutMs,
    rate,
  }
}

function readToolLanes(given: Given): ReadonlyMap<string, Lane> {
  return new Map(Object.entries(given).map(([tool, lane]) => [tool, readLane(lane)]))
}

function readRetry(given: Given): RetrySettings {
  refuseUnknown(
    given,
    ['strategy', 'maxRetries', 'initialDelayMs', 'fixedDelayMs', 'maxDelayMs'],
    'retryPolicy.',
  )
  const strategy = given['strategy'] ?? 'exponential'
  if (strategy !== 'exponential' && strategy !== 'fixed' && strategy !== 'none')
    throw new QueueError('queue_config', 'retryPolicy.strategy must be exponential, fixed or none')
  const first = whole(given, 'initialDelayMs', 0) ?? 100
  return {
    maxRetries: strategy === 'none' ? 0 : (whole(given, 'maxRetries', 0) ?? 3),
    firstDelayMs: strategy === 'fixed' ? (whole(given, 'fixedDelayMs', 0) ?? first) : first,
    growth: strategy === 'fixed' ? 1 : 2,
    maxDelayMs: whole(given, 'maxDelayMs', 0) ?? 30_000,
  }
}

function readRate(given: Given): LaneSettings['rate'] | undefined {
  refuseUnknown(given, ['limitType', 'maxOperations'], 'rateLimit.')
  const count = whole(given, 'maxOperations', 1)
  if (count === undefined) return undefined
  const span = given['limitType'] ?? 'per_minute'
  const found = Object.entries(spans).find(([name]) => name === span)
  if (found === undefined)
    throw new QueueError('queue_config', `limitType must be one of ${Object.keys(spans).join(', ')}`)
  return { count, perMs: found[1] }
}

type Given = Readonly<Record<string, unknown>>

function refuseUnknown(given: Given, names: readonly string[], prefix: string): void {
  const odd = Object.keys(given).find((name) => !names.includes(name))
  if (odd !== undefined)
    throw new QueueError(
      'queue_config',
      `${prefix}${odd} is not known. Known are: ${names.filter((name) => !name.endsWith('MaxConcurrency')).join(', ')}`,
    )
}

function group(given: Given, name: string): Given {
  const value = given[name] ?? {}
  if (!isRecord(value)) throw new QueueError('queue_config', `${name} must be an object`)
  return value
}

function flag(given: Given, name: string): boolean {
  const value = given[name] ?? false
  if (typeof value !== 'boolean') throw new QueueError('queue_config', `${name} must be true or false`)
  return value
}

function whole(given: Given, name: string, least: number): number | undefined {
  const value = given[name]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'number' || !Number.isInteger(value) || value < least)
    throw new QueueError('queue_config', `${name} must be a whole number of at least ${least}`)
  return value
}
