const maxIdLength = 40
const shortLength = 9

/**
 * Returns the id of a tool call in a form that a server accepts. Ids of another provider's calls may be too long or
 * of another form; a history with them would be rejected on every request.
 */
export function wireCallId(id: string, short: boolean): string {
  if (short ? /^[a-zA-Z0-9]{9}$/.test(id) : id.length <= maxIdLength) return id
  // Rarely needed; importing it would add four milliseconds to the start of every program.
  const { createHash } = process.getBuiltinModule('node:crypto')
  return createHash('sha256')
    .update(id)
    .digest('hex')
    .slice(0, short ? shortLength : maxIdLength)
}
