import { labelsOf } from '../feature/labels.js'
import { tryOr } from '../tool/errors.js'
import { type After, callHandler, type HandlerAnswer } from './call-handler.js'
import { factsOf, type HookEvent, type HookEventName, type HookLabels, type HookPayloads } from './events.js'
import { type Hook, type HookConfig, type HookHandler, readHook } from './hook.js'
import type { HookMatcher, HookPlace } from './matcher.js'

/** The session that the hooks belong to. */
export type HookSession = HookPlace & HookLabels

/** A warning about a hook for its host. */
export type HookNotice = {
  readonly hookId: string
  readonly event: HookEventName
  readonly kind: 'failed' | 'ignored' | 'replaced'
  readonly message: string
}

export type HooksOptions = {
  /** Removes what hooks must not see from a payload. */
  readonly clean?: <Payload>(payload: Payload) => Payload
  readonly session: HookSession
  /** Milliseconds since the epoch. */
  now(): number
  readonly onNotice?: (notice: HookNotice) => void
  readonly after?: After
}

/** The outcome of an event after its hooks. `payload` includes their changes. */
export type HookOutcome<Name extends HookEventName> =
  | { readonly action: 'continue'; readonly payload: HookPayloads[Name]; readonly changed: boolean }
  | { readonly action: 'block'; readonly reason: string; readonly hookId: string }

/** The state of a hook. A hook with no runs has not checked anything yet. */
export type HookStatus = {
  readonly id: string
  readonly event: HookEventName
  readonly priority: number
  readonly runs: number
  readonly blocks: number
  readonly failures: number
  readonly lastError?: string
}

/** The hooks of a session. */
export interface Hooks {
  readonly session: HookSession
  /**
   * Adds a hook, or replaces the one with the same id. Throws `HookError` for a hook that would not have its described
   * effect.
   */
  register<Name extends HookEventName>(
    id: string,
    event: Name,
    matcher: HookMatcher | null | undefined,
    config: HookConfig | null | undefined,
    handler: HookHandler<Name>,
  ): void
  /** Returns whether a hook with this id existed. */
  unregister(id: string): boolean
  count(): number
  list(): HookStatus[]
  /** Whether a hook listens to the event. If none does, there is nothing to run. */
  has(event: string): event is HookEventName
  /**
   * Calls the hooks that listen to the event, one after the other. Never rejects. Returns the outcome at once when all
   * of them answer synchronously.
   */
  run<Name extends HookEventName>(
    event: Name,
    payload: HookPayloads[Name],
    options?: { readonly signal?: AbortSignal },
  ): HookOutcome<Name> | Promise<HookOutcome<Name>>
  /** Whether no hook was registered, and no child session shares them. */
  isUnused(): boolean
  /** Resolves when no hook is running that the session does not wait for. */
  settled(): Promise<void>
  /** Returns the same hooks for a child session: a hook registered with either applies to both. */
  forSession(session: HookSession): Hooks
}

/**
 * Creates the hooks of a session. On a gating event, a hook that throws, times out or returns an invalid answer blocks;
 * on any other event that is reported and ignored.
 *
 * @example
 * const hooks = createHooks({ session: { sessionId: 's', workspace: '/ship' }, now: () => clock.now() })
 * hooks.register('no-push', 'pre_tool_use', { tool: 'bash', commandPattern: '\\bgit\\s+push\\b' }, {}, () => ({
 *   action: 'block',
 *   reason: 'Pushing is done by people.',
 * }))
 */
export function createHooks(options: HooksOptions): Hooks {
  return new SessionHooks({ hooks: [], loose: undefined, isUsed: false }, options)
}

type HookTable = {
  /** In the order of registration. The list is replaced, not changed, so that an active run is not affected. */
  hooks: readonly Hook[]
  /** Running hooks that are not awaited. */
  loose: Set<Promise<void>> | undefined
  /** Whether a hook was registered, or a child session shares the table. */
  isUsed: boolean
}

class SessionHooks implements Hooks {
  readonly #table: HookTable
  readonly #options: HooksOptions

  constructor(table: HookTable, options: HooksOptions) {
    this.#table = table
    this.#options = options
  }

  get session(): HookSession {
    return this.#options.session
  }

  register<Name extends HookEventName>(
    id: string,
    event: Name,
    matcher: HookMatcher | null | undefined,
    config: HookConfig | null | undefined,
    handler: HookHandler<Name>,
  ): void {
    const hook = readHook(id, event, matcher, config, handler)
    const table = this.#table
    table.isUsed = true
    const before = table.hooks.find((one) => one.id === id)
    if (before !== undefined)
      notify(this.#options, hook, 'replaced', `it replaces the one for '${before.event}'`)
    // Without the spare capacity that an array literal with a spread reserves.
    table.hooks = table.hooks.filter((one) => one !== before).concat(hook)
  }

  unregister(id: string): boolean {
    const table = this.#table
    const left = table.hooks.filter((one) => one.id !== id)
    const isFound = left.length < table.hooks.length
    table.hooks = left
    return isFound
  }

  count(): number {
    return this.#table.hooks.length
  }

  list(): HookStatus[] {
    return this.#table.hooks.map(statusOf)
  }

  has(event: string): event is HookEventName {
    return this.#table.hooks.some((one) => one.event === event)
  }

  run<Name extends HookEventName>(
    event: Name,
    payload: HookPayloads[Name],
    { signal }: { readonly signal?: AbortSignal } = {},
  ): HookOutcome<Name> | Promise<HookOutcome<Name>> {
    const options = this.#options
    return runHooks(this.#table, options, event, options.clean?.(payload) ?? payload, signal)
  }

  isUnused(): boolean {
    return !this.#table.isUsed
  }

  async settled(): Promise<void> {
    const table = this.#table
    while (table.loose !== undefined && table.loose.size > 0) await Promise.all(table.loose)
  }

  forSession(session: HookSession): Hooks {
    this.#table.isUsed = true
    return new SessionHooks(this.#table, { ...this.#options, session })
  }
}

function statusOf({ id, event, config, counts }: Hook): HookStatus {
  return { id, event, priority: config.priority, ...counts }
}

function runHooks<Name extends HookEventName>(
  table: HookTable,
  options: HooksOptions,
  event: Name,
  payload: HookPayloads[Name],
  signal: AbortSignal | undefined,
): HookOutcome<Name> | Promise<HookOutcome<Name>> {
  // The sort is stable: hooks with the same priority stay in the order of registration.
  const hooks = table.hooks
    .filter((one) => one.event === event)
    .sort((a, b) => a.config.priority - b.config.priority)
  const work = runInOrder(table, options, event, payload, signal, hooks)
  const step = work.next()
  return step.done === true ? step.value : finishHooks(work, step.value)
}

/** Passes each answer that has to be waited for to the hooks after it. */
async function finishHooks<Outcome>(
  work: Generator<Promise<HandlerAnswer>, Outcome, HandlerAnswer>,
  waiting: Promise<HandlerAnswer>,
): Promise<Outcome> {
  let step = work.next(await waiting)
  while (step.done !== true) step = work.next(await step.value)
  return step.value
}

function* runInOrder<Name extends HookEventName>(
  table: HookTable,
  options: HooksOptions,
  event: Name,
  payload: HookPayloads[Name],
  signal: AbortSignal | undefined,
  hooks: readonly Hook[],
): Generator<Promise<HandlerAnswer>, HookOutcome<Name>, HandlerAnswer> {
  const { power } = factsOf(event)
  let current = payload
  for (const hook of hooks) {
    const asked = fits(hook, current, options)
    if (asked === 'no') continue
    hook.counts.runs += 1
    if (asked === 'yes' && hook.config.asyncExecution) {
      letRun(table, options, hook, eventOf(options, event, current))
      continue
    }
    const called =
      asked === 'yes'
        ? callHandler(hook, eventOf(options, event, current), options.after ?? afterTimeout, signal)
        : ({ action: 'failed', problem: asked.problem } as const)
    const answer = called instanceof Promise ? yield called : called
    if (answer.action === 'failed') {
      fail(options, hook, answer.problem)
      if (power !== 'gate') continue
      return block(hook, `The hook "${hook.id}" failed, so this is denied: ${answer.problem}`)
    }
    if (answer.action === 'aborted') {
      // Regardless of the hook's answer: nothing continues in an aborted run.
      if (power === 'gate') return block(hook, 'the run was aborted', false)
      break
    }
    if (answer.action === 'skip') break
    if (answer.action === 'block') {
      if (power !== 'observe') return block(hook, answer.reason)
      notify(options, hook, 'ignored', `it answered "block", and '${event}' can only be observed`)
    } else if (answer.action === 'continue' && answer.change !== undefined) {
      current = withChange(current, answer.change)
    }
  }
  return { action: 'continue', payload: current, changed: current !== payload }
}

/** Replaces fields of the payload. Facts that the gate derived from the old arguments do not apply to the new ones. */
function withChange<Payload extends object>(
  payload: Payload,
  change: Readonly<Record<string, unknown>>,
): Payload {
  const changed: Payload & { paths?: unknown; commands?: unknown } = { ...payload, ...change }
  if ('args' in change) {
    delete changed.paths
    delete changed.commands
  }
  return changed
}

/** Matches a hook. A matcher reads what a model wrote: if it throws on that, the hook has failed. */
function fits(hook: Hook, payload: object, { session }: HooksOptions): 'yes' | 'no' | { problem: string } {
  try {
    return hook.fits(payload, session) ? 'yes' : 'no'
  } catch {
    return { problem: 'its matcher could not be applied' }
  }
}

function eventOf<Name extends HookEventName>(
  { session, now }: HooksOptions,
  event: Name,
  payload: HookPayloads[Name],
): HookEvent {
  return {
    eventType: event,
    event_type: event,
    payload: { session_id: session.sessionId, ...payload },
    labels: labelsOf(session),
    // A clock that throws must not make a guard fail.
    timestampMs: tryOr(now, 0),
  } as HookEvent
}

/** Starts a hook without waiting for it. Its answer has no effect. */
function letRun(table: HookTable, options: HooksOptions, hook: Hook, event: HookEvent): void {
  const run = async (): Promise<void> => {
    // The hook's synchronous part must not delay a caller that does not wait.
    await Promise.resolve()
    const answer = await callHandler(hook, event, options.after ?? afterTimeoutLoosely, undefined)
    if (answer.action === 'failed') fail(options, hook, answer.problem)
    else if (answer.action === 'block' || (answer.action === 'continue' && answer.change !== undefined))
      notify(options, hook, 'ignored', `it runs asynchronously, so its "${answer.action}" changes nothing`)
  }
  table.loose ??= new Set()
  const { loose } = table
  const running = run().finally(() => loose.delete(running))
  loose.add(running)
}

function block(hook: Hook, reason: string, counted = true) {
  if (counted) hook.counts.blocks += 1
  return { action: 'block', reason, hookId: hook.id } as const
}

function fail(options: HooksOptions, hook: Hook, problem: string): void {
  hook.counts.failures += 1
  hook.counts.lastError = problem
  notify(options, hook, 'failed', problem)
}

function notify(options: HooksOptions, hook: Hook, kind: HookNotice['kind'], message: string): void {
  try {
    options.onNotice?.({ hookId: hook.id, event: hook.event, kind, message: `hook "${hook.id}": ${message}` })
  } catch {
    // An error of the function that receives notices cannot be reported to it.
  }
}

function afterTimeout(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms)
  return () => clearTimeout(timer)
}

/** Does not keep the process alive, because nothing waits for the timer. */
function afterTimeoutLoosely(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms)
  timer.unref()
  return () => clearTimeout(timer)
}
