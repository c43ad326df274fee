import { FileNotTextError } from './errors.js'

/** Decodes bytes losslessly: a byte-order mark is preserved, and bytes that are not UTF-8 are rejected. */
export function decodeText(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new FileNotTextError(path)
  }
}
