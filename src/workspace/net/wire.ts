import type { Address } from './resolve.js'

/**
 * What tests replace: which address a checked address is reached at, and whom TLS trusts. Production leaves both out.
 * `agent` keeps connections for one destination alone, whose every connection was opened under the same checks.
 */
export type Wire = {
  readonly reach?: ((address: string) => Address) | undefined
  readonly trustedCertificates?: string | undefined
  /** An agent of Node's. */
  readonly agent?: object | undefined
}
