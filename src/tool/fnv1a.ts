/** Returns a 32-bit hash that is fast, equal in every process, and not cryptographic. */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  // The low bits of FNV are weak; fold the high ones in.
  return (hash ^ (hash >>> 15)) >>> 0
}
