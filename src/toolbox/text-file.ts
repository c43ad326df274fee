import { CapstanError } from '../tool/errors.js'
import type { RuntimeFiles } from '../tool/runtime.js'
import { contentKind } from './content-kind.js'
import { pathText } from './path-text.js'

/** A file as text that encodes to the same bytes again. A byte-order mark is the first character. */
export type TextFile = { readonly text: string; readonly version: string; readonly bytes: Uint8Array }

export const byteOrderMark = '\uFEFF'

/** Reads a file that will be changed as text. Throws an error that names the file when it is not UTF-8 text. */
export async function readTextFile(files: RuntimeFiles, path: string): Promise<TextFile> {
  const { bytes, version } = await files.read(path)
  const text = decodeUtf8(bytes)
  if (text === undefined) {
    const known = contentKind(bytes)
    const what =
      known.kind === 'utf16' ? 'UTF-16 text' : known.kind === 'binary' ? `binary (${known.name})` : known.kind
    throw new CapstanError(
      'file_not_text',
      `${pathText(path)} is not UTF-8 text${known.kind === 'utf8' ? '' : ` but ${what}`}; it was left untouched. ` +
        'Convert it to UTF-8 first, or change it with a command.',
    )
  }
  return { text, version, bytes }
}

// Shared, because creating a decoder costs more than decoding a line.
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Decodes bytes; returns undefined when they are not UTF-8. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return strict.decode(bytes)
  } catch (thrown) {
    if (thrown instanceof TypeError) return undefined
    throw thrown
  }
}
