import { createHmac, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'
import { canonicalJson } from '../authority/canonical-json.js'
import type { RunQueue } from '../run-queue/run-queue.js'
import { isRecord, type JsonObject } from '../tool/json.js'
import { ClusterError } from './errors.js'

/** The decision of a user about one call. */
export type ApprovalDecision = 'once' | 'session' | 'always' | 'reject'

/** An answer to one question, bound to everything that was asked. */
export type ApprovalAnswer = {
  readonly runId: string
  readonly sessionId: string
  readonly callId: string
  /** The digest of what was asked: tool, arguments, workspace, session, agent. */
  readonly key: string
  /** When it was asked: an answer to an earlier question does not answer the same question again. */
  readonly askedAtMs: number
  readonly decision: ApprovalDecision
  readonly message?: string | undefined
  /** The user who decided. */
  readonly by?: string | undefined
  readonly expiresAtMs: number
}

/** Why a signed answer is not used. */
export type AnswerRefusal = 'malformed' | 'forged' | 'expired' | 'other_run' | 'reused'

const refusals: Readonly<Record<AnswerRefusal | 'not_asked', string>> = {
  malformed: 'it is not a valid answer',
  forged: 'it was not signed with the key of this worker; all workers and clients need the same one',
  expired: 'it has expired',
  other_run: 'it is for another run',
  reused: 'it was used before',
  not_asked: 'no call waits for it',
}

/** The error that a worker reports for an answer that it did not use. */
export function answerRefused(runId: string, reason: AnswerRefusal | 'not_asked'): ClusterError {
  const message = `An answer to an approval of the run '${runId}' was refused: ${refusals[reason]}.`
  return new ClusterError('approval_not_found', message)
}

/** A key of at least 32 characters that clients and workers of one cluster share. */
export type ClusterKey = string | Uint8Array

const minKeyLength = 32

/** Signs an answer: access to the queue alone must not be enough to approve a call. */
export function signAnswer(answer: ApprovalAnswer, key: Uint8Array): JsonObject {
  const body = { kind: 'approval', ...answer, nonce: randomUUID() }
  const plain: JsonObject = JSON.parse(JSON.stringify(body))
  return { ...plain, mac: macOf(plain, key) }
}

/** Returns the id of all answers to one question. Only processes with the key can compute it. */
export function answerId(
  { runId, callId, askedAtMs }: Pick<ApprovalAnswer, 'runId' | 'callId' | 'askedAtMs'>,
  key: Uint8Array,
): string {
  return `approval-${macOf({ kind: 'id', runId, callId, askedAtMs }, key)}`
}

/** Checks signed answers. Each is accepted once. */
export class AnswerCheck {
  readonly #key: Uint8Array
  readonly #now: () => number
  readonly #used = new Set<string>()

  constructor(key: Uint8Array, now: () => number) {
    this.#key = key
    this.#now = now
  }

  read(
    body: JsonObject,
    run: { readonly runId: string; readonly sessionId: string },
  ): ApprovalAnswer | AnswerRefusal {
    const { mac, ...signed } = body
    const answer = answerIn(signed)
    if (answer === undefined || typeof mac !== 'string') return 'malformed'
    const [given, own] = [Buffer.from(mac, 'hex'), Buffer.from(macOf(signed, this.#key), 'hex')]
    if (given.length !== own.length || !timingSafeEqual(given, own)) return 'forged'
    if (answer.runId !== run.runId || answer.sessionId !== run.sessionId) return 'other_run'
    if (this.#now() >= answer.expiresAtMs) return 'expired'
    if (this.#used.has(mac)) return 'reused'
    return answer
  }

  /**
   * Marks an answer as used. For other nodes the log prevents reuse, because a call that has started is not asked
   * about again.
   */
  use({ mac }: JsonObject): void {
    if (typeof mac === 'string') this.#used.add(mac)
  }
}

/**
 * Returns the key of a cluster. Without a given key, it is valid only between clients and workers of this process.
 */
export function clusterKey(queue: RunQueue, given: ClusterKey | undefined): Uint8Array {
  if (given !== undefined) {
    const key = typeof given === 'string' ? new TextEncoder().encode(given) : given
    if (key.length < minKeyLength)
      throw new TypeError(`The key of a cluster must have at least ${minKeyLength} bytes.`)
    return key
  }
  const known = processKeys.get(queue) ?? randomBytes(minKeyLength)
  processKeys.set(queue, known)
  return known
}

const processKeys = new WeakMap<RunQueue, Uint8Array>()

function macOf(body: JsonObject, key: Uint8Array): string {
  return createHmac('sha256', key).update(canonicalJson(body)).digest('hex')
}

const decisions: readonly unknown[] = ['once', 'session', 'always', 'reject'] satisfies ApprovalDecision[]

function answerIn(body: Readonly<Record<string, unknown>>): ApprovalAnswer | undefined {
  const { runId, sessionId, callId, key, askedAtMs, decision, message, by, expiresAtMs } = isRecord(body)
    ? body
    : {}
  const texts = [runId, sessionId, callId, key, body['nonce']].every((value) => typeof value === 'string')
  if (
    !texts ||
    typeof expiresAtMs !== 'number' ||
    typeof askedAtMs !== 'number' ||
    !decisions.includes(decision)
  )
    return undefined
  if (![message, by].every((text) => text === undefined || typeof text === 'string')) return undefined
  // All fields were checked above.
  return { runId, sessionId, callId, key, askedAtMs, decision, message, by, expiresAtMs } as ApprovalAnswer
}
