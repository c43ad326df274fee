/** Settings for the headers of every request. */
export type HeaderOptions = {
  readonly apiKey?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly sessionIdHeader?: string | undefined
  /** The header with the key. Default: `authorization`. */
  readonly keyHeader?: 'api-key' | undefined
}

/** Returns the headers of a request. A configured `Authorization` replaces that of the key. */
export function chatHeaders(options: HeaderOptions, sessionId: string | undefined): Record<string, string> {
  const { apiKey, headers = {}, sessionIdHeader, keyHeader } = options
  const key = apiKey?.trim()
  return {
    'content-type': 'application/json',
    ...(key &&
      !hasAuthorization(headers) &&
      (keyHeader === undefined ? { authorization: `Bearer ${key}` } : { [keyHeader]: key })),
    ...headers,
    ...(sessionIdHeader && sessionId !== undefined && { [sessionIdHeader]: sessionId }),
  }
}

export function hasAuthorization(headers: Readonly<Record<string, string>>): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')
}

/** Returns values that must never be shown: the key, headers that contain one, and secrets in a URL. */
export function secretsIn({ apiKey = '', headers = {} }: HeaderOptions, url: string): string[] {
  const named = Object.entries(headers).flatMap(([name, value]) =>
    /auth|key|token|secret|cookie/i.test(name) ? [value, value.replace(/^\w+ /, '')] : [],
  )
  return [apiKey, apiKey.trim(), ...named, ...urlSecrets(url)].filter((secret) => secret !== '')
}

function urlSecrets(url: string): string[] {
  if (!URL.canParse(url)) return []
  const { username, password, searchParams } = new URL(url)
  return [password, username, decodeURIComponent(password), ...searchParams.values()]
}
