import { isRecord } from '../tool/json.js'
import { SupervisionError } from './errors.js'
import {
  type BlockingEvent,
  blockingEvents,
  deepestAgent,
  maxBatchSize,
  noticeEvents,
  protocolVersion,
} from './protocol.js'

/** The identity of the supervised session. */
export type Supervised = { readonly sessionId: string; readonly agentId: string; readonly version: string }

/** What was agreed in the handshake. A supervisor can lower our limits, never raise them. */
export type Agreement = {
  readonly name: string
  /** The events that the supervisor decides about. */
  readonly asks: ReadonlySet<BlockingEvent>
  readonly takesBatches: boolean
  readonly batchSize: number
  readonly maxDepth: number
  readonly timeoutMs: number
}

export function handshakeOf({ sessionId, agentId, version }: Supervised): Readonly<Record<string, unknown>> {
  return {
    protocol_version: protocolVersion,
    agent_info: {
      framework: 'capstan',
      version,
      capabilities: [...blockingEvents, ...noticeEvents, 'batch'],
    },
    session_id: sessionId,
    agent_id: agentId,
  }
}

/** Parses the answer to the handshake. Throws if it is invalid. */
export function readHandshake(answer: unknown, timeoutMs: number): Agreement {
  if (!isRecord(answer)) throw odd('its answer to the handshake is not an object')
  const { protocol_version: version, harness_info: info = {}, config } = answer
  if (typeof version !== 'string' || !/^\d+(\.\d+)*$/.test(version))
    throw odd('its answer to the handshake names no protocol_version')
  if (version.split('.')[0] !== protocolVersion.split('.')[0])
    throw odd(`it speaks version ${version.slice(0, 20)} of the protocol, not ${protocolVersion}`)
  if (!isRecord(info)) throw odd('its harness_info is not an object')
  const { name, capabilities = [] } = info
  if (!Array.isArray(capabilities) || !capabilities.every((one) => typeof one === 'string'))
    throw odd('its capabilities are not a list of names')
  const limits = config === undefined || config === null ? {} : config
  if (!isRecord(limits)) throw odd('its config is not an object')
  return {
    name: typeof name === 'string' ? name : 'the supervisor',
    asks: asksOf(capabilities),
    takesBatches: capabilities.includes('batch'),
    batchSize: least(limits, 'batch_size', maxBatchSize, 1),
    maxDepth: least(limits, 'max_depth', deepestAgent, 0),
    timeoutMs: least(limits, 'timeout_ms', timeoutMs, 1),
  }
}

/** A supervisor that names no events is asked about calls and prompts, because silence does not mean none. */
function asksOf(capabilities: readonly string[]): ReadonlySet<BlockingEvent> {
  const named = blockingEvents.filter((event) => capabilities.includes(event))
  return new Set(named.length > 0 ? named : ['pre_action', 'pre_prompt'])
}

function least(limits: Readonly<Record<string, unknown>>, name: string, ours: number, low: number): number {
  const theirs = limits[name]
  if (theirs === undefined || theirs === null) return ours
  if (typeof theirs !== 'number' || !(theirs >= low))
    throw odd(`its config.${name} is not a number from ${low} on`)
  return Math.min(ours, Math.floor(theirs))
}

function odd(problem: string): SupervisionError {
  return new SupervisionError('supervision_protocol', problem)
}
