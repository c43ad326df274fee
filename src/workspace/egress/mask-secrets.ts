import { Transform } from 'node:stream'

/**
 * Replaces secrets in a response by the same number of asterisks, so that its length does not change. Otherwise a
 * server that echoes a request would reveal the secret to the command.
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
      // No other bytes are delayed: the last event of a stream must not wait for the next one.
      const ready = bytes.length - Math.max(0, ...needles.map((needle) => begunAtEnd(bytes, needle)))
      held = bytes.subarray(ready)
      done(null, bytes.subarray(0, ready))
    },
    flush(done) {
      done(null, held)
    },
  })
}

/** Returns how many bytes at the end could be the beginning of this text. */
function begunAtEnd(bytes: Buffer, text: Buffer): number {
  for (let size = Math.min(bytes.length, text.length - 1); size > 0; size--)
    if (bytes.subarray(-size).equals(text.subarray(0, size))) return size
  return 0
}

/** Replaces secrets in the text of a header. */
export function maskText(text: string, texts: readonly string[]): string {
  return texts
    .toSorted((a, b) => b.length - a.length)
    .reduce((masked, one) => masked.replaceAll(one, '*'.repeat(one.length)), text)
}
