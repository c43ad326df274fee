import type { Address } from './resolve.js'

/** What tests replace: which address a checked address is reached at, and whom TLS trusts. Production leaves both out. */
export type Wire = { readonly reach?: (address: string) => Address; readonly trustedCertificates?: string }
