import type { Address } from './resolve.js'

/**
 * What tests replace: the address that is used for a checked address, and the certificates that TLS trusts. Production
 * omits both. `agent` keeps connections for one destination only, and all of them were opened under the same checks.
 */
export type Wire = {
  readonly reach?: ((address: string) => Address) | undefined
  readonly trustedCertificates?: string | undefined
  /** An agent of Node's HTTP client. */
  readonly agent?: object | undefined
}
