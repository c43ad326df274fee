/** A way to an address that is not the direct one with the usual certificates. */
export type Route = { readonly proxy?: URL | undefined; readonly caFile?: string | undefined }

/** Returns the credentials of a proxy in every form in which they may be shown. */
export function credentialsOf({ username, password }: URL): string[] {
  const token = basicToken(username, password)
  return [password, username, decoded(password), decoded(username), token].filter((secret) => secret !== '')
}

/** Returns the credentials of a URL as `Proxy-Authorization` has them; an empty text when there are none. */
export function basicToken(username: string, password: string): string {
  if (username === '' && password === '') return ''
  return Buffer.from(`${decoded(username)}:${decoded(password)}`).toString('base64')
}

/** A password may contain a percent sign that encodes nothing. */
function decoded(text: string): string {
  return text.replace(/(?:%[\da-f]{2})+/gi, (bytes) =>
    Buffer.from(bytes.replaceAll('%', ''), 'hex').toString(),
  )
}
