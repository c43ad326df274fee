const maxIdLength = 40
const shortLength = 9

/**
 * The id of a tool call as a server takes it. Ids of calls that another provider's model made may be too long or of another kind;
 * such a history would be refused for ever.
 */
export function wireCallId(id: string, short: boolean): string {
  if (short ? /^[a-zA-Z0-9]{9}$/.test(id) : id.length <= maxIdLength) return id
  // Rarely needed, and four milliseconds of every program's start if it were imported.
  const { createHash } = process.getBuiltinModule('node:crypto')
  return createHash('sha256')
    .update(id)
    .digest('hex')
    .slice(0, short ? shortLength : maxIdLength)
}
