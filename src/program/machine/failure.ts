import type { ProgramFailureCode } from './errors.js'
import { guestFile } from './guest.js'
import type { GuestFailure } from './messages.js'
import type { RunEnd } from './run-in-thread.js'

export type Failure = { readonly code: ProgramFailureCode; readonly message: string }
export type FailureContext = {
  readonly signal: AbortSignal
  readonly timeoutMs: number
  readonly memoryBytes: number
}

/** Returns the failure of a program that ended without a result. */
export function failureOf(ended: Exclude<RunEnd, { kind: 'result' }>, context: FailureContext): Failure {
  if (ended.kind === 'aborted' || context.signal.aborted)
    return { code: 'program_aborted', message: 'program script was stopped: the run was aborted' }
  if (ended.kind === 'broken') return ended.failure
  if (ended.kind === 'timeout') return timeout(context)
  if (ended.kind === 'died') return died(ended.cause, context)
  return guestFailure(ended.failure, context)
}

function guestFailure(failure: GuestFailure, context: FailureContext): Failure {
  const { reason, name = '', message } = failure
  if (reason === 'interrupted') return timeout(context)
  if (isOutOfMemory(failure)) return outOfMemory(context)
  if (reason === 'missing')
    return { code: 'program_run_missing', message: 'PTC script must define async function run(ctx, inputs)' }
  if (reason === 'unwritable')
    return {
      code: 'program_result_invalid',
      message: `program script error:\nthe value that run returned cannot be used: ${message}. Return plain JSON, and a summary instead of raw data.`,
    }
  if (reason === 'stalled')
    return {
      code: 'program_stalled',
      message: 'program script error:\nit waits for a promise that nothing can settle',
    }
  if (reason === 'crashed')
    return {
      code: 'program_crashed',
      message: `program script error:\nthe script engine was stopped by ${name}: ${message}`,
    }
  const code = reason === 'source' ? 'program_source_invalid' : 'program_failed'
  return { code, message: `program script error:\n${described(failure)}` }
}

function timeout({ timeoutMs }: FailureContext): Failure {
  return { code: 'program_timeout', message: `program script timed out after ${timeoutMs} ms` }
}

function outOfMemory({ memoryBytes }: FailureContext): Failure {
  return {
    code: 'program_memory',
    message: `program script ran out of memory: its limit is ${memoryBytes} bytes. Keep less of what it reads.`,
  }
}

function isOutOfMemory({ name, message }: GuestFailure): boolean {
  return message === 'wasm_malloc failed' || (name === 'InternalError' && message.startsWith('out of memory'))
}

function died(cause: Error | undefined, context: FailureContext): Failure {
  if (cause !== undefined && 'code' in cause && cause.code === 'ERR_WORKER_OUT_OF_MEMORY')
    return outOfMemory(context)
  const why = cause === undefined ? 'its thread ended' : cause.message
  return { code: 'program_crashed', message: `program script error:\nthe script engine stopped: ${why}` }
}

/** Formats the error with its lines in the script; lines of the bridge are left out. */
function described({ name = '', message, stack = '' }: GuestFailure): string {
  const frames = stack
    .split('\n')
    .filter((frame) => frame.trim() !== '' && !frame.includes(guestFile) && !frame.includes('(native)'))
    .slice(0, maxFrames)
  const head = [name, message].filter((part) => part !== '').join(': ')
  return [head.slice(0, maxMessage), ...frames.map((frame) => frame.slice(0, maxFrame))].join('\n')
}

const maxFrames = 10
const maxFrame = 300
const maxMessage = 8_000
