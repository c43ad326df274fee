/**
 * Returns the id under which the caller logs a request; undefined without one, or if it contains unusual characters.
 */
export function correlationIdOf({ headers }: Request): string | undefined {
  const given = headers.get('x-correlation-id') ?? headers.get('x-request-id') ?? ''
  return /^[\w.:-]{1,200}$/.test(given) ? given : undefined
}
