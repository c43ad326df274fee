import { visibleLine } from '../toolbox/untrusted-text.js'
import type { McpServerSpec } from './server-options.js'

/** Takes the secrets of a server's configuration out of a text. */
export type Redact = (text: string) => string

/** Values of variables, headers and keys, and what stands in the query of the address: none of them belongs into a message. */
export function redactorFor({ reach }: McpServerSpec): Redact {
  const values =
    reach.by === 'stdio'
      ? Object.values(reach.env ?? {})
      : [
          ...Object.values(reach.headers),
          // `Bearer abc`: what is repeated elsewhere is the token alone.
          ...Object.values(reach.headers).flatMap((value) => value.split(' ').slice(1)),
          ...[...reach.url.searchParams.values()],
          ...[reach.oauth?.clientSecret, reach.oauth?.accessToken].flatMap((one) => one ?? []),
        ]
  // Short ones are words like `1` or `true`, and stand in every text.
  const secrets = [...new Set(values.filter((value) => value.length >= 6))].sort(
    (a, b) => b.length - a.length,
  )
  return (text) => secrets.reduce((clean, secret) => clean.replaceAll(secret, '[hidden]'), text)
}

/** What a server or a library says, as one line that may be shown. */
export function shownLine(text: string, redact: Redact, most = 300): string {
  return visibleLine(redact(text.slice(0, 8_000)), most)
}
