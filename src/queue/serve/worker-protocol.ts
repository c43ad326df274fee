import { isRecord } from '../../tool/json.js'
import type { Lane } from '../../tool/lane.js'
import type { Lease, TaskBoard } from '../engine.js'
import { QueueError } from '../errors.js'
import { readLane } from '../lane.js'
import { readCompletion } from '../worker-result.js'

/** The methods that workers can call. */
const workerMethods = ['claim', 'start', 'heartbeat', 'complete', 'release'] as const
export type WorkerMethod = (typeof workerMethods)[number]

/** What the connection knows about the worker. */
export type Asker = {
  /** Replaces the name that the worker sends. */
  readonly worker?: string
  /** Aborted when the caller no longer waits for the answer. */
  readonly signal: AbortSignal
}

const maxTasks = 100
const maxWaitMs = 30_000

/** Answers one request of a worker, over any transport. Throws for a request that cannot be parsed. */
export async function answerWorker(
  board: TaskBoard,
  method: string,
  params: unknown,
  asker: Asker,
): Promise<object> {
  if (!isRecord(params)) throw wrong('params must be an object')
  switch (method) {
    case 'claim':
      return { tasks: await board.claim(readClaim(params, asker)) }
    case 'start':
      return { accepted: await board.start(text(params, 'taskId'), text(params, 'leaseId')) }
    case 'heartbeat':
      return { lost: await board.renew(readLeases(params['leases'])) }
    case 'complete': {
      const { taskId, leaseId } = readLease(params)
      const answer = await board.complete(taskId, leaseId, readCompletion(params))
      return { accepted: answer === 'accepted' || answer === 'duplicate', answer }
    }
    case 'release':
      return { accepted: await board.release(text(params, 'taskId'), text(params, 'leaseId')) }
    default:
      throw wrong(`there is no '${method}'; there are ${workerMethods.join(', ')}`)
  }
}

function readClaim(params: Given, { worker, signal }: Asker) {
  const { lanes, tools, announcesStart } = params
  return {
    worker: worker ?? text(params, 'worker'),
    max: Math.min(maxTasks, whole(params, 'max', 1)),
    waitMs: Math.min(maxWaitMs, whole(params, 'waitMs', 0)),
    announcesStart: announcesStart === true,
    signal,
    ...(lanes !== undefined && { lanes: list(lanes, 'lanes').map((lane): Lane => readLane(lane)) }),
    ...(tools !== undefined && { tools: list(tools, 'tools').map(String) }),
  }
}

function readLeases(given: unknown): Lease[] {
  return list(given, 'leases').map((one) => readLease(isRecord(one) ? one : {}))
}

function readLease(given: Given): Lease {
  return { taskId: text(given, 'taskId'), leaseId: text(given, 'leaseId') }
}

type Given = Readonly<Record<string, unknown>>

function text(given: Given, name: string): string {
  const value = given[name]
  if (typeof value !== 'string' || value === '' || value.length > 500)
    throw wrong(`${name} must be a text of 1 to 500 characters`)
  return value
}

function whole(given: Given, name: string, otherwise: number): number {
  const value = given[name] ?? otherwise
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0)
    throw wrong(`${name} must be a whole number`)
  return value
}

function list(value: unknown, name: string): readonly unknown[] {
  if (!Array.isArray(value) || value.length > 1_000)
    throw wrong(`${name} must be a list of at most 1,000 entries`)
  return value
}

function wrong(what: string): QueueError {
  return new QueueError('queue_config', `The request is invalid: ${what}.`)
}
