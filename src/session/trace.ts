import type { SessionLabels } from '../feature/labels.js'
import type { CallRecord } from '../loop/gate-parts.js'
import { exitCodeOf, outputText } from '../tool/tool-result.js'
import type { NetworkRequest } from '../workspace/egress/network-request.js'
import { type FlatValue, flatten, unflatten } from './flat-value.js'

/** One tool call in the session's trace: its outcome, without its content. */
export type TraceEvent = SessionLabels & {
  readonly schema: 'capstan.trace_event.v1'
  readonly kind: 'tool_execution'
  readonly name: string
  readonly sessionId: string
  /** The run of the call; `host` for a direct call outside of runs. */
  readonly runId: string
  /** When the call ended, by the host's clock. */
  readonly timestampMs: number
  readonly callId: string
  readonly toolCallId?: string
  readonly origin: CallRecord['origin']
  readonly success: boolean
  readonly exitCode: number
  readonly durationMs: number
  readonly outputBytes: number
  readonly metadataKeys: readonly string[]
  /** The last step of the gate that the call reached; `done` when it ran. */
  readonly endedAt: CallRecord['endedAt']
  readonly verdict?: string
  readonly approval?: string
  /** The requests that commands of the call sent through the sandbox proxy; absent: none. */
  readonly network?: TraceNetwork
}

/** The requests of the commands of one call. */
export type TraceNetwork = {
  readonly requests: number
  readonly refused: number
  readonly bytesUp: number
  readonly bytesDown: number
  /** `host:port`, at most 20. */
  readonly hosts: readonly string[]
}

const noRequests: TraceNetwork = { requests: 0, refused: 0, bytesUp: 0, bytesDown: 0, hosts: [] }
const maxHosts = 20
const maxOpenCalls = 1_000
const maxFlattened = 256

export class Trace {
  readonly #session: SessionLabels & Pick<TraceEvent, 'sessionId'>
  readonly #most: number
  #events: TraceEvent[] = []
  /** The events of earlier runs, in a smaller form. */
  #earlier: FlatValue | undefined
  #requests: Map<string, TraceNetwork> | undefined

  /** `most`: the maximum number of events; absent or null: no maximum. */
  constructor(session: SessionLabels & Pick<TraceEvent, 'sessionId'>, most?: number | null) {
    this.#session = session
    this.#most = most ?? Number.POSITIVE_INFINITY
  }

  /** Adds a request to an active call. */
  addRequest(callId: string, request: NetworkRequest): void {
    this.#requests ??= new Map()
    const { requests, refused, bytesUp, bytesDown, hosts } = this.#requests.get(callId) ?? noRequests
    // Requests of background jobs can arrive after their call has ended, and would accumulate.
    if (this.#requests.size >= maxOpenCalls) this.#requests.clear()
    const count = request.count ?? 1
    const host = `${request.host}:${request.port}`
    this.#requests.set(callId, {
      requests: requests + count,
      refused: refused + (request.verdict === 'refused' ? count : 0),
      bytesUp: bytesUp + request.bytesUp,
      bytesDown: bytesDown + request.bytesDown,
      hosts: hosts.includes(host) || hosts.length >= maxHosts ? hosts : [...hosts, host],
    })
  }

  add(record: CallRecord): void {
    const { envelope } = record
    const network = this.#requests?.get(record.callId)
    this.#requests?.delete(record.callId)
    const event: { -readonly [Name in keyof TraceEvent]: TraceEvent[Name] } = {
      schema: 'capstan.trace_event.v1',
      kind: 'tool_execution',
      name: record.toolName,
      ...this.#session,
      runId: record.runId ?? 'host',
      timestampMs: record.startedAtMs + record.durationMs,
      callId: record.callId,
      origin: record.origin,
      success: envelope.type === 'output',
      exitCode: exitCodeOf(envelope),
      durationMs: record.durationMs,
      outputBytes: Buffer.byteLength(outputText(envelope)),
      metadataKeys: Object.keys(envelope.metadata),
      endedAt: record.endedAt,
    }
    if (record.toolCallId !== undefined) event.toolCallId = record.toolCallId
    if (record.verdict !== undefined) event.verdict = record.verdict.action
    if (record.approval !== undefined) event.approval = record.approval
    if (network !== undefined) event.network = network
    this.#events.push(event)
    if (this.#events.length <= this.#most + Math.max(16, this.#most >> 2)) return
    this.#events = this.#events.slice(-this.#most)
    this.#earlier = undefined
  }

  list(): TraceEvent[] {
    return this.#most === 0 ? [] : this.#all().slice(-this.#most)
  }

  /** Stores the events in a smaller form, because hosts rarely read them. */
  rest(): void {
    const events = this.list()
    if (events.length === 0 || events.length > maxFlattened) return
    const flat = flatten(events)
    if (flat === undefined) return
    this.#earlier = flat
    this.#events = []
  }

  #all(): TraceEvent[] {
    if (this.#earlier === undefined) return this.#events
    return [...(unflatten(this.#earlier) as TraceEvent[]), ...this.#events]
  }
}
