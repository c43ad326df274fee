import { messageOf } from '../../tool/errors.js'
import { NetError } from './errors.js'

export type TimeLimit = {
  /** Aborts when the time is over or the caller aborts. */
  readonly signal: AbortSignal
  /** Settles with the work, or rejects as soon as the limit is reached: name resolution cannot be cancelled. */
  race<T>(work: Promise<T>): Promise<T>
  /** Returns why it ended; undefined before that. */
  ended(): NetError | undefined
  stop(): void
}

/** One limit for a whole fetch, so that a response of one byte per second cannot exceed it. */
export function startTimeLimit(timeoutMs: number, caller: AbortSignal | undefined): TimeLimit {
  const controller = new AbortController()
  let ended: NetError | undefined
  const end = (error: NetError) => {
    ended ??= error
    controller.abort(ended)
  }
  const onAbort = () => {
    const cause = caller?.reason
    end(new NetError('net_aborted', `The request was stopped: ${messageOf(cause)}`, { cause }))
  }
  const timer = setTimeout(
    () => end(new NetError('net_timeout', `No complete answer within ${timeoutMs} ms.`)),
    timeoutMs,
  )
  if (caller?.aborted) onAbort()
  else caller?.addEventListener('abort', onAbort, { once: true })
  return {
    signal: controller.signal,
    race: (work) => raceAgainst(controller.signal, work),
    ended: () => ended,
    stop() {
      clearTimeout(timer)
      caller?.removeEventListener('abort', onAbort)
    },
  }
}

function raceAgainst<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
