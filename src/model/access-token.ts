/** A token in place of a key, or a function that returns the current one. */
export type AccessToken = string | (() => string | Promise<string>)

/** Returns the header with a token. The token is added to `secrets`, which must never be shown. */
export async function bearerOf(
  token: AccessToken | undefined,
  secrets: string[],
): Promise<{ readonly authorization: string } | undefined> {
  if (token === undefined) return undefined
  const text = (typeof token === 'function' ? await token() : token).trim()
  if (!secrets.includes(text)) {
    secrets.push(text)
    // Tokens expire, and a process that runs for weeks must not accumulate them. The keys, which are first in the list,
    // and the latest tokens are retained.
    if (secrets.length > maxSecrets) secrets.splice(-(latestTokens + 1), 1)
  }
  return { authorization: `Bearer ${text}` }
}

const maxSecrets = 32
const latestTokens = 16
