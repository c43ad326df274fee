import { Writable } from 'node:stream'
import type { Io } from './io.js'

/**
 * Reserves standard output for a protocol: from now on, what other code of this process prints goes to standard error.
 * Libraries print warnings, and a client would read them as messages.
 */
export function protocolOutput({ stdout }: Pick<Io, 'stdout'>): Writable {
  if (stdout !== process.stdout) return stdout
  const write = stdout.write.bind(stdout)
  process.stdout.write = process.stderr.write.bind(process.stderr)
  return new Writable({
    // Texts stay texts.
    decodeStrings: false,
    write: (chunk: string, _, done) => void write(chunk, done),
  })
}
