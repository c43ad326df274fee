import { type After, callHandler, type HandlerAnswer } from './call-handler.js'
import { factsOf, type HookEvent, type HookEventName, type HookLabels, type HookPayloads } from './events.js'
import { type Hook, type HookConfig, type HookHandler, readHook } from './hook.js'
import type { HookMatcher, HookPlace } from './matcher.js'

/** Whose hooks they are. */
export type HookSession = HookPlace & HookLabels

/** Something about a hook that its host should know. */
export type HookNotice = {
  readonly hookId: string
  readonly event: HookEventName
  readonly kind: 'failed' | 'ignored' | 'replaced'
  readonly message: string
}

export type HooksOptions = {
  /** Takes out of a payload what no hook may see. */
  readonly clean?: <Payload>(payload: Payload) => Payload
  readonly session: HookSession
  /** Milliseconds since the epoch. */
  now(): number
  readonly onNotice?: (notice: HookNotice) => void
  readonly after?: After
}

/** What hooks made of an event. `payload` is passed on, with their changes. */
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
  /** Adds a hook; one with the same id is replaced. Throws `HookError` for what would not do what it says. */
  register<Name extends HookEventName>(
    id: string,
    event: Name,
    matcher: HookMatcher | null | undefined,
    config: HookConfig | null | undefined,
    handler: HookHandler<Name>,
  ): void
  /** Whether there was one. */
  unregister(id: string): boolean
  count(): number
  list(): HookStatus[]
  /** Whether a hook listens to the event: without one there is nothing to run. */
  has(event: string): event is HookEventName
  /** Calls the hooks that listen, one after the other. Never rejects. */
  run<Name extends HookEventName>(
    event: Name,
    payload: HookPayloads[Name],
    options?: { readonly signal?: AbortSignal },
  ): Promise<HookOutcome<Name>>
  /** Whether no hook was registered, and no child session shares them. */
  isUnused(): boolean
  /** Resolves when no hook is running that is not waited for. */
  settled(): Promise<void>
  /** The same hooks for a child session: what is registered with either holds for both. */
  forSession(session: HookSession): Hooks
}

/**
 * Makes the hooks of a session. A hook on a gating event that throws, does not answer in time or says nothing that can
 * be understood blocks; on any other event that is reported and ignored.
 *
 * @example
 * const hooks = createHooks({ session: { sessionId: 's', workspace: '/ship' }, now: () => clock.now() })
 * hooks.register('no-push', 'pre_tool_use', { tool: 'bash', commandPattern: '\\bgit\\s+push\\b' }, {}, () => ({
 *   action: 'block',
 *   reason: 'Pushing is done by people.',
 * }))
 */
export function createHooks(options: HooksOptions): Hooks {
  const table: HookTable = { byId: new Map(), byEvent: new Map(), loose: new Set(), isUsed: false }
  return viewOf(table, options)
}

type HookTable = {
  readonly byId: Map<string, Hook>
  /** In the order in which they run; an array is never changed, so that a run in progress is not disturbed. */
  readonly byEvent: Map<HookEventName, readonly Hook[]>
  /** Running hooks that are not awaited. */
  readonly loose: Set<Promise<void>>
  /** Whether a hook was registered, or a child session shares the table. */
  isUsed: boolean
}

function viewOf(table: HookTable, options: HooksOptions): Hooks {
  return {
    session: options.session,
    register: (id, event, matcher, config, handler) => {
      const hook = readHook(id, event, matcher, config, handler)
      table.isUsed = true
      const before = table.byId.get(id)
      if (before !== undefined) {
        take(table, before)
        notify(options, hook, 'replaced', `it replaces the one for '${before.event}'`)
      }
      put(table, hook)
    },
    unregister: (id) => {
      const hook = table.byId.get(id)
      if (hook !== undefined) take(table, hook)
      return hook !== undefined
    },
    count: () => table.byId.size,
    list: () => [...table.byId.values()].map(statusOf),
    has: (event): event is HookEventName => table.byEvent.has(event as HookEventName),
    run: (event, payload, { signal } = {}) =>
      runHooks(table, options, event, options.clean?.(payload) ?? payload, signal),
    isUnused: () => !table.isUsed,
    settled: async () => {
      while (table.loose.size > 0) await Promise.all(table.loose)
    },
    forSession: (session) => {
      table.isUsed = true
      return viewOf(table, { ...options, session })
    },
  }
}

function put(table: HookTable, hook: Hook): void {
  table.byId.set(hook.id, hook)
  const others = table.byEvent.get(hook.event) ?? []
  // Sorting is stable: those of one priority stay as they were registered.
  const sorted = [...others, hook].sort((a, b) => a.config.priority - b.config.priority)
  table.byEvent.set(hook.event, sorted)
}

function take(table: HookTable, hook: Hook): void {
  table.byId.delete(hook.id)
  const left = (table.byEvent.get(hook.event) ?? []).filter((one) => one !== hook)
  if (left.length === 0) table.byEvent.delete(hook.event)
  else table.byEvent.set(hook.event, left)
}

function statusOf({ id, event, config, counts }: Hook): HookStatus {
  return { id, event, priority: config.priority, ...counts }
}

async function runHooks<Name extends HookEventName>(
  table: HookTable,
  options: HooksOptions,
  event: Name,
  payload: HookPayloads[Name],
  signal: AbortSignal | undefined,
): Promise<HookOutcome<Name>> {
  const { power } = factsOf(event)
  let current = payload
  for (const hook of table.byEvent.get(event) ?? []) {
    const asked = fits(hook, current, options)
    if (asked === 'no') continue
    hook.counts.runs += 1
    if (asked === 'yes' && hook.config.asyncExecution) {
      letRun(table, options, hook, eventOf(options, event, current))
      continue
    }
    const answer: HandlerAnswer =
      asked === 'yes'
        ? await callHandler(hook, eventOf(options, event, current), options.after ?? afterTimeout, signal)
        : { action: 'failed', problem: asked.problem }
    if (answer.action === 'failed') {
      fail(options, hook, answer.problem)
      if (power !== 'gate') continue
      return block(hook, `The hook "${hook.id}" failed, so this is not done: ${answer.problem}`)
    }
    if (answer.action === 'aborted') {
      // Whatever it answered: nothing continues in a run that was aborted.
      if (power === 'gate') return block(hook, 'the run was aborted', false)
      break
    }
    if (answer.action === 'skip') break
    if (answer.action === 'block') {
      if (power !== 'observe') return block(hook, answer.reason)
      notify(options, hook, 'ignored', `it answered "block", and '${event}' can only be watched`)
    } else if (answer.action === 'continue' && answer.change !== undefined) {
      current = withChange(current, answer.change)
    }
  }
  return { action: 'continue', payload: current, changed: current !== payload }
}

/** Facts that the gate derived from the old arguments do not apply to the new ones. */
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

/** A matcher works on what a model wrote: if it breaks over that, the hook has failed. */
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
  const { sessionId, tenantId, principal, agentTemplateId, correlationId } = session
  return {
    eventType: event,
    event_type: event,
    payload: { session_id: sessionId, ...payload },
    labels: {
      ...(tenantId === undefined ? {} : { tenantId }),
      ...(principal === undefined ? {} : { principal }),
      ...(agentTemplateId === undefined ? {} : { agentTemplateId }),
      ...(correlationId === undefined ? {} : { correlationId }),
    },
    timestampMs: timeFrom(now),
  } as HookEvent
}

/** A clock that fails must not fail a guard. */
function timeFrom(now: () => number): number {
  try {
    return now()
  } catch {
    return 0
  }
}

/** Starts a hook without waiting for it. Its answer comes too late to count. */
function letRun(table: HookTable, options: HooksOptions, hook: Hook, event: HookEvent): void {
  const run = async (): Promise<void> => {
    // Its synchronous part must not hold up a caller that does not wait.
    await Promise.resolve()
    const answer = await callHandler(hook, event, options.after ?? afterTimeoutLoosely, undefined)
    if (answer.action === 'failed') fail(options, hook, answer.problem)
    else if (answer.action === 'block' || (answer.action === 'continue' && answer.change !== undefined))
      notify(options, hook, 'ignored', `it runs asynchronously, so its "${answer.action}" changes nothing`)
  }
  const running = run().finally(() => table.loose.delete(running))
  table.loose.add(running)
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
    // A failure of the receiver of notices cannot be reported to it.
  }
}

function afterTimeout(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms)
  return () => clearTimeout(timer)
}

/** Keeps no process alive: it is not waited for. */
function afterTimeoutLoosely(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms)
  timer.unref()
  return () => clearTimeout(timer)
}
