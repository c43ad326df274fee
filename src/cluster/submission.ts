import { createHash, randomUUID } from 'node:crypto'
import { canonicalJson } from '../authority/canonical-json.js'
import type { RunSubmission } from '../run-queue/run-queue.js'
import type { SessionOptions } from '../session/options.js'
import type { Attachment } from '../session/request.js'
import { isSessionId, sessionIdRule } from '../session/session-id.js'
import { isRecord, type JsonObject } from '../tool/json.js'
import { ClusterError } from './errors.js'

/** A prompt for a worker of the cluster. */
export type SubmitRequest = {
  readonly prompt: string
  /** The session of the run. Default: a new one. */
  readonly sessionId?: string | undefined
  /** The name of one of the worker's workspaces. Default: that of the session, otherwise the first one. */
  readonly workspace?: string | undefined
  /** The same key of the same tenant identifies the same run, so a request that may have failed can be sent again. */
  readonly idempotencyKey?: string | undefined
  readonly lane?: string | undefined
  readonly priority?: number | undefined
  /** The run does not start before this time. */
  readonly notBefore?: Date | number | undefined
  readonly attachments?: readonly Attachment[] | undefined
  /** Metadata that approval policies and tools read as `run.metadata`. */
  readonly metadata?: JsonObject | undefined
  /** Options of the session. They can only restrict those of the worker: rules that deny or ask, a mode, limits. */
  readonly options?: SessionOptions | undefined
  readonly principal?: string | undefined
  readonly correlationId?: string | undefined
  /** The W3C trace context of the caller. Tools read it in `run.metadata`. */
  readonly traceparent?: string | undefined
}

/** What a worker reads from a submission. */
export type RunRequestData = {
  readonly workspace?: string | undefined
  readonly attachments: readonly Attachment[]
  readonly metadata: JsonObject
  readonly options: JsonObject
  readonly principal?: string | undefined
  readonly correlationId?: string | undefined
}

const maxNameLength = 200
const maxPriority = 1_000_000

/** Validates a request and converts it to a submission. The ids of a request with a key are derived from the key. */
export function submissionOf(
  request: SubmitRequest,
  { tenantId, tier }: { readonly tenantId?: string | undefined; readonly tier?: string | undefined },
): RunSubmission {
  const { prompt, attachments = [], lane = 'default', priority = 0, idempotencyKey, notBefore } = request
  if (typeof prompt !== 'string' || (prompt.trim() === '' && attachments.length === 0))
    throw invalid('The prompt is empty: describe the task.')
  // The worker would reject it much later, when the caller no longer waits.
  if (request.sessionId !== undefined && !isSessionId(request.sessionId))
    throw invalid(`sessionId must be ${sessionIdRule}.`)
  for (const name of ['workspace', 'idempotencyKey', 'lane', 'principal', 'correlationId'] as const)
    checkName(name, request[name])
  if (!Number.isInteger(priority) || Math.abs(priority) > maxPriority)
    throw invalid(`priority must be an integer from -${maxPriority} to ${maxPriority}.`)
  const notBeforeMs = notBefore === undefined ? undefined : Number(notBefore)
  if (notBeforeMs !== undefined && !Number.isFinite(notBeforeMs))
    throw invalid('notBefore must be a time: a Date, or milliseconds since 1970.')
  const data: JsonObject = JSON.parse(JSON.stringify(requestData(request)))
  // Excluded from the digest: a request that is sent again has another trace.
  const untraced = requestData({ ...request, traceparent: undefined, correlationId: undefined })
  const content = { prompt, sessionId: request.sessionId, lane, priority, notBeforeMs, data: untraced }
  const runId =
    idempotencyKey === undefined ? randomUUID() : `run-${digest([tenantId ?? '', idempotencyKey])}`
  return {
    runId,
    sessionId:
      request.sessionId ?? (idempotencyKey === undefined ? randomUUID() : `session-${runId.slice(4)}`),
    prompt,
    tenantId,
    tier,
    lane,
    priority,
    notBeforeMs,
    request: data,
    digest: digest(JSON.parse(JSON.stringify(content))),
  }
}

/** Whether an id is derived from an idempotency key. */
export function isDerivedSessionId(sessionId: string): boolean {
  return /^session-[0-9a-f]{40}$/.test(sessionId)
}

/** Reads the data of a submission. It comes from a queue that others may write to. */
export function readRequestData(data: JsonObject): RunRequestData {
  const { workspace, attachments, metadata, options, principal, correlationId } = data
  return {
    workspace: textOf(workspace),
    attachments: (Array.isArray(attachments) ? attachments : []).flatMap(attachmentIn),
    // Members of a JSON object are JSON.
    metadata: isRecord(metadata) ? (metadata as JsonObject) : {},
    options: isRecord(options) ? (options as JsonObject) : {},
    principal: textOf(principal),
    correlationId: textOf(correlationId),
  }
}

function requestData(request: SubmitRequest): Record<string, unknown> {
  const { workspace, attachments = [], metadata, options, principal, correlationId, traceparent } = request
  return {
    workspace,
    attachments: attachments.map(({ data, mediaType, name }) => ({
      data: typeof data === 'string' ? data : Buffer.from(data).toString('base64'),
      mediaType,
      name,
    })),
    metadata: traceparent === undefined ? metadata : { traceparent, ...metadata },
    options,
    principal,
    correlationId,
  }
}

function attachmentIn(given: unknown): Attachment[] {
  const { data, mediaType, name } = isRecord(given) ? given : {}
  if (typeof data !== 'string' || typeof mediaType !== 'string') return []
  return [{ data, mediaType, ...(typeof name === 'string' && { name }) }]
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function checkName(name: string, value: string | undefined): void {
  if (value === undefined) return
  if (typeof value !== 'string' || value === '' || value.length > maxNameLength)
    throw invalid(`${name} must be a string of 1 to ${maxNameLength} characters.`)
}

function digest(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex').slice(0, 40)
}

function invalid(message: string): ClusterError {
  return new ClusterError('submission_invalid', message)
}
