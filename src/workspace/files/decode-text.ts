import { FileNotTextError } from './errors.js'

/** Bytes as text that turns back into the same bytes: a byte-order mark stays, and what is not UTF-8 is refused. */
export function decodeText(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new FileNotTextError(path)
  }
}
