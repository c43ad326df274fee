import { laneModes } from '../../../queue/lane.js'
import type { LaneHandlerConfig, QueueConfig } from '../config.js'
import { field, type Shape } from '../field.js'
import { amount, flag, group, path, text, whole, word } from '../kinds.js'

type Inside<K extends keyof QueueConfig> = Exclude<QueueConfig[K], undefined>

const handler: Shape<LaneHandlerConfig> = {
  mode: field(word(laneModes), 'who runs the calls of the lane: this process, a worker, or both'),
  timeoutMs: field(whole(1), 'time limit of a worker, in milliseconds'),
}

const laneTimeouts: Shape<Inside<'laneTimeouts'>> = {
  control: field(whole(1), 'milliseconds'),
  query: field(whole(1), 'milliseconds'),
  execute: field(whole(1), 'milliseconds'),
  generate: field(whole(1), 'milliseconds'),
}

const laneHandlers: Shape<Inside<'laneHandlers'>> = {
  control: field(group(handler), 'the lane `control`'),
  query: field(group(handler), 'the lane `query`'),
  execute: field(group(handler), 'the lane `execute`'),
  generate: field(group(handler), 'the lane `generate`'),
}

const retryPolicy: Shape<Inside<'retryPolicy'>> = {
  strategy: field(text, 'growth of the pauses'),
  maxRetries: field(whole(0), 'maximum number of retries'),
  initialDelayMs: field(whole(0), 'first pause, in milliseconds'),
  fixedDelayMs: field(whole(0), 'every pause, in milliseconds, for the fixed strategy'),
}

const rateLimit: Shape<Inside<'rateLimit'>> = {
  limitType: field(text, 'time period of the limit'),
  maxOperations: field(whole(1), 'maximum number of calls in that period'),
}

const priorityBoost: Shape<Inside<'priorityBoost'>> = {
  strategy: field(text, 'how the priority of waiting calls is raised'),
  deadlineMs: field(whole(1), 'waiting time after which it is raised, in milliseconds'),
}

export const queue: Shape<QueueConfig> = {
  controlMaxConcurrency: field(
    whole(1),
    'maximum number of concurrent calls in the lane `control`',
    'controlConcurrency',
  ),
  queryMaxConcurrency: field(
    whole(1),
    'maximum number of concurrent calls in the lane `query`',
    'queryConcurrency',
  ),
  executeMaxConcurrency: field(
    whole(1),
    'maximum number of concurrent calls in the lane `execute`',
    'executeConcurrency',
  ),
  generateMaxConcurrency: field(
    whole(1),
    'maximum number of concurrent calls in the lane `generate`',
    'generateConcurrency',
  ),
  enableDlq: field(flag, 'store failed calls in a dead letter queue'),
  dlqMaxSize: field(whole(1), 'maximum size of the dead letter queue'),
  enableMetrics: field(flag, 'collect metrics'),
  enableAlerts: field(flag, 'report long queues'),
  defaultTimeoutMs: field(whole(1), 'time limit of a call, in milliseconds', 'timeoutMs'),
  storagePath: field(path, 'where the queue is stored'),
  pressureThreshold: field(amount(), 'fill level at which a lane counts as overloaded'),
  laneTimeouts: field(group(laneTimeouts), 'time limit of a call, by lane'),
  laneHandlers: field(group(laneHandlers), 'who runs the calls, by lane'),
  retryPolicy: field(group(retryPolicy), 'retries of failed calls'),
  rateLimit: field(group(rateLimit), 'maximum number of calls in a time period'),
  priorityBoost: field(group(priorityBoost), 'priority of calls that wait for long'),
}
