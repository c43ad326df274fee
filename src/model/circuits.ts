import { ModelError, type ModelErrorCode } from './errors.js'
import type { Model } from './model.js'
import { nameOf } from './provider-error.js'

/** How long a model is not asked after its circuit has opened. */
export const circuitOpenMs = 30_000

/**
 * The circuit breakers of one agent, one for each model object. Sessions of the agent that use the same model share its circuit.
 * A circuit opens after a number of failed requests in a row. While it is open, requests are refused at once; after 30 s one request
 * is let through. If that one works the circuit closes, otherwise it stays open for another 30 s.
 */
export class Circuits {
  readonly #circuits = new WeakMap<Model, Circuit>()

  of(model: Model): Circuit {
    let circuit = this.#circuits.get(model)
    if (circuit === undefined) {
      circuit = new Circuit(model)
      this.#circuits.set(model, circuit)
    }
    return circuit
  }
}

/** One request that a circuit has let through. Exactly one of its methods is called, once the request has ended. */
export type Admission = {
  /** The circuit was open: this request decides alone whether it closes, so it is sent once only. */
  readonly probe: boolean
  worked(): void
  /** Gives the number of failures when this one opened the circuit. */
  failed(error: unknown, threshold: number, now: number): number | undefined
}

/** The circuit breaker of one model. */
class Circuit {
  readonly #model: Model
  #failures = 0
  #openUntil: number | undefined
  #probing = false
  #lastFailure = ''

  constructor(model: Model) {
    this.#model = model
  }

  /** Throws a {@link ModelError} with the code `model_circuit_open` while the circuit is open. */
  admit(now: number): Admission {
    const probe = this.#openUntil !== undefined
    if (probe && (this.#probing || now < (this.#openUntil ?? 0))) throw this.#refusal(now)
    this.#probing = probe
    return {
      probe,
      worked: () => this.#close(),
      failed: (error, threshold, at) => this.#failed(error, threshold, at, probe),
    }
  }

  #close(): void {
    this.#failures = 0
    this.#openUntil = undefined
    this.#probing = false
  }

  #failed(error: unknown, threshold: number, now: number, probe: boolean): number | undefined {
    if (probe) this.#probing = false
    const kind = kindOf(error)
    // A provider that refuses what it was sent is there.
    if (kind === 'refused') this.#close()
    if (kind !== 'failed') return undefined
    this.#failures++
    this.#lastFailure = error instanceof Error ? error.message : String(error)
    // A request that was sent before the circuit opened does not keep it open for longer.
    const isOpen = this.#openUntil !== undefined && !probe
    if (isOpen || (!probe && this.#failures < threshold)) return undefined
    this.#openUntil = now + circuitOpenMs
    return this.#failures
  }

  #refusal(now: number): ModelError {
    const leftMs = Math.max(0, (this.#openUntil ?? now) - now)
    const when =
      leftMs > 0 ? `for another ${Math.ceil(leftMs / 1000)} s` : 'until a request that tries it has ended'
    return new ModelError(
      'model_circuit_open',
      `${nameOf(this.#model)} is not asked ${when}: its last ${this.#failures} requests failed (circuitBreakerThreshold). The last failure: ${this.#lastFailure}`,
      { retryAfterMs: leftMs },
    )
  }
}

/** `neither`: the request was cancelled, or failed for a reason that says nothing about the model. */
function kindOf(error: unknown): 'failed' | 'refused' | 'neither' {
  if (!(error instanceof ModelError)) return 'neither'
  if (failures.has(error.code)) return 'failed'
  return error.code === 'model_circuit_open' ? 'neither' : 'refused'
}

const failures: ReadonlySet<ModelErrorCode> = new Set([
  'model_rate_limited',
  'model_unreachable',
  'model_stalled',
  'model_timeout',
  'model_server_error',
  'model_bad_response',
])
