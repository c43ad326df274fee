import type { Rule } from '../../authority/rule.js'
import type { RunTotals } from '../../loop/run-parts.js'
import { addUsage } from '../../loop/usage.js'
import { blobDigests, foldSession } from '../../store/fold-session.js'
import type { CheckpointRow } from '../../store/records.js'
import type { SessionState } from '../../store/session-state.js'
import type { SessionStore, StoredSession } from '../../store/session-store.js'
import type { JsonObject } from '../../tool/json.js'
import type { Todo } from '../../tool/runtime.js'
import { limitNames } from '../limit-names.js'
import type { SessionLabels, SessionOptions } from '../options.js'
import { sum, usageFrom } from '../spending.js'

/** A session as it was read, and how much of it there was. */
export type RestoredSession = SessionState & { readonly recordCount: number; readonly damage?: string }

/** What is kept of a session, for stores that can say it at once; undefined when there is nothing. */
export function loadNow(store: SessionStore, sessionId: string): RestoredSession | undefined {
  const stored = store.readSync?.(sessionId)
  return stored && restored(stored, (digest) => store.readBlobSync?.(sessionId, digest))
}

/** The same for every store. */
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
  return {
    ...foldSession(records, { readBlob }),
    recordCount: records.length,
    ...(damage !== undefined && { damage }),
  }
}

/** Options that are plain data and hold for as long as the session lives. Never a key: those are the configuration's. */
const keptOptions = [
  'role',
  'guidelines',
  'responseStyle',
  'extra',
  'temperature',
  'maxTokens',
  'thinkingBudget',
  'planningMode',
  'goalTracking',
  'permissionPolicy',
  'confirmationPolicy',
  'ceiling',
  'mode',
  'sandbox',
  'network',
  'roots',
  'builtinTools',
  'retentionLimits',
  'autoCompact',
  'autoCompactThreshold',
  'toolTimeoutMs',
  'whenBusy',
  'instructionFiles',
  'skillDirs',
  'inlineSkills',
  'builtinSkills',
  'discoverSkills',
  'agentDirs',
  'workerAgents',
  'discoverAgents',
  'verify',
  ...limitNames,
] as const satisfies readonly (keyof SessionOptions)[]

/** The options of a session as its log keeps them. */
export function optionsToKeep(options: SessionOptions): JsonObject {
  const kept = Object.fromEntries(
    keptOptions.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]]])),
  )
  return JSON.parse(
    JSON.stringify({ ...kept, ...(typeof options.model === 'string' && { model: options.model }) }),
  )
}

/** The options of a session that goes on: what is given now wins over what was kept. */
export function withRestored(given: SessionOptions, state: SessionState | undefined): SessionOptions {
  const { options, labels, mode } = state?.session ?? {}
  // They were options when they were written, and are checked with the others.
  return {
    ...(options as SessionOptions | undefined),
    ...(labels as SessionLabels | undefined),
    ...(typeof mode === 'string' && { mode: mode as NonNullable<SessionOptions['mode']> }),
    ...given,
  }
}

export function restoredTodos(state: SessionState | undefined): readonly Todo[] {
  return state?.session?.todos ?? []
}

export function restoredRules(state: SessionState | undefined): readonly Rule[] {
  return state?.session?.rules ?? []
}

/** A run with all that went on from it and all that it went on from: they are one piece of work. */
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

/** The last finished round of these runs. */
export function lastCheckpoint(
  { checkpoints }: SessionState,
  family: ReadonlySet<string>,
): CheckpointRow | undefined {
  return [...checkpoints.values()].findLast(({ runId }) => family.has(runId))
}

/** What these runs have used: up to the checkpoint as it says, and the answers of the round that was cut off. */
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
    ...(costUsd !== undefined && { costUsd }),
    toolCallsCount: checkpoint?.toolCallsCount ?? 0,
    rounds: (checkpoint?.round ?? 0) + later.filter(({ row }) => row.usage !== undefined).length,
    toolRounds: own.filter(({ message }) => message.role === 'tool').length,
  }
}
