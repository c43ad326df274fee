/** The id under which the caller of a request logs it; undefined when it has none, or one that is not a plain name. */
export function correlationIdOf({ headers }: Request): string | undefined {
  const given = headers.get('x-correlation-id') ?? headers.get('x-request-id') ?? ''
  return /^[\w.:-]{1,200}$/.test(given) ? given : undefined
}
