import { signal } from '@preact/signals'
import { type CapstanClient, createClient, ProblemError } from '../../src/client/client.js'
import type { Operations } from '../../src/client/operations.js'
import { readEventStream } from '../../src/client/read-event-stream.js'
import type { AgentEvent } from '../../src/loop/events.js'

/** An event of a run with its number and its time. */
export type TimedEvent = {
  readonly runId: string
  readonly sequence: number
  readonly timestampMs: number
  readonly event: AgentEvent
  /** The number of characters of its texts that were not read. */
  readonly cutChars?: number | undefined
}

export type SessionInfo = Operations['listSessions']['output']['sessions'][number]
export type SessionDetails = Operations['getSession']['output']
export type Run = Operations['getRun']['output']
export type Approval = Operations['listApprovals']['output']['approvals'][number]
export type Question = Operations['listQuestions']['output']['questions'][number]
export type FileChange = Operations['listChanges']['output']['changes'][number]
export type Visitor = { readonly principal: string; readonly readsOnly?: string | undefined }

/** The signed-in user; null when no user is signed in, undefined when that is not known yet. */
export const visitor = signal<Visitor | null | undefined>(undefined)
/** Whether the last request reached the server. */
export const isConnected = signal(true)

// Stored for this origin, which includes the port: pages of other servers on this machine cannot read it.
const csrfKey = 'capstan-csrf'

const send: typeof fetch = async (input, init) => {
  const headers = new Headers(init?.headers)
  const csrf = localStorage.getItem(csrfKey)
  if (csrf !== null && !headers.has('authorization')) headers.set('x-capstan-csrf', csrf)
  try {
    const response = await fetch(input, { ...init, headers, credentials: 'same-origin' })
    isConnected.value = true
    if (response.status === 401 && visitor.value !== undefined) visitor.value = null
    return response
  } catch (error) {
    if (!init?.signal?.aborted) isConnected.value = false
    throw error
  }
}

export const client: CapstanClient = createClient({ url: location.origin, fetch: send })

/** Signs in with the code in the URL, or reads which user is already signed in. */
export async function startVisit(): Promise<void> {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1]
  if (code !== undefined) {
    // The code is valid once and must not stay in the browser history.
    history.replaceState(null, '', location.pathname)
    if (await signInWith(code)) return
  }
  visitor.value = await client.call('getInspector', {}).catch(() => null)
}

export async function signInWith(code: string): Promise<boolean> {
  try {
    const { csrf, principal, readsOnly } = await client.call('signIn', { body: { code } })
    localStorage.setItem(csrfKey, csrf)
    visitor.value = { principal, readsOnly }
    return true
  } catch (error) {
    if (error instanceof ProblemError) return false
    throw error
  }
}

/** Signs in with the server token, which is immediately exchanged for a code and not saved. */
export async function signInWithToken(token: string): Promise<boolean> {
  try {
    const { code } = await client.call('createInspectorCode', {
      headers: { authorization: `Bearer ${token}` },
    })
    return await signInWith(code)
  } catch (error) {
    if (error instanceof ProblemError || error instanceof TypeError) return false
    throw error
  }
}

export async function signOut(): Promise<void> {
  await client.call('signOut', {}).catch(() => undefined)
  localStorage.removeItem(csrfKey)
  visitor.value = null
}

/** Longer texts of events are read when they are shown. */
const maxText = 2_000
/** The first page is small, so that it is shown early; the next ones fill the list. */
const firstPage = 200
const nextPages = 2_000
/** Higher numbers are those of a run that continued this one in another process. */
const sequencesPerProcess = 1_000_000_000

/** Yields the stored events of a run, then new ones, across lost connections, until the run ends or `signal` aborts. */
export async function* followRun(
  sessionId: string,
  runId: string,
  signal: AbortSignal,
): AsyncGenerator<TimedEvent[], void, undefined> {
  const params = { sessionId, runId }
  let from = 0
  for (let wait = firstWaitMs; !signal.aborted; ) {
    try {
      for (;;) {
        const query = { from, limit: from === 0 ? firstPage : nextPages, maxText }
        const { events, isLast } = await client.call('listRunEvents', { params, query }, signal)
        from = events.at(-1)?.sequence ?? from
        wait = firstWaitMs
        const timed = events.map((one) => ({ ...one, runId })) as TimedEvent[]
        if (timed.length > 0) yield timed
        const last = timed.at(-1)?.event
        if (last !== undefined && isEnd(last)) return
        if (isLast) break
      }
      const query = { from, timed: true, resume: false, maxText }
      const { status, body } = await client.send('watchRun', { params, query }, signal)
      if (status === 204 || body === null) return
      let ended = false
      for await (const { id, data } of readEventStream(body)) {
        const { timestampMs, event, cutChars } = JSON.parse(data) as TimedEvent
        from = id === undefined ? from : Number(id)
        // The run that continues one that was cut off is in the list of runs, and followed there.
        if (from > sequencesPerProcess) return
        ended = isEnd(event)
        yield [{ runId, sequence: from, timestampMs, event, cutChars }]
      }
      if (ended) return
      // A run that was cut off has no more events until it is resumed.
      const { status: state } = await client.call('getRun', { params }, signal)
      if (state !== 'running' && state !== 'queued') return
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof ProblemError && error.status < 500) return
    }
    await new Promise((resolve) => setTimeout(resolve, wait))
    wait = Math.min(wait * 2, maxWaitMs)
  }
}

/** One event with its whole texts; undefined when the run no longer has it. */
export async function readWhole(
  sessionId: string,
  runId: string,
  sequence: number,
  signal: AbortSignal,
): Promise<TimedEvent | undefined> {
  const query = { from: sequence - 1, limit: 1 }
  const { events } = await client.call('listRunEvents', { params: { sessionId, runId }, query }, signal)
  const [event] = events.map((one) => ({ ...one, runId })) as TimedEvent[]
  return event?.sequence === sequence ? event : undefined
}

const firstWaitMs = 500
const maxWaitMs = 10_000

function isEnd({ type }: AgentEvent): boolean {
  return type === 'agent_end' || type === 'error' || type === 'agent_cancelled'
}

/** A text for the user about a request that failed. */
export function describeFailure(error: unknown): string {
  if (error instanceof ProblemError) return error.message
  return error instanceof Error ? error.message : 'The request failed.'
}
