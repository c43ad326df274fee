import { readFileSync } from 'node:fs'

/** The version of this package. The path works for sources and for built files, which have the same depth. */
export function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return String((JSON.parse(text) as { version?: unknown }).version ?? 'unknown')
}
