import type { Rule } from '../../authority/rule.js'
import type { SessionLabels } from '../../feature/labels.js'
import type { RunTotals } from '../../loop/run-parts.js'
import { addUsage } from '../../loop/usage.js'
import { blobDigests, foldSession } from '../../store/fold-session.js'
import type { CheckpointRow } from '../../store/records.js'
import type { SessionState, StoredMessage } from '../../store/session-state.js'
import type { SessionStore, StoredSession } from '../../store/session-store.js'
import type { Todo } from '../../store/todo.js'
import type { JsonObject } from '../../tool/json.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import type { SessionOptions } from '../options.js'
import { sum, usageFrom } from '../spending.js'
import { restrictingRules, restrictions, restrictionsIn } from './restored-authority.js'

/** A session that was read from its store, with the number of its records. */
export type RestoredSession = SessionState & {
  readonly recordCount: number
  readonly damage?: string
  /** The number of system messages that were left out. */
  readonly systemMessages?: number
}

/** Reads a session synchronously, from stores that support it; undefined when there is none. */
export function loadNow(store: SessionStore, sessionId: string): RestoredSession | undefined {
  const stored = store.readSync?.(sessionId)
  return stored && restored(stored, (digest) => store.readBlobSync?.(sessionId, digest))
}

/** Reads a session from any store; undefined when there is none. */
export async function load(store: SessionStore, sessionId: string): Promise<RestoredSession | undefined> {
  const stored: StoredSession | undefined = await store.read(sessionId)
  if (stored === undefined) return undefined
  const blobs = new Map<string, Uint8Array>()
  for (const digest of blobDigests(stored.records)) {
    const bytes = await store.readBlob(sessionId, digest)
    if (bytes !== undefined) blobs.set(digest, bytes)
  }
  return restored(stored, (digest) => blobs.get(digest))
}

function restored(
  { records, damage }: StoredSession,
  readBlob: (digest: string) => Uint8Array | undefined,
): RestoredSession {
  const state = foldSession(records, { readBlob })
  const systemMessages = state.order.filter(isSystem).length
  return {
    ...(systemMessages === 0 ? state : withoutSystemMessages(state)),
    recordCount: records.length,
    ...omitUndefined({ damage }),
    ...(systemMessages > 0 && { systemMessages }),
  }
}

/** Removes system messages. No session writes them into its log, so they were added from outside. */
function withoutSystemMessages(state: SessionState): SessionState {
  const others = (messages: readonly StoredMessage[]): StoredMessage[] =>
    messages.filter((one) => !isSystem(one))
  return {
    ...state,
    messages: others(state.messages),
    order: others(state.order),
    view: others(state.view),
  }
}

function isSystem({ message }: StoredMessage): boolean {
  return message.role === 'system'
}

/** Returns the options that the log of a session has: plain data that applies for the whole session. Never a key. */
export function optionsToKeep(options: SessionOptions): JsonObject {
  const kept = Object.fromEntries(
    keptNames.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])),
  )
  const { model, network } = options
  return JSON.parse(
    JSON.stringify({
      ...kept,
      model: typeof model === 'string' ? model : undefined,
      // A log contains no keys: a resumed session gets them from its host.
      network: network && { ...network, secrets: undefined },
    }),
  )
}

const keptNames = Object.keys(restrictions) as readonly (keyof typeof restrictions)[]

/**
 * Returns the options of a resumed session. Options from the host take precedence. Authority is never restored from the
 * log unless the host trusts its store: then everything is restored. `leftOut` lists the options in the log that the
 * session does not get.
 */
export function withRestored(
  given: SessionOptions,
  state: RestoredSession | undefined,
  defaults: SessionOptions = {},
): { readonly options: SessionOptions; readonly leftOut: readonly string[] } {
  const row = state?.session
  if (row === undefined) return { options: given, leftOut: [] }
  // The labels were valid options when they were written, and are checked with the other options.
  const labels = row.labels as SessionLabels | undefined
  if (given.trustStore === true) {
    const mode = typeof row.mode === 'string' && { mode: row.mode as NonNullable<SessionOptions['mode']> }
    return { options: { ...(row.options as SessionOptions), ...labels, ...mode, ...given }, leftOut: [] }
  }
  const { options, leftOut } = restrictionsIn(row, given, defaults)
  const allows = row.rules?.some(({ action }) => action === 'allow') === true
  return {
    options: { ...options, ...labels, ...given },
    leftOut: [
      ...leftOut,
      ...(allows ? ['rules that allow'] : []),
      ...(state?.systemMessages === undefined ? [] : ['system messages']),
    ],
  }
}

export function restoredTodos(state: SessionState | undefined): readonly Todo[] {
  return state?.session?.todos ?? []
}

/**
 * Returns the rules that were approved for the session. If the host does not trust the log, only rules that restrict.
 */
export function restoredRules(state: SessionState | undefined, options: SessionOptions): readonly Rule[] {
  return options.trustStore === true ? (state?.session?.rules ?? []) : restrictingRules(state, options)
}

/** Returns a run with all runs that it resumed and that resumed it: they are one piece of work. */
export function familyOf({ runs }: SessionState, runId: string): ReadonlySet<string> {
  let first = runId
  for (const seen = new Set<string>(); !seen.has(first); ) {
    seen.add(first)
    first = runs.get(first)?.resumedFrom ?? first
  }
  const family = new Set([first, runId])
  for (const { id, resumedFrom } of runs.values())
    if (resumedFrom !== undefined && family.has(resumedFrom)) family.add(id)
  return family
}

/** Returns the last finished round of these runs. */
export function lastCheckpoint(
  { checkpoints }: SessionState,
  family: ReadonlySet<string>,
): CheckpointRow | undefined {
  return [...checkpoints.values()].findLast(({ runId }) => family.has(runId))
}

/** Returns how long these runs were active, each from its start to its last record in the log. */
export function elapsedIn({ runs, checkpoints }: SessionState, family: ReadonlySet<string>): number {
  const ends = new Map<string, number>()
  for (const { runId, atMs } of checkpoints.values())
    if (family.has(runId)) ends.set(runId, Math.max(atMs, ends.get(runId) ?? 0))
  let elapsed = 0
  for (const id of family) {
    const run = runs.get(id)
    if (run === undefined) continue
    elapsed += Math.max(0, Math.max(run.updatedAtMs, ends.get(id) ?? 0) - run.createdAtMs)
  }
  return elapsed
}

/** Returns the usage of these runs: the totals of the checkpoint, plus the answers of the interrupted round. */
export function totalsOf(
  { messages }: SessionState,
  family: ReadonlySet<string>,
  checkpoint: CheckpointRow | undefined,
): RunTotals {
  const own = messages.filter(({ row }) => row.runId !== undefined && family.has(row.runId))
  const at = checkpoint === undefined ? -1 : own.findIndex(({ id }) => id === checkpoint.messageId)
  const later = own.slice(checkpoint !== undefined && at < 0 ? own.length : at + 1)
  const costUsd = later.reduce((cost, { row }) => sum(cost, row.costUsd), checkpoint?.costUsd)
  return {
    usage: later.reduce(
      (usage, { row }) => addUsage(usage, usageFrom(row.usage)),
      usageFrom(checkpoint?.usage),
    ),
    ...omitUndefined({ costUsd }),
    toolCallsCount: checkpoint?.toolCallsCount ?? 0,
    rounds: (checkpoint?.round ?? 0) + later.filter(({ row }) => row.usage !== undefined).length,
    toolRounds: own.filter(({ message }) => message.role === 'tool').length,
  }
}
