import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isIP } from 'node:net'
import { createSecureContext, type SecureContext } from 'node:tls'

/** Signs certificates for hosts whose requests the proxy inspects. Its private key exists in memory only. */
export type CertificateAuthority = {
  /** The certificate of the authority, as PEM. */
  readonly certificate: string
  /** Returns the TLS context of a server for this host. */
  contextFor(host: string): SecureContext
}

/**
 * Creates an authority for the lifetime of one command. Node has no function that creates certificates, so the few
 * structures of X.509 that are needed are implemented here (RFC 5280).
 */
export function createCertificateAuthority(now: number = Date.now()): CertificateAuthority {
  const own = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const leaf = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const leafKey = leaf.privateKey.export({ type: 'pkcs8', format: 'pem' })
  const name = `Capstan sandbox ${randomBytes(8).toString('hex')}`
  const issuer = { name, key: own.privateKey, keyId: keyIdOf(own.publicKey) }
  const contexts = new Map<string, SecureContext>()
  return {
    certificate: signedCertificate(issuer, name, own.publicKey, now, [
      // The authority can sign server certificates, but no intermediate authorities.
      extension('551d13', true, sequence(boolean(true), integer(Buffer.of(0)))),
      extension('551d0f', true, bits(Buffer.of(0x06), 1)),
      extension('551d0e', false, octets(issuer.keyId)),
    ]),
    contextFor(host) {
      const known = contexts.get(host)
      if (known !== undefined) return known
      const cert = signedCertificate(issuer, 'Capstan sandbox', leaf.publicKey, now, [
        extension('551d13', true, sequence()),
        extension('551d0f', true, bits(Buffer.of(0x80), 7)),
        extension('551d25', false, sequence(oid('2b06010505070301'))),
        extension('551d11', true, sequence(alternativeName(host))),
        extension('551d23', false, sequence(der(0x80, issuer.keyId))),
      ])
      const context = createSecureContext({ key: leafKey, cert })
      contexts.set(host, context)
      return context
    },
  }
}

type Issuer = { readonly name: string; readonly key: KeyObject; readonly keyId: Buffer }

const day = 86_400_000

function signedCertificate(
  issuer: Issuer,
  subject: string,
  publicKey: KeyObject,
  now: number,
  extensions: readonly Buffer[],
): string {
  const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'))
  const serial = randomBytes(16)
  // Positive, and without a leading zero.
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40
  const content = sequence(
    der(0xa0, integer(Buffer.of(2))),
    integer(serial),
    ecdsaWithSha256,
    distinguishedName(issuer.name),
    sequence(time(now - day), time(now + 30 * day)),
    distinguishedName(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  )
  const certificate = sequence(content, ecdsaWithSha256, bits(sign('sha256', content, issuer.key), 0))
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}

function keyIdOf(publicKey: KeyObject): Buffer {
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest()
    .subarray(0, 20)
}

function distinguishedName(commonName: string): Buffer {
  return sequence(der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(commonName, 'utf8')))))
}

function alternativeName(host: string): Buffer {
  return isIP(host) === 0 ? der(0x82, Buffer.from(host, 'latin1')) : der(0x87, addressBytes(host))
}

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number))
  const [head = '', tail] = address.split('::')
  const words = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((word) => Number.parseInt(word, 16))
  const [before, after] = [words(head), words(tail ?? '')]
  const zeros = new Array<number>(8 - before.length - after.length).fill(0)
  return Buffer.from([...before, ...zeros, ...after].flatMap((word) => [word >> 8, word & 0xff]))
}

function extension(id: string, critical: boolean, value: Buffer): Buffer {
  return sequence(oid(id), ...(critical ? [boolean(true)] : []), octets(value))
}

function time(atMs: number): Buffer {
  const digits = new Date(atMs).toISOString().replace(/[-:T]|\.\d+/g, '')
  // UTCTime has two digits for the year and is used until 2049; GeneralizedTime has four.
  return digits < '2050'
    ? der(0x17, Buffer.from(digits.slice(2), 'latin1'))
    : der(0x18, Buffer.from(digits, 'latin1'))
}

const sequence = (...parts: readonly Buffer[]): Buffer => der(0x30, ...parts)
const integer = (bytes: Buffer): Buffer => der(0x02, bytes)
const octets = (bytes: Buffer): Buffer => der(0x04, bytes)
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'))
const boolean = (value: boolean): Buffer => der(0x01, Buffer.of(value ? 0xff : 0))
const bits = (bytes: Buffer, unused: number): Buffer => der(0x03, Buffer.of(unused), bytes)

/** Encodes one value in DER: tag, length, content. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.of(tag, ...size), content])
}
