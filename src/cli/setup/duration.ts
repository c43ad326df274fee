import { UsageError } from '../errors.js'

/** Parses `500ms`, `90s`, `10m` or `2h` to milliseconds. */
export function readDuration(option: string, text: string): number {
  const found = /^(\d+(?:\.\d+)?) ?(ms|s|m|h)$/.exec(text.trim())
  const factor = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }[found?.[2] ?? ''] ?? 0
  const milliseconds = Math.round(Number(found?.[1]) * factor)
  if (!(milliseconds > 0))
    throw new UsageError(`--${option} takes a duration such as 90s, 10m or 2h, not ${JSON.stringify(text)}.`)
  return milliseconds
}
