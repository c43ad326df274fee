import { isThenable } from '../tool/thenable.js'
import type { CallState } from './gate.js'
import { Stopped } from './stopped.js'

const guardTimeoutMs = 60_000

/**
 * Waits for a guard of the host until the run is aborted or the time is up: without an answer the call is blocked.
 */
export async function guarded<Answer>(
  { request, parts }: CallState,
  who: string,
  answer: Answer | PromiseLike<Answer>,
): Promise<Answer> {
  if (!isThenable(answer)) return answer
  const timeoutMs = parts.guardTimeoutMs ?? guardTimeoutMs
  return until(request.signal, timeoutMs, `Blocked: ${who} did not answer within ${timeoutMs} ms.`, answer)
}

/** Waits for a user without a time limit, until the run is aborted. */
export function whileRunning<Answer>(
  signal: AbortSignal | undefined,
  answer: PromiseLike<Answer>,
): Promise<Answer> {
  return until(signal, undefined, '', answer)
}

/**
 * Waits for the host after the tool has run. After an abort it waits for `momentMs` more and then returns undefined.
 */
export async function afterWork<Answer extends object>(
  signal: AbortSignal | undefined,
  answer: Promise<Answer>,
): Promise<Answer | undefined> {
  if (signal === undefined) return answer
  let timer: ReturnType<typeof setTimeout> | undefined
  let onAbort: () => void = () => undefined
  const over = new Promise<undefined>((resolve) => {
    onAbort = () => {
      timer = setTimeout(resolve, momentMs, undefined)
    }
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  })
  try {
    return await Promise.race([answer, over])
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
  }
}

const momentMs = 150

/** Uses one promise instead of a race, which would create several: every call passes here once for each guard. */
function until<Answer>(
  signal: AbortSignal | undefined,
  timeoutMs: number | undefined,
  late: string,
  answer: PromiseLike<Answer>,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const done = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    }
    const fail = (error: unknown): void => {
      done()
      reject(error)
    }
    const onAbort = (): void => fail(new Stopped('Not run: the run was aborted while the call was waiting.'))
    const timer = timeoutMs === undefined ? undefined : setTimeout(() => fail(new Stopped(late)), timeoutMs)
    if (signal?.aborted) onAbort()
    else signal?.addEventListener('abort', onAbort, { once: true })
    answer.then((value) => {
      done()
      resolve(value)
    }, fail)
  })
}
