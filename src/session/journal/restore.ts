import type { Rule } from '../../authority/rule.js'
import { addUsage, noUsage, type Usage } from '../../loop/usage.js'
import { blobDigests, foldSession } from '../../store/fold-session.js'
import type { SessionState } from '../../store/session-state.js'
import type { SessionStore, StoredSession } from '../../store/session-store.js'
import type { JsonObject } from '../../tool/json.js'
import type { Todo } from '../../tool/runtime.js'
import type { SessionLabels, SessionOptions } from '../options.js'

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
  'maxToolRounds',
  'maxParseRetries',
  'circuitBreakerThreshold',
  'duplicateToolCallThreshold',
  'maxExecutionTimeMs',
  'roundTimeoutMs',
  'modelIdleTimeoutMs',
  'llmApiTimeoutMs',
  'maxParallelTasks',
  'continuationEnabled',
  'maxContinuationTurns',
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

/** What all runs so far have used. */
export function restoredUsage(state: SessionState | undefined): Usage {
  let usage = noUsage
  for (const { row } of state?.messages ?? []) usage = addUsage(usage, usageIn(row.usage))
  return usage
}

/** What one run has used, as far as its messages tell: the answers of a round that was cut off count too. */
export function totalsOfRun(
  state: SessionState,
  runId: string,
): { usage: Usage; toolCallsCount: number; rounds: number; toolRounds: number } {
  let usage = noUsage
  let toolCallsCount = 0
  let rounds = 0
  let toolRounds = 0
  for (const { row, message } of state.messages) {
    if (row.runId !== runId) continue
    usage = addUsage(usage, usageIn(row.usage))
    if (message.role === 'assistant') rounds++
    if (message.role !== 'tool') continue
    toolRounds++
    toolCallsCount += message.content.length
  }
  return { usage, toolCallsCount, rounds, toolRounds }
}

function usageIn(row: JsonObject | undefined): Usage {
  return { ...noUsage, ...(row as Partial<Usage> | undefined) }
}
