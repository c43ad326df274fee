/** `3 min ago`, or the date for what is longer ago than a day. */
export function ago(atMs: number | undefined, now = Date.now()): string {
  if (atMs === undefined) return ''
  const seconds = Math.max(0, Math.round((now - atMs) / 1_000))
  if (seconds < 60) return `${seconds} s ago`
  if (seconds < 3_600) return `${Math.round(seconds / 60)} min ago`
  if (seconds < 86_400) return `${Math.round(seconds / 3_600)} h ago`
  return new Date(atMs).toLocaleDateString()
}

/** `in 3 min`, or the date and time for what is more than a day ahead. */
export function fromNow(atMs: number, now = Date.now()): string {
  const seconds = Math.max(0, Math.round((atMs - now) / 1_000))
  if (seconds < 60) return `in ${seconds} s`
  if (seconds < 3_600) return `in ${Math.round(seconds / 60)} min`
  if (seconds < 86_400) return `in ${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`
  return dateAndTime(atMs)
}

export function dateAndTime(atMs: number): string {
  return new Date(atMs).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' })
}

export function clock(atMs: number): string {
  return new Date(atMs).toLocaleTimeString()
}

export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1_000)} s`
  return `${Math.floor(ms / 3_600_000)} h ${Math.floor((ms % 3_600_000) / 60_000)} min`
}

export function tokens(count: number): string {
  if (count < 10_000) return count.toLocaleString()
  return count < 1_000_000 ? `${(count / 1_000).toFixed(1)}k` : `${(count / 1_000_000).toFixed(2)}M`
}

export function dollars(amount: number | undefined): string {
  if (amount === undefined) return ''
  return amount < 0.01 && amount > 0 ? '<$0.01' : `$${amount.toFixed(2)}`
}

/** `1 run`, `2 runs` */
export function count(number: number, word: string, many = `${word}s`): string {
  return `${number.toLocaleString()} ${number === 1 ? word : many}`
}

/** The last part of a path. */
export function baseName(path: string | undefined): string {
  return path?.split(/[\\/]/).at(-1) ?? ''
}
