import { tryOr } from '../../tool/errors.js'
/** Returns the media type and the charset of an answer, from its `content-type`. */
export function readContentType(header: string | undefined): { type: string; charset: string | undefined } {
  const type = (header ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  const charset = /;\s*charset\s*=\s*"?([^";\s]{1,40})/i.exec(header ?? '')?.[1]
  return { type, charset }
}

/**
 * Decodes bytes by the byte order mark, otherwise the charset of the header, otherwise the charset that the page
 * declares, otherwise UTF-8. An unknown or wrong charset can garble characters, but never throws.
 */
export function decodeText(bytes: Uint8Array, charset: string | undefined): string {
  const marked = byteOrderMark(bytes)
  const decoder =
    decoderFor(marked) ?? decoderFor(charset) ?? decoderFor(declaredCharset(bytes)) ?? new TextDecoder()
  return decoder.decode(bytes)
}

/**
 * Returns whether bytes without a usable type are text: no NUL at their beginning, unless they are marked as UTF-16.
 */
export function looksLikeText(bytes: Uint8Array): boolean {
  return byteOrderMark(bytes) !== undefined || !bytes.subarray(0, 1024).includes(0)
}

function byteOrderMark(bytes: Uint8Array): string | undefined {
  const [a, b, c] = bytes
  if (a === 0xef && b === 0xbb && c === 0xbf) return 'utf-8'
  if (a === 0xff && b === 0xfe) return 'utf-16le'
  return a === 0xfe && b === 0xff ? 'utf-16be' : undefined
}

const headBytes = 2048

/** Returns the declared encoding of a page: `<meta charset>`, the older `http-equiv` form, or an XML declaration. */
function declaredCharset(bytes: Uint8Array): string | undefined {
  const head = new TextDecoder('latin1').decode(bytes.subarray(0, headBytes))
  const said =
    /<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})|<\?xml[^>]{0,100}?encoding\s*=\s*["']([\w.:-]{1,40})/i
  const found = said.exec(head)
  const name = found?.[1] ?? found?.[2]
  // The declaration was just read with one byte per character, so the page cannot be UTF-16.
  return name !== undefined && /^utf-?16/i.test(name) ? 'utf-8' : name
}

function decoderFor(charset: string | undefined): TextDecoder | undefined {
  if (charset === undefined) return undefined
  // For an unknown charset label, the next source of the charset is used.
  return tryOr(() => new TextDecoder(charset), undefined)
}
