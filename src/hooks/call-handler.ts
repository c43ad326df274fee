import { messageOf } from '../tool/errors.js'
import { type ReadAnswer, readAnswer } from './answer.js'
import type { HookEvent } from './events.js'
import type { Hook, HookHandler } from './hook.js'

/** Calls back after a time and returns what cancels that; a test or replay brings its own. */
export type After = (ms: number, callback: () => void) => () => void

export type HandlerAnswer =
  | Exclude<ReadAnswer, { action: 'malformed' }>
  /** It threw, was too late, said nothing that can be understood, or never stopped asking for another try. */
  | { readonly action: 'failed'; readonly problem: string }
  | { readonly action: 'aborted' }

/** How often in a row a hook may ask to be called again. */
const maxAskedRetries = 5

/** Asks one hook, as often as its settings and its own answers say. Never rejects. */
export async function callHandler(
  hook: Hook,
  event: HookEvent,
  after: After,
  signal: AbortSignal | undefined,
): Promise<HandlerAnswer> {
  const { handler, config } = hook
  let failures = 0
  let asked = 0
  for (let attempt = 1; ; attempt += 1) {
    if (signal?.aborted) return { action: 'aborted' }
    const said = await attemptOnce(handler, { hook, event, after, signal, attempt })
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

/** One call. A handler that answers at once costs no timer, and a signal only when it is looked at. */
async function attemptOnce(handler: HookHandler<never>, call: Attempt): Promise<Said> {
  const life = createLife()
  const context = {
    attempt: call.attempt,
    get signal() {
      return life.signal()
    },
  }
  try {
    // The event is of the hook's own kind: hooks are filed by event.
    const answer: unknown = handler(call.event as never, context)
    if (!isThenable(answer)) return { how: 'answered', answer }
    return await inTime(answer, call)
  } catch (error) {
    return { how: 'failed', problem: `it threw: ${messageOf(error).slice(0, maxMessageLength)}` }
  } finally {
    life.end()
  }
}

const maxMessageLength = 300

/** Waits for an answer, but not past the hook's time nor the run's abort; what it says later is dropped. */
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

/** The signal of a handler, made when it is first looked at: most handlers never do. */
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

/** One for all: making an exception is dear. */
const ignoreRejection = new DOMException('the caller of this hook no longer waits', 'AbortError')

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}
