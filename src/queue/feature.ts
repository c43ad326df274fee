import { readable } from '../feature/option-check.js'
import type { SessionFeature } from '../feature/session-feature.js'
import type { GateParts } from '../loop/gate-parts.js'
import type { ToolResult } from '../tool/tool-result.js'
import { readQueueConfig } from './config.js'
import { QueueError } from './errors.js'
import {
  type QueueFeatureOptions,
  type QueueSession,
  type RetryDeadLetterOptions,
  SessionQueue,
} from './session-queue.js'

export type { QueueFeatureOptions, RetryDeadLetterOptions } from './session-queue.js'

/** The lanes that calls wait in. Nothing is loaded before the first call enters a lane. */
export const queueFeature: SessionFeature<
  SessionQueue,
  QueueFeatureOptions & { readonly trustStore?: boolean }
> = {
  name: 'queue',
  create: (session) => new SessionQueue(session),
  close: (queue) => queue.close(),
  options: { queueConfig: readable(readQueueConfig) },
  gate(session) {
    const lane = laneOf(session)
    return lane && { lane }
  },
  canResumeCall: hasTask,
  forgetCalls: (session) => session.peek(queueFeature)?.forgetCalls(),
}

/** Returns the lane step of the gate. Calls of subagents use the lanes of the session they work for. */
function laneOf(session: QueueSession): GateParts['lane'] {
  const parent = session.parent && laneOf(session.parent.session)
  // The log of this session has no tasks for calls of its subagents, so a later process cannot make them again.
  if (parent !== undefined) return (call, run) => parent({ ...call, toolCallId: undefined }, run)
  if (session.options.queueConfig === undefined) return undefined
  return (call, run) => session.use(queueFeature).pass(call, run)
}

/** Whether calls pass lanes: the session was created with `queueConfig`. */
export function hasQueue({ options }: QueueSession): boolean {
  return options.queueConfig !== undefined
}

/** Returns the session's queue. Throws `QueueError` in a session without lanes. */
export function queueOf(session: QueueSession): SessionQueue {
  session.assertOpen()
  if (hasQueue(session)) return session.use(queueFeature)
  throw new QueueError(
    'queue_not_configured',
    'This session has no lane queue: give it the option queueConfig, {} is enough.',
  )
}

/** Whether a call that an earlier process offered to workers can be made again: its outcome comes from the task. */
function hasTask(session: QueueSession, messageId: string, callId: string): boolean {
  const { restored, options, parent } = session
  if (parent !== undefined || options.queueConfig === undefined) return false
  // An engine of the host stores its own tasks.
  if (options.queueConfig.engine !== undefined) return false
  return [...(restored?.queue?.tasks.values() ?? [])].some(
    (open) => open.messageId === messageId && open.task.callId === callId,
  )
}

/** Makes the call of a dead letter again, as a direct call of the host, and removes the letter. */
export async function retryDeadLetter(
  session: QueueSession,
  commandId: string,
  options: RetryDeadLetterOptions,
): Promise<ToolResult> {
  const { commandType, payload } = await queueOf(session).takeDeadLetter(commandId, options)
  return session.callTool(commandType, payload)
}
