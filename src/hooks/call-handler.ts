import { messageOf } from '../tool/errors.js'
import { isThenable } from '../tool/thenable.js'
import { type ReadAnswer, readAnswer } from './answer.js'
import type { HookEvent } from './events.js'
import type { Hook, HookHandler } from './hook.js'

/** Calls back after a time and returns a function that cancels it; tests and replays pass their own. */
export type After = (ms: number, callback: () => void) => () => void

export type HandlerAnswer =
  | Exclude<ReadAnswer, { action: 'malformed' }>
  /** The handler threw, timed out, returned something invalid, or requested too many retries. */
  | { readonly action: 'failed'; readonly problem: string }
  | { readonly action: 'aborted' }

/** The maximum number of retries that a hook can request for one event. */
const maxAskedRetries = 5

/**
 * Calls one hook, and repeats the call as its settings and answers require. Never rejects. The answer of a handler that
 * answers synchronously needs no promise.
 */
export function callHandler(
  hook: Hook,
  event: HookEvent,
  after: After,
  signal: AbortSignal | undefined,
): HandlerAnswer | Promise<HandlerAnswer> {
  if (signal?.aborted) return { action: 'aborted' }
  const said = attemptOnce(hook.handler, { hook, event, after, signal, attempt: 1 })
  if (!(said instanceof Promise) && said.how === 'answered') {
    const answer = readAnswer(hook.event, said.answer)
    if (answer.action === 'malformed') return { action: 'failed', problem: answer.problem }
    if (answer.action !== 'retry') return answer
  }
  return repeatAsked(hook, event, after, signal, said)
}

async function repeatAsked(
  hook: Hook,
  event: HookEvent,
  after: After,
  signal: AbortSignal | undefined,
  first: Said | Promise<Said>,
): Promise<HandlerAnswer> {
  const { handler, config } = hook
  let failures = 0
  let asked = 0
  for (let attempt = 1; ; attempt += 1) {
    if (attempt > 1 && signal?.aborted) return { action: 'aborted' }
    const said = await (attempt === 1 ? first : attemptOnce(handler, { hook, event, after, signal, attempt }))
    if (said.how === 'aborted') return { action: 'aborted' }
    if (said.how === 'failed') {
      if (failures >= config.maxRetries) return { action: 'failed', problem: said.problem }
      failures += 1
      continue
    }
    const answer = readAnswer(hook.event, said.answer)
    if (answer.action === 'malformed') return { action: 'failed', problem: answer.problem }
    if (answer.action !== 'retry') return answer
    asked += 1
    if (asked > maxAskedRetries)
      return { action: 'failed', problem: `it asked to be called again more than ${maxAskedRetries} times` }
    await pause(answer.delayMs, after, signal)
  }
}

type Attempt = {
  readonly hook: Hook
  readonly event: HookEvent
  readonly after: After
  readonly signal: AbortSignal | undefined
  readonly attempt: number
}

type Said =
  | { readonly how: 'answered'; readonly answer: unknown }
  | { readonly how: 'failed'; readonly problem: string }
  | { readonly how: 'aborted' }

/** Calls the handler once. A handler that answers synchronously costs no timer, and a signal only if it reads it. */
function attemptOnce(handler: HookHandler<never>, call: Attempt): Said | Promise<Said> {
  const life = createLife()
  const context = {
    attempt: call.attempt,
    get signal() {
      return life.signal()
    },
  }
  try {
    // The event has the hook's type, because hooks are stored by event.
    const answer: unknown = handler(call.event as never, context)
    if (isThenable(answer)) return inTime(answer, call).catch(threw).finally(life.end)
    life.end()
    return { how: 'answered', answer }
  } catch (error) {
    life.end()
    return threw(error)
  }
}

function threw(error: unknown): Said {
  return { how: 'failed', problem: `it threw: ${messageOf(error).slice(0, maxMessageLength)}` }
}

const maxMessageLength = 300

/** Waits for an answer until the hook's timeout or the run's abort; a later answer is dropped. */
async function inTime(answer: PromiseLike<unknown>, { hook, after, signal }: Attempt): Promise<Said> {
  const { timeoutMs } = hook.config
  let cancel: () => void = () => undefined
  let onAbort: () => void = () => undefined
  const left = new Promise<Said>((resolve) => {
    cancel = after(timeoutMs, () =>
      resolve({ how: 'failed', problem: `it did not answer within ${timeoutMs} ms` }),
    )
    onAbort = () => resolve({ how: 'aborted' })
    if (signal?.aborted) onAbort()
    signal?.addEventListener('abort', onAbort, { once: true })
  })
  try {
    return await Promise.race([Promise.resolve(answer).then(answered), left])
  } finally {
    cancel()
    signal?.removeEventListener('abort', onAbort)
  }
}

function answered(answer: unknown): Said {
  return { how: 'answered', answer }
}

function pause(ms: number, after: After, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      cancel()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const cancel = after(ms, done)
    signal?.addEventListener('abort', done, { once: true })
  })
}

/** Creates the signal of a handler when it is first read: most handlers never read it. */
function createLife(): { signal(): AbortSignal; end(): void } {
  let controller: AbortController | undefined
  let over = false
  return {
    signal: () => {
      controller ??= new AbortController()
      if (over) controller.abort(ignoreRejection)
      return controller.signal
    },
    end: () => {
      over = true
      controller?.abort(ignoreRejection)
    },
  }
}

/** One shared exception, because creating one is expensive. */
const ignoreRejection = new DOMException('the caller of this hook no longer waits', 'AbortError')
