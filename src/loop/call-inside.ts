import { type Envelope, errorEnvelope } from '../tool/envelope.js'
import type { CallWatch, Invocation } from '../tool/session-services.js'
import { CallOrder } from './call-order.js'
import type { Gate } from './gate.js'
import type { GateCall, GateOutcome, RuntimeRequest } from './gate-parts.js'

export type InsideOptions = {
  readonly signal?: AbortSignal | undefined
  readonly watch?: CallWatch | undefined
  readonly maxConcurrency?: number | undefined
  /** Returns the id and the form of a call. */
  identify(invocation: Invocation): Identity
}

/**
 * Makes calls on behalf of a running call, such as a program or a batch. Each passes the gate with the origin and the
 * limits of the outer call. Results are in the order of the invocations. An error that must end the run ends it, also
 * from inside a call.
 */
export async function callInside(
  gate: Gate,
  outer: RuntimeRequest,
  invocations: readonly Invocation[],
  { signal: own, watch, maxConcurrency = defaultConcurrency, identify }: InsideOptions,
): Promise<Envelope[]> {
  const signal = own === undefined ? outer.signal : AbortSignal.any([outer.signal, own])
  const order = new CallOrder(maxConcurrency)
  const waits = new JoinedWatch(watch ?? outer.request.watch)
  const ending: Promise<Ended>[] = []
  for (const invocation of invocations)
    ending.push(callOne(gate, outer, invocation, identify(invocation), signal, order, waits))
  const ended = await Promise.all(ending)
  const fatal = ended.find((one) => one.fatal !== undefined)?.fatal
  if (fatal !== undefined) outer.endRun(fatal.error)
  return ended.map(({ envelope }) => envelope)
}

const defaultConcurrency = 8

type Ended = Pick<GateOutcome, 'envelope' | 'fatal'>
type Identity = Pick<GateCall, 'toolCallId' | 'inside' | 'form'>

async function callOne(
  gate: Gate,
  outer: RuntimeRequest,
  { tool, args }: Invocation,
  identity: Identity,
  signal: AbortSignal,
  order: CallOrder,
  waits: JoinedWatch,
): Promise<Ended> {
  const slot = order.add()
  let watched: ReturnType<JoinedWatch['open']> | undefined
  try {
    await slot.enter()
    if (signal.aborted) return { envelope: errorEnvelope(`Tool "${tool}" was not run: the run was aborted.`) }
    watched = waits.open()
    const outcome = await gate.call({
      name: tool,
      input: { value: args },
      origin: outer.origin,
      signal,
      slot,
      insideWriter: outer.writer,
      watch: watched?.watch,
      turn: outer.request.turn,
      ...identity,
    })
    if (outcome.fatal !== undefined) order.end()
    return outcome
  } finally {
    watched?.close()
    slot.exit()
  }
}

/** Reports several calls to one watch: together they wait for an approval when every unfinished call does. */
class JoinedWatch {
  readonly #watch: CallWatch | undefined
  #open = 0
  #waiting = 0
  #reported = false

  constructor(watch: CallWatch | undefined) {
    this.#watch = watch
  }

  /** Begins a call. Returns undefined when there is no watch to report to. */
  open(): { readonly watch: CallWatch; close(): void } | undefined {
    if (this.#watch === undefined) return undefined
    let isWaiting = false
    const waiting = (waits: boolean): void => {
      if (waits === isWaiting) return
      isWaiting = waits
      this.#waiting += waits ? 1 : -1
      this.#report()
    }
    this.#open++
    this.#report()
    return {
      watch: { waiting },
      close: () => {
        waiting(false)
        this.#open--
        this.#report()
      },
    }
  }

  #report(): void {
    const waits = this.#waiting > 0 && this.#waiting === this.#open
    if (waits === this.#reported) return
    this.#reported = waits
    this.#watch?.waiting(waits)
  }
}
