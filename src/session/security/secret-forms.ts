/**
 * The minimum length of a secret. Shorter values are ordinary words: redacting them would damage texts and protect
 * nothing.
 */
export const minSecretLength = 8

/**
 * Returns the forms in which a secret can appear: unchanged, escaped for JSON or a URL, in hexadecimal, and in base64
 * of any text that contains it, such as an authorization header with name and password.
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

/** Returns the base64 characters of these bytes at an offset, without characters that also encode neighbouring bits. */
function insideBase64(bytes: Buffer, offset: number): string {
  const text = Buffer.concat([Buffer.alloc(offset), bytes])
    .toString('base64')
    .replaceAll('=', '')
  const start = Math.ceil((offset * 8) / 6)
  const end = Math.floor(((offset + bytes.length) * 8) / 6)
  return text.slice(start, end)
}
