/** A way to an address that is not the direct one with the usual certificates. */
export type Route = { readonly proxy?: URL | undefined; readonly caFile?: string | undefined }

/** Returns the credentials of a proxy in every form in which they may be shown. */
export function credentialsOf({ username, password }: URL): string[] {
  const token = basicToken(username, password)
  return [password, username, decodeURIComponent(password), decodeURIComponent(username), token].filter(
    (secret) => secret !== '',
  )
}

/** Returns the credentials of a URL as `Proxy-Authorization` has them; an empty text when there are none. */
export function basicToken(username: string, password: string): string {
  if (username === '' && password === '') return ''
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return Buffer.from(pair).toString('base64')
}
