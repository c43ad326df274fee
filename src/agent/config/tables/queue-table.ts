import { laneModes } from '../../../queue/lane.js'
import type { LaneHandlerConfig, QueueConfig } from '../config.js'
import { field, type Shape } from '../field.js'
import { amount, flag, group, path, text, whole, word } from '../kinds.js'

type Inside<K extends keyof QueueConfig> = Exclude<QueueConfig[K], undefined>

const handler: Shape<LaneHandlerConfig> = {
  mode: field(word(laneModes), 'who runs the calls of the lane: this process, another, or both'),
  timeoutMs: field(whole(1), 'how long another process may take, in milliseconds'),
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
  strategy: field(text, 'how pauses grow'),
  maxRetries: field(whole(0), 'how many further attempts there are'),
  initialDelayMs: field(whole(0), 'the first pause, in milliseconds'),
  fixedDelayMs: field(whole(0), 'each pause, where they are all alike'),
}

const rateLimit: Shape<Inside<'rateLimit'>> = {
  limitType: field(text, 'the span of time that is counted'),
  maxOperations: field(whole(1), 'how many calls fit into it'),
}

const priorityBoost: Shape<Inside<'priorityBoost'>> = {
  strategy: field(text, 'how waiting calls move up'),
  deadlineMs: field(whole(1), 'when they do, in milliseconds'),
}

export const queue: Shape<QueueConfig> = {
  controlMaxConcurrency: field(whole(1), 'calls at once in the lane `control`', 'controlConcurrency'),
  queryMaxConcurrency: field(whole(1), 'calls at once in the lane `query`', 'queryConcurrency'),
  executeMaxConcurrency: field(whole(1), 'calls at once in the lane `execute`', 'executeConcurrency'),
  generateMaxConcurrency: field(whole(1), 'calls at once in the lane `generate`', 'generateConcurrency'),
  enableDlq: field(flag, 'whether failed calls are kept for a look'),
  dlqMaxSize: field(whole(1), 'how many are kept'),
  enableMetrics: field(flag, 'whether figures are collected'),
  enableAlerts: field(flag, 'whether long queues are reported'),
  defaultTimeoutMs: field(whole(1), 'how long a call may take, in milliseconds', 'timeoutMs'),
  storagePath: field(path, 'where the queue is kept'),
  pressureThreshold: field(amount(), 'how full a lane is when it counts as crowded'),
  laneTimeouts: field(group(laneTimeouts), 'how long a call may take, by lane'),
  laneHandlers: field(group(laneHandlers), 'who runs the calls, by lane'),
  retryPolicy: field(group(retryPolicy), 'how often a failed call is tried again'),
  rateLimit: field(group(rateLimit), 'how many calls there may be in a span of time'),
  priorityBoost: field(group(priorityBoost), 'what happens to calls that wait for long'),
}
