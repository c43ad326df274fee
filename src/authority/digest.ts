/** Returns the SHA-256 of a text's UTF-8 in hexadecimal. Uses Web Crypto, which every JavaScript runtime has. */
export async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}
