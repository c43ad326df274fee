/** The protocol version; a supervisor with the same major version is compatible. */
export const protocolVersion = '2.4'

/**
 * Events that wait for a decision. Other events of the protocol have no point here at which a decision could apply.
 */
export const blockingEvents = [
  'pre_action',
  'pre_prompt',
  'planning',
  'memory_recall',
  'confirmation',
  'rate_limit',
] as const
export type BlockingEvent = (typeof blockingEvents)[number]

/** Events that only report. */
export const noticeEvents = [
  'post_action',
  'post_response',
  'session_start',
  'session_end',
  'error',
  'heartbeat',
  'success',
  'run_lifecycle',
  'task_list',
  'verification',
] as const
export type NoticeEvent = (typeof noticeEvents)[number]

/** An event that the supervisor receives or decides about. */
export type AhpEvent<Name extends BlockingEvent | NoticeEvent = BlockingEvent | NoticeEvent> = {
  readonly event_type: Name
  readonly session_id: string
  readonly agent_id: string
  /** RFC 3339. */
  readonly timestamp: string
  /** 0 for the session itself, 1 for its subagents, and so on. */
  readonly depth: number
  readonly payload: Readonly<Record<string, unknown>>
  readonly metadata?: Readonly<Record<string, unknown>>
}

/**
 * The maximum number of events in one batch, and the maximum depth of supervised agents; a supervisor can lower both.
 */
export const maxBatchSize = 100
export const deepestAgent = 10

export type Method = 'ahp/handshake' | 'ahp/event' | 'ahp/batch'

export function requestText(id: string, method: Method, params: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params })
}

export function noticeText(method: Method, params: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', method, params })
}
