import { messageOf } from '../tool/errors.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import type { ExpandedCall } from './call.js'
import { describeDestruction } from './destructive-command.js'
import { describeExfiltration } from './exfiltration.js'
import type { Manifest } from './manifest.js'
import { type Action, actions, strictest, type Verdict } from './verdict.js'

/** The input of a watchdog: the call after validation and all rewriting, the agent's manifest, and the caller. */
export type WatchdogCall = {
  readonly tool: string
  readonly args: unknown
  /** The merged manifests of the configuration, the agent file and the session. */
  readonly manifest?: Manifest
  readonly session?: string
  /** The call split into commands, files and hosts. */
  readonly expanded: ExpandedCall
}

/** The answer of a watchdog. */
export type WatchdogVerdict = { readonly action: Action; readonly reason?: string }

/** Checks every call before it runs. It can only narrow: it cannot allow what rules and grant deny. */
export type Watchdog = (call: WatchdogCall) => WatchdogVerdict | Promise<WatchdogVerdict>

/** The time limit and the timer of a watchdog. */
export type WatchdogOptions = {
  /** The time limit for its answer; after it the call is denied. */
  readonly timeoutMs?: number
  /** Schedules a callback and returns a function that cancels it; a test or replay passes its own. */
  readonly after?: (ms: number, callback: () => void) => () => void
}

/**
 * Asks a watchdog. If it fails in any way, the call is denied: a guard that fails must not allow anything (SEC-229).
 */
export async function runWatchdog(
  watchdog: Watchdog,
  call: WatchdogCall,
  options: WatchdogOptions = {},
): Promise<Verdict> {
  return askWatchdog(watchdog, call, options)
}

/**
 * Does the same as `runWatchdog`, without a promise and a timer when the watchdog answers synchronously. Most do, and
 * a promise for each call would be most of their cost.
 */
export function askWatchdog(
  watchdog: Watchdog,
  call: WatchdogCall,
  options: WatchdogOptions = {},
): Verdict | Promise<Verdict> {
  const given = answer(watchdog, call)
  return isPromiseLike(given) ? inTime(given, options) : given
}

async function inTime(
  given: Promise<Verdict>,
  { timeoutMs = 5_000, after = afterTimeout }: WatchdogOptions,
): Promise<Verdict> {
  let cancel: (() => void) | undefined
  const late = new Promise<Verdict>((resolve) => {
    cancel = after(timeoutMs, () => resolve(deny(`the watchdog did not answer within ${timeoutMs} ms`)))
  })
  try {
    return await Promise.race([given, late])
  } finally {
    cancel?.()
  }
}

/** Combines several watchdogs: all are asked, and the strictest answer counts. */
export function combineWatchdogs(...watchdogs: readonly Watchdog[]): Watchdog {
  return (call) => {
    const given = watchdogs.map((watchdog) => answer(watchdog, call))
    if (given.some(isPromiseLike)) return Promise.all(given).then((verdicts) => strictest(...verdicts))
    return strictest(...(given as Verdict[]))
  }
}

/**
 * Passes a watchdog of the host a call whose members are all its own, so that the watchdog can copy or serialize it.
 * The gate creates the arguments only when they are read.
 */
export function hostWatchdog(watchdog: Watchdog): Watchdog {
  return ({ tool, args, expanded, manifest, session }) =>
    watchdog({ tool, args, expanded, ...omitUndefined({ manifest, session }) })
}

/**
 * The watchdog of every session: denies commands that would destroy the system or the user's home, and those that
 * look as if they send files, variables or command output elsewhere. It recognises known forms and can be evaded;
 * confinement does not depend on it.
 */
export const defaultWatchdog: (call: WatchdogCall) => Verdict = ({ expanded }) => {
  for (const analysis of expanded.commands) {
    const reason = describeDestruction(analysis, expanded.scope) ?? describeExfiltration(analysis)
    if (reason !== undefined) return deny(reason)
  }
  return { action: 'allow' }
}

/** Never rejects and never throws. */
function answer(watchdog: Watchdog, call: WatchdogCall): Verdict | Promise<Verdict> {
  try {
    const given = watchdog(call)
    return isPromiseLike(given) ? Promise.resolve(given).then(verdictFrom).catch(failed) : verdictFrom(given)
  } catch (error) {
    return failed(error)
  }
}

function verdictFrom(verdict: unknown): Verdict {
  if (!isVerdict(verdict)) return deny('the watchdog returned an invalid verdict')
  const { action, reason } = verdict
  if (action === 'allow') return { action }
  if (action === 'ask') return { action, ...(reason === undefined ? {} : { reason }) }
  return deny(reason ?? 'the watchdog denied the call without a reason')
}

function isVerdict(value: unknown): value is WatchdogVerdict {
  if (typeof value !== 'object' || value === null || !('action' in value)) return false
  if (!(actions as readonly unknown[]).includes(value.action)) return false
  return !('reason' in value) || value.reason === undefined || typeof value.reason === 'string'
}

function isPromiseLike<Value>(value: Value | Promise<Value>): value is Promise<Value> {
  return typeof value === 'object' && value !== null && 'then' in value
}

function failed(error: unknown): Verdict {
  return deny(`the watchdog failed: ${messageOf(error)}`)
}

function deny(reason: string): Verdict {
  return { action: 'deny', reason }
}

function afterTimeout(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms)
  return () => clearTimeout(timer)
}
