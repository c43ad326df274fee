import { isRecord } from '../tool/json.js'
import type { PartRow } from './records.js'

/** Returns the problem of a row from an external source; undefined when it can be used. Unknown fields are ignored. */
export function problemIn(type: string, data: unknown): string | undefined {
  const fields = Object.hasOwn(rows, type) ? rows[type] : undefined
  if (fields === undefined)
    return `the type ${JSON.stringify(type.slice(0, 40))} is not known here: ${Object.keys(rows).join(', ')}.`
  if (!isRecord(data)) return 'its data is not an object.'
  for (const [name, check] of Object.entries(fields)) {
    const problem = check(data[name])
    if (problem !== undefined) return `${type}.${name} ${problem}.`
  }
  return undefined
}

type Check = (value: unknown) => string | undefined

const text: Check = (value) => (typeof value === 'string' ? undefined : 'must be a string')
const id: Check = (value) =>
  typeof value === 'string' && value !== '' && value.length <= maxIdLength
    ? undefined
    : `must be a string of 1 to ${maxIdLength} characters`
const number: Check = (value) =>
  typeof value === 'number' && Number.isFinite(value) ? undefined : 'must be a number'
const object: Check = (value) => (isRecord(value) ? undefined : 'must be an object')
const named: Check = (value) =>
  isRecord(value) && typeof value['name'] === 'string' ? undefined : 'must be an object with a name'
const optional =
  (check: Check): Check =>
  (value) =>
    value === undefined ? undefined : check(value)
const oneOf =
  (...names: readonly string[]): Check =>
  (value) =>
    typeof value === 'string' && names.includes(value) ? undefined : `must be one of ${names.join(', ')}`

const maxIdLength = 1_000
/** More parts than any message has. The limit prevents that one large index creates a huge message. */
const maxParts = 100_000

const index: Check = (value) =>
  Number.isInteger(value) && typeof value === 'number' && value >= -1 && value < maxParts
    ? undefined
    : `must be an integer from -1 to ${maxParts - 1}`

/** The types of parts, with their required fields. */
const pieces: Readonly<Record<PartRow['content']['type'], Readonly<Record<string, Check>>>> = {
  text: { text },
  image: { data: text },
  document: { data: text },
  reasoning: { text },
  tool_call: { id, function: named },
  tool_result: { id, content: list(object) },
  tool_intent: { callId: id, toolName: text, args: text, startedAtMs: number },
  tool_question: {
    callId: id,
    toolName: text,
    args: text,
    key: id,
    policy: id,
    written: id,
    askedAtMs: number,
  },
  tool_outcome: { callId: id, envelope: object },
  tool_question_refused: { callId: id, message: text, atMs: number },
  tool_step: { callId: id },
  file_change: { runId: id, path: text, atMs: number },
  verification: { report: object },
  offered_checks: { checks: list(object) },
  task: {
    taskId: id,
    childSessionId: id,
    agent: text,
    description: text,
    status: oneOf('queued', 'running', 'completed', 'failed', 'cancelled', 'interrupted'),
    startedAtMs: number,
    updatedAtMs: number,
    output: optional(text),
    counters: object,
  },
  queue_task: {
    taskId: id,
    state: oneOf('offered', 'begun', 'completed', 'ended'),
    callId: optional(id),
    lane: optional(text),
    toolName: optional(text),
    args: optional(text),
    argsDigest: optional(text),
    timeoutMs: optional(number),
    attempt: optional(number),
    leaseId: optional(id),
    worker: optional(text),
    completion: optional(object),
  },
  dead_letter: {
    commandId: id,
    toolName: optional(text),
    lane: optional(text),
    args: optional(text),
    error: optional(text),
    attempts: optional(number),
    failedAtMs: optional(number),
  },
  lane_handler: { lane: text, mode: text, timeoutMs: optional(number) },
  blob: { digest: id, bytes: number, stub: (value) => contentProblem(value, 'blob') },
}

/** Returns the problem of a part from an external source. */
export function contentProblem(value: unknown, except?: string): string | undefined {
  if (!isRecord(value) || typeof value['type'] !== 'string' || value['type'] === except)
    return 'must be an object with a type'
  const known: Readonly<Record<string, Readonly<Record<string, Check>>>> = pieces
  const fields = Object.hasOwn(known, value['type']) ? known[value['type']] : undefined
  if (fields === undefined)
    return `has the type ${JSON.stringify(value['type'].slice(0, 40))}, which is not known`
  for (const [name, check] of Object.entries(fields)) {
    const problem = check(value[name])
    if (problem !== undefined) return `of the type ${value['type']}: ${name} ${problem}`
  }
  return undefined
}

function list(check: Check): Check {
  return (value) =>
    Array.isArray(value) ? value.map(check).find((problem) => problem !== undefined) : 'must be a list'
}

const rows: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  session: {
    id,
    schemaVersion: number,
    updatedAtMs: number,
    labels: optional(object),
    options: optional(object),
    rules: optional(list(object)),
    todos: optional(list(object)),
  },
  message: {
    id,
    sessionId: text,
    role: oneOf('system', 'user', 'assistant', 'tool', 'compaction'),
    createdAtMs: number,
    usage: optional(object),
    pruned: optional(list(text)),
  },
  part: { id, messageId: text, sessionId: text, index, content: (value) => contentProblem(value) },
  run: {
    id,
    sessionId: text,
    status: oneOf('queued', 'running', 'completed', 'failed', 'cancelled', 'interrupted'),
    prompt: text,
    content: optional(list((value) => contentProblem(value))),
    traceparent: optional(text),
    goal: optional(object),
    createdAtMs: number,
    updatedAtMs: number,
  },
  run_event: { runId: id, sequence: number, timestampMs: number, event: object },
  checkpoint: {
    runId: id,
    sessionId: text,
    round: number,
    messageId: text,
    toolCallsCount: number,
    usage: object,
    atMs: number,
  },
}
