import { Transform } from 'node:stream'
import { CapstanError, markErrorClass } from '../../tool/errors.js'
import { type HostRule, plainHost, ruleFor } from './host-rules.js'
import type { HostSecret } from './network-options.js'

/** An entry of `network.secrets` that cannot be used. Its message never holds the value. */
export class HostSecretError extends CapstanError {
  constructor(host: unknown, why: string) {
    super('host_secret_malformed', `The entry of network.secrets for ${JSON.stringify(host)} ${why}.`)
  }
}
markErrorClass(HostSecretError, 'HostSecretError')

/** A secret with the rule for the host that gets it. */
export type BoundSecret = HostSecret & { readonly rule: HostRule }

/** Reads the entries once, before a command can use them. */
export function bindSecrets(secrets: readonly HostSecret[] = []): readonly BoundSecret[] {
  return secrets.map((secret) => {
    const [, name = '', port] = /^([^:*/@]+|\[[0-9a-fA-F:.]+\])(?::([0-9]{1,5}))?$/.exec(secret.host) ?? []
    const host = plainHost(name)
    if (host === undefined) throw new HostSecretError(secret.host, 'does not name one host')
    const usual = secret.plainHttp === true ? [80, 443] : [443]
    checkHeader(secret)
    return {
      ...secret,
      header: secret.header.toLowerCase(),
      rule: { text: secret.host, host, below: false, ports: port === undefined ? usual : [Number(port)] },
    }
  })
}

/** These frame a message or name its destination. */
const notForSecrets = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'upgrade',
  'te',
  'expect',
])

function checkHeader({ host, header, value }: HostSecret): void {
  // Not with the functions of Node: their errors hold the value, and sessions that use no network would load `http`.
  if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(header) || notForSecrets.has(header.toLowerCase()))
    throw new HostSecretError(host, `cannot set the header ${JSON.stringify(header)}`)
  if (typeof value === 'string' && !/^[\t\x20-\x7e\x80-\xff]+$/.test(value))
    throw new HostSecretError(host, 'has a value that no header can have: it is empty or has a line break')
}

/** Those of the secrets that a request to this host and port gets. */
export function secretsFor(
  secrets: readonly BoundSecret[],
  host: string,
  port: number,
): readonly BoundSecret[] {
  return secrets.filter(({ rule }) => ruleFor([rule], host, port) !== undefined)
}

/**
 * Replaces secrets in an answer by as many stars, so that its length stays. A server that shows a request to its
 * sender would otherwise show the secret.
 */
export function maskSecrets(texts: readonly string[]): Transform {
  const needles = texts.map((text) => Buffer.from(text, 'latin1')).toSorted((a, b) => b.length - a.length)
  let held: Buffer = Buffer.alloc(0)
  const mask = (bytes: Buffer): Buffer => {
    for (const needle of needles) {
      for (let at = bytes.indexOf(needle); at >= 0; at = bytes.indexOf(needle, at + needle.length))
        bytes.fill('*', at, at + needle.length)
    }
    return bytes
  }
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const bytes = mask(Buffer.concat([held, chunk]))
      // Nothing else is held back: the last event of a stream must not wait for the next one.
      const ready = bytes.length - Math.max(0, ...needles.map((needle) => begunAtEnd(bytes, needle)))
      held = bytes.subarray(ready)
      done(null, bytes.subarray(0, ready))
    },
    flush(done) {
      done(null, held)
    },
  })
}

/** How many bytes at the end could be the beginning of this text. */
function begunAtEnd(bytes: Buffer, text: Buffer): number {
  for (let size = Math.min(bytes.length, text.length - 1); size > 0; size--)
    if (bytes.subarray(-size).equals(text.subarray(0, size))) return size
  return 0
}

/** The same for the text of a header. */
export function maskText(text: string, texts: readonly string[]): string {
  return texts
    .toSorted((a, b) => b.length - a.length)
    .reduce((masked, one) => masked.replaceAll(one, '*'.repeat(one.length)), text)
}
