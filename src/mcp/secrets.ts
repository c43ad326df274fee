import { visibleLine } from '../toolbox/untrusted-text.js'
import type { McpServerSpec } from './server-options.js'

/** Removes the secrets of a server's configuration from a text. */
export type Redact = (text: string) => string

/**
 * The secrets are the values of variables, headers and keys, and the query of the address: none of them may appear in
 * a message.
 */
export function redactorFor({ reach }: McpServerSpec): Redact {
  const values =
    reach.by === 'stdio'
      ? [...Object.values(reach.env ?? {}), ...secretWords(reach.argv)]
      : [
          ...Object.values(reach.headers),
          // In `Bearer abc`, other texts repeat only the token.
          ...Object.values(reach.headers).flatMap((value) => value.split(' ').slice(1)),
          ...[...reach.url.searchParams.values()],
          ...[reach.oauth?.clientSecret, reach.oauth?.accessToken].flatMap((one) => one ?? []),
        ]
  // Short values are words such as `1` or `true`, which occur in every text.
  const secrets = [...new Set(values.filter((value) => value.length >= 6))].sort(
    (a, b) => b.length - a.length,
  )
  return (text) => secrets.reduce((clean, secret) => clean.replaceAll(secret, '[hidden]'), text)
}

/** Converts a text of a server or a library to one line that can be shown. */
export function shownLine(text: string, redact: Redact, most = 300): string {
  return visibleLine(redact(text.slice(0, 8_000)), most)
}

/**
 * Returns the values of `--token`, `--api-key=` and similar options. Other arguments are paths and names, which
 * messages need.
 */
function secretWords(argv: readonly string[]): string[] {
  const telling = /(token|secret|password|passwd|api[-_]?key|credential|auth)/i
  return argv.flatMap((word, at) => {
    const [name = '', ...value] = word.split('=')
    if (value.length > 0 && telling.test(name)) return [value.join('=')]
    return /^-/.test(argv[at - 1] ?? '') && telling.test(argv[at - 1] ?? '') ? [word] : []
  })
}
