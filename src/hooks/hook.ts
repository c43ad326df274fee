import { nearestNames, quoteNames } from '../tool/nearest.js'
import type { HookAnswer } from './answer.js'
import { HookError } from './errors.js'
import { type HookEvent, type HookEventName, hookEventNames, isHookEventName } from './events.js'
import { checkFields } from './fields.js'
import { type CompiledMatcher, compileMatcher, type HookMatcher } from './matcher.js'

/** How a hook is called: its order, its time limit, its retries. */
export type HookConfig = {
  /** Hooks with a lower priority run first; those with the same one run in the order of registration. Default: 100. */
  readonly priority?: number
  /** The time limit of one call of the handler, in milliseconds. Default: 30,000. */
  readonly timeoutMs?: number
  /** Calls the hook without waiting for it: it can observe events, and cannot stop or change them. */
  readonly asyncExecution?: boolean
  /** How often the handler is called again when it throws or times out. Default: 0. */
  readonly maxRetries?: number
}

/** The function of a hook. `signal` is aborted when the caller no longer waits for the handler. */
export type HookHandler<Name extends HookEventName = HookEventName> = (
  event: HookEvent<Name>,
  context: { readonly signal: AbortSignal; readonly attempt: number },
) => HookAnswer | Promise<HookAnswer>

/** A registered hook, with the statistics of its calls. */
export type Hook = {
  readonly id: string
  readonly event: HookEventName
  readonly fits: CompiledMatcher
  readonly config: Required<HookConfig>
  readonly handler: HookHandler<never>
  readonly counts: { runs: number; blocks: number; failures: number; lastError?: string }
}

const maxAllowedRetries = 10
/** The maximum delay of a timer. */
const maxTimeoutMs = 2 ** 31 - 1

/** Parses a registration. Throws {@link HookError} for anything that would not have the effect it describes. */
export function readHook(
  id: unknown,
  event: unknown,
  matcher: HookMatcher | null | undefined,
  config: HookConfig | null | undefined,
  handler: unknown,
): Hook {
  if (typeof id !== 'string' || id === '')
    throw new HookError('A hook needs an id: a string that is not empty')
  if (!isHookEventName(event)) throw new HookError(unknownEvent(String(event)))
  const fits = compileMatcher(event, matcher)
  const settings = readConfig(config)
  if (handler === undefined || handler === null)
    throw new HookError(
      `The hook "${id}" has no handler and would do nothing. Pass a function as the last argument (or as "handler" in the option).`,
    )
  if (typeof handler !== 'function') throw new HookError(`The handler of hook "${id}" is not a function`)
  return {
    id,
    event,
    fits,
    config: settings,
    handler: handler as HookHandler<never>,
    counts: { runs: 0, blocks: 0, failures: 0 },
  }
}

function unknownEvent(event: string): string {
  const near = nearestNames(event, hookEventNames)
  const hint = near.length === 0 ? '' : ` Did you mean ${quoteNames(near)}?`
  return `Invalid hook event type: '${event.slice(0, 100)}'. Expected one of: ${hookEventNames.join(', ')}.${hint}`
}

/** Shared, because every session has its own copy of each hook. */
const usualConfig: Required<HookConfig> = {
  priority: 100,
  timeoutMs: 30_000,
  asyncExecution: false,
  maxRetries: 0,
}

function readConfig(config: unknown): Required<HookConfig> {
  if (config === undefined) return usualConfig
  const given = checkFields<HookConfig>('config', config, {
    priority: 'number',
    timeoutMs: 'number',
    asyncExecution: 'boolean',
    maxRetries: 'number',
  })
  const { priority, timeoutMs, asyncExecution, maxRetries } = { ...usualConfig, ...given }
  if (!(timeoutMs > 0) || timeoutMs > maxTimeoutMs)
    throw new HookError(`config.timeoutMs is ${timeoutMs}: it must be above 0 and at most ${maxTimeoutMs}`)
  if (!Number.isInteger(maxRetries) || maxRetries < 0 || maxRetries > maxAllowedRetries)
    throw new HookError(
      `config.maxRetries is ${maxRetries}: it must be a whole number from 0 to ${maxAllowedRetries}`,
    )
  return { priority, timeoutMs, asyncExecution, maxRetries }
}
