/**
 * The same text for all who have it: sessions on one workspace are told the same to the last byte, and with a project's instructions in
 * it that is the largest thing an idle one keeps.
 */
export function sharedText(text: string): string {
  const known = recent.get(text) ?? text
  // Put back at the end: what was not asked for longest goes first.
  recent.delete(text)
  recent.set(known, known)
  if (recent.size > mostKept) recent.delete(recent.keys().next().value ?? '')
  return known
}

const recent = new Map<string, string>()
const mostKept = 16
