import { ModelError, type ModelErrorCode } from './errors.js'
import type { Model } from './model.js'
import { nameOf } from './provider-error.js'

/** How long requests to a model are rejected after its circuit has opened. */
export const circuitOpenMs = 30_000

/**
 * The circuit breakers of one agent, one for each model object. Sessions of the agent that use the same model share
 * its circuit. A circuit opens after a number of failed requests in a row. While it is open, requests are rejected at
 * once; after 30 s one request is sent. If it succeeds the circuit closes, otherwise the circuit stays open for
 * another 30 s.
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

/** One request that a circuit admitted. Exactly one of its methods is called, when the request has ended. */
export type Admission = {
  /** The circuit was open: this request alone decides whether it closes, so it is sent only once. */
  readonly probe: boolean
  worked(): void
  /** Returns the number of failures when this failure opened the circuit. */
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
    // A provider that rejects a request is reachable.
    if (kind === 'refused') this.#close()
    if (kind !== 'failed') return undefined
    this.#failures++
    this.#lastFailure = error instanceof Error ? error.message : String(error)
    // A request that was sent before the circuit opened does not extend the open time.
    const isOpen = this.#openUntil !== undefined && !probe
    if (isOpen || (!probe && this.#failures < threshold)) return undefined
    this.#openUntil = now + circuitOpenMs
    return this.#failures
  }

  #refusal(now: number): ModelError {
    const leftMs = Math.max(0, (this.#openUntil ?? now) - now)
    const when =
      leftMs > 0 ? `for another ${Math.ceil(leftMs / 1000)} s` : 'until the current test request has ended'
    return new ModelError(
      'model_circuit_open',
      `${nameOf(this.#model)} is not used ${when}: its last ${this.#failures} requests failed (circuitBreakerThreshold). The last failure: ${this.#lastFailure}`,
      { retryAfterMs: leftMs },
    )
  }
}

/**
 * Classifies an error for the circuit. `neither`: the request was cancelled, or failed for a reason that is unrelated
 * to the model.
 */
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
