import { messageOf } from '../tool/errors.js'
import type { ExpandedCall } from './call.js'
import { describeDestruction } from './destructive-command.js'
import { describeExfiltration } from './exfiltration.js'
import type { Manifest } from './manifest.js'
import { type Action, actions, strictest, type Verdict } from './verdict.js'

/** What a watchdog sees: the call after validation and all rewriting, the agent's manifest, and the caller. */
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

/** Asks a watchdog. Every failure of it denies the call: a guard that fails must not allow anything (SEC-229). */
export async function runWatchdog(
  watchdog: Watchdog,
  call: WatchdogCall,
  { timeoutMs = 5_000, after = afterTimeout }: WatchdogOptions = {},
): Promise<Verdict> {
  let cancel: (() => void) | undefined
  const late = new Promise<Verdict>((resolve) => {
    cancel = after(timeoutMs, () => resolve(deny(`the watchdog did not answer within ${timeoutMs} ms`)))
  })
  try {
    return await Promise.race([answer(watchdog, call), late])
  } catch (error) {
    return deny(`the watchdog failed: ${messageOf(error)}`)
  } finally {
    cancel?.()
  }
}

/** Combines several watchdogs: all are asked, and the strictest answer counts. */
export function combineWatchdogs(...watchdogs: readonly Watchdog[]): Watchdog {
  return async (call) => {
    const verdicts = await Promise.all(watchdogs.map((watchdog) => answer(watchdog, call)))
    return strictest(...verdicts)
  }
}

/**
 * The watchdog of every session: denies commands that would destroy the system or the user's home, and those that
 * look as if they send files, variables or command output elsewhere. It recognises forms and can be fooled;
 * confinement does not depend on it.
 */
export const defaultWatchdog: (call: WatchdogCall) => Verdict = ({ expanded }) => {
  for (const analysis of expanded.commands) {
    const reason = describeDestruction(analysis, expanded.scope) ?? describeExfiltration(analysis)
    if (reason !== undefined) return deny(reason)
  }
  return { action: 'allow' }
}

async function answer(watchdog: Watchdog, call: WatchdogCall): Promise<Verdict> {
  const verdict: unknown = await watchdog(call)
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

function deny(reason: string): Verdict {
  return { action: 'deny', reason }
}

function afterTimeout(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms)
  return () => clearTimeout(timer)
}
