/** Shorter values are words: taking them out would take texts apart and protect nothing. */
export const minSecretLength = 8

/**
 * The forms in which a secret shows up: as it is, escaped for JSON or a URL, in hexadecimal, and in base64 of any text
 * that it is a part of, such as the header that carries name and password.
 */
export function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret, 'utf8')
  const hex = bytes.toString('hex')
  const url = encodeURIComponent(bytes.toString('utf8'))
  const base64 = [0, 1, 2].map((offset) => insideBase64(bytes, offset))
  const forms = [
    secret,
    JSON.stringify(secret).slice(1, -1),
    url,
    url.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()),
    url.replaceAll('%20', '+'),
    hex,
    hex.toUpperCase(),
    ...base64,
    ...base64.map((form) => form.replaceAll('+', '-').replaceAll('/', '_')),
  ]
  return [...new Set(forms)].filter((form) => form.length >= minSecretLength)
}

/** What base64 has of these bytes wherever they begin: without characters that hold bits of their neighbours. */
function insideBase64(bytes: Buffer, offset: number): string {
  const text = Buffer.concat([Buffer.alloc(offset), bytes])
    .toString('base64')
    .replaceAll('=', '')
  const start = Math.ceil((offset * 8) / 6)
  const end = Math.floor(((offset + bytes.length) * 8) / 6)
  return text.slice(start, end)
}
