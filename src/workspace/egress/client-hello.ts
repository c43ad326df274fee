/** The host name in the first message of a TLS client (ClientHello). */
export type ClientHello = {
  /** The name in lower case; absent when the client sends none. */
  readonly serverName?: string | undefined
  /** Whether the client uses ECH, with which the real host can differ from the named one. */
  readonly encrypted: boolean
}

/** Reads the first message of a TLS client, also from several records. Returns `more` when it is incomplete. */
export function readClientHello(bytes: Buffer): ClientHello | 'more' | 'malformed' {
  const parts: Buffer[] = []
  let at = 0
  let have = 0
  let wanted = 4
  while (have < wanted) {
    if (bytes.length < at + 5) return 'more'
    const size = bytes.readUInt16BE(at + 3)
    // A valid record is a handshake record of version 3.x, not empty and not larger than the protocol allows.
    if (bytes[at] !== 0x16 || bytes[at + 1] !== 3 || size === 0 || size > 16_384) return 'malformed'
    if (bytes.length < at + 5 + size) return 'more'
    parts.push(bytes.subarray(at + 5, at + 5 + size))
    have += size
    at += 5 + size
    const start = Buffer.concat(parts)
    if (have >= 4) {
      if (start[0] !== 1) return 'malformed'
      wanted = 4 + start.readUIntBE(1, 3)
      if (wanted > maxHelloBytes) return 'malformed'
    }
  }
  const message = Buffer.concat(parts).subarray(4, wanted)
  try {
    return readExtensions(message)
  } catch (error) {
    // A length points past the end of the message.
    if (error instanceof RangeError) return 'malformed'
    throw error
  }
}

/** Larger than the first message of any real client. */
export const maxHelloBytes = 65_536

const serverNameExtension = 0
const encryptedHelloExtension = 0xfe0d

function readExtensions(message: Buffer): ClientHello | 'malformed' {
  // Skips version and random.
  let at = 34
  at += 1 + message.readUInt8(at)
  at += 2 + message.readUInt16BE(at)
  at += 1 + message.readUInt8(at)
  if (at === message.length) return { encrypted: false }
  const end = at + 2 + message.readUInt16BE(at)
  if (end !== message.length) return 'malformed'
  at += 2
  let serverName: string | undefined
  let encrypted = false
  while (at < end) {
    const type = message.readUInt16BE(at)
    const size = message.readUInt16BE(at + 2)
    const content = message.subarray(at + 4, at + 4 + size)
    if (content.length < size) return 'malformed'
    at += 4 + size
    if (type === encryptedHelloExtension) encrypted = true
    if (type !== serverNameExtension) continue
    const name = readServerName(content)
    // Two names, or a name that the server's parser could read differently.
    if (name === undefined || serverName !== undefined) return 'malformed'
    serverName = name
  }
  return { serverName, encrypted }
}

/** Returns the name from a list that has exactly one. */
function readServerName(content: Buffer): string | undefined {
  const size = content.readUInt16BE(3)
  const isWhole = content.readUInt16BE(0) === content.length - 2 && content.length === 5 + size
  if (!isWhole || content[2] !== 0) return undefined
  const name = content.toString('latin1', 5)
  return /^[\w.-]+$/.test(name) ? name.toLowerCase() : undefined
}
