import { readFileSync } from 'node:fs'
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls'
import { tryOr } from '../../tool/errors.js'

/**
 * Creates the TLS context for connections to servers: the authorities of Node and those of the options, as PEM. Parsing
 * the certificates takes 30 ms of CPU time, so the last context is reused. Throws for a text that is not PEM.
 */
export function trustedContext(further: string): SecureContext {
  if (last?.further !== further) {
    const ca = [...rootCertificates, ...extraCertificates(), further]
    last = { further, context: createSecureContext({ ca }) }
  }
  return last.context
}

let last: { readonly further: string; readonly context: SecureContext } | undefined

/**
 * Returns the authorities that a command trusts, as one PEM text: those of the machine, those of the options, and that
 * of its proxy. Programs read only one file, so that file has to contain all of them.
 */
export function commandCertificates(proxy: string, further = ''): string {
  const machine = bundles.map(readIfThere).find((text) => text !== '')
  return [machine ?? rootCertificates.join('\n'), further, proxy].map((text) => `${text.trim()}\n`).join('')
}

/** Where Linux distributions store the authorities of the machine. */
const bundles = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
]

/** Node reads these itself only as long as no list of authorities is given. */
function extraCertificates(): string[] {
  const file = process.env['NODE_EXTRA_CA_CERTS']
  const text = file === undefined ? '' : readIfThere(file)
  return text === '' ? [] : [text]
}

function readIfThere(path: string): string {
  // A file that this user cannot read is skipped: the next path is used, or Node's list.
  return tryOr(() => readFileSync(path, 'utf8'), '')
}
