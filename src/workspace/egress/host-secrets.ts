import { readFile } from 'node:fs/promises'
import { isAbsolute } from 'node:path'
import { HostSecretError } from './errors.js'
import { type HostRule, plainHost, ruleFor } from './host-rules.js'
import type { HostSecret } from './network-options.js'

/** A secret with its value and the rule for the host that receives it. */
export type BoundSecret = HostSecret & {
  readonly rule: HostRule
  readonly value: NonNullable<HostSecret['value']>
}

/** Parses and checks the entries once, before a command can use them. */
export function bindSecrets(secrets: readonly HostSecret[] = []): readonly BoundSecret[] {
  return secrets.map((secret) => {
    const [, name = '', port] = /^([^:*/@]+|\[[0-9a-fA-F:.]+\])(?::([0-9]{1,5}))?$/.exec(secret.host) ?? []
    const host = plainHost(name)
    if (host === undefined) throw new HostSecretError(secret.host, 'does not name one host')
    const usual = secret.plainHttp === true ? [80, 443] : [443]
    checkHeader(secret)
    return {
      ...secret,
      value: readValueOf(secret),
      header: secret.header.toLowerCase(),
      rule: { text: secret.host, host, below: false, ports: port === undefined ? usual : [Number(port)] },
    }
  })
}

/** Returns the same secrets, but passes each value to `note` when it is read for a request. */
export function notedSecrets(
  secrets: readonly HostSecret[],
  note: (value: string) => void,
): readonly HostSecret[] {
  return secrets.map((secret) => {
    const given = readValueOf(secret)
    if (typeof given === 'string') return secret
    const value = async (): Promise<string> => {
      const text = await given()
      note(text)
      return text
    }
    return { ...secret, value, file: undefined, prefix: undefined }
  })
}

/** Returns the value of a secret, or a function that reads it from its file for each request. */
function readValueOf({ host, value, file, prefix = '' }: HostSecret): BoundSecret['value'] {
  if (file === undefined && value !== undefined && prefix === '') return value
  if (file === undefined || value !== undefined)
    throw new HostSecretError(host, 'needs either a value or a file, and a prefix only with a file')
  if (!isAbsolute(file)) throw new HostSecretError(host, 'names a file that is not an absolute path')
  return async () => {
    const text = (await readFile(file, 'utf8')).trim()
    if (!isHeaderValue(text)) throw new HostSecretError(host, notForHeaders)
    return `${prefix}${text}`
  }
}

/** Headers that frame a message or name its destination. */
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
  // Not with Node's functions: their errors contain the value, and sessions without network would load `http`.
  if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(header) || notForSecrets.has(header.toLowerCase()))
    throw new HostSecretError(host, `cannot set the header ${JSON.stringify(header)}`)
  if (typeof value === 'string' && !isHeaderValue(value)) throw new HostSecretError(host, notForHeaders)
}

const notForHeaders = 'has a value that no header can have: it is empty or has a line break'

function isHeaderValue(text: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]+$/.test(text)
}

/** Returns the secrets that are added to a request to this host and port. */
export function secretsFor(
  secrets: readonly BoundSecret[],
  host: string,
  port: number,
): readonly BoundSecret[] {
  return secrets.filter(({ rule }) => ruleFor([rule], host, port) !== undefined)
}
