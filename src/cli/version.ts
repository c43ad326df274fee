import { readFileSync } from 'node:fs'

/** The version of this package. Sources and built files stand equally deep below its `package.json`. */
export function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return String((JSON.parse(text) as { version?: unknown }).version ?? 'unknown')
}
