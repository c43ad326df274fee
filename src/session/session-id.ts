/** Whether a value is a valid session id: it is used in file names and in URL paths. */
export function isSessionId(value: unknown): value is string {
  return typeof value === 'string' && /^[^\0/\\]{1,200}$/.test(value) && value !== '.' && value !== '..'
}

/** The rule for ids, for error messages. */
export const sessionIdRule = '1 to 200 characters without "/", "\\" or a zero byte'
