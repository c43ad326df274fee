import { readFileSync } from 'node:fs'
import { createSecureContext, rootCertificates, type SecureContext } from 'node:tls'
import { tryOr } from '../../tool/errors.js'

/**
 * What connections to servers trust: the authorities of Node and those that the options name, as PEM. Reading the
 * certificates takes 30 ms of processor time, so the last context is used again. Throws for a text that is not PEM.
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
 * The authorities that a command trusts, as one text of PEM: those of the machine, those that the options name, and the
 * one of its proxy. Programs read one file only, so that file has to hold all of them.
 */
export function commandCertificates(proxy: string, further = ''): string {
  const machine = bundles.map(readIfThere).find((text) => text !== '')
  return [machine ?? rootCertificates.join('\n'), further, proxy].map((text) => `${text.trim()}\n`).join('')
}

/** Where distributions have them. */
const bundles = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
]

/** What Node reads itself as long as no list of authorities is given. */
function extraCertificates(): string[] {
  const file = process.env['NODE_EXTRA_CA_CERTS']
  const text = file === undefined ? '' : readIfThere(file)
  return text === '' ? [] : [text]
}

function readIfThere(path: string): string {
  // A file that this user cannot read is skipped: the next place is used, or the list of Node.
  return tryOr(() => readFileSync(path, 'utf8'), '')
}
