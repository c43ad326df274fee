/** Whether a value can be the id of a session: it is part of file names and of paths of URLs. */
export function isSessionId(value: unknown): value is string {
  return typeof value === 'string' && /^[^\0/\\]{1,200}$/.test(value) && value !== '.' && value !== '..'
}

/** What an id must be, for messages. */
export const sessionIdRule = '1 to 200 characters without "/", "\\" or a zero byte'
