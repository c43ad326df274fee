/**
 * Returns the SHA-256 of a text's UTF-8 in hexadecimal. Uses Node's digest where it exists, because a server can
 * offer 5,000 tools: Web Crypto, which every JavaScript runtime has, starts a job on another thread for each text and
 * takes fifteen times the processor time.
 */
export async function sha256(text: string): Promise<string> {
  const node = (globalThis as NodeGlobal).process?.getBuiltinModule?.('node:crypto')
  if (node !== undefined) return node.createHash('sha256').update(text, 'utf8').digest('hex')
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

type NodeGlobal = {
  readonly process?: { readonly getBuiltinModule?: (id: 'node:crypto') => NodeCrypto | undefined }
}
type NodeCrypto = {
  createHash(name: 'sha256'): { update(text: string, encoding: 'utf8'): { digest(encoding: 'hex'): string } }
}
