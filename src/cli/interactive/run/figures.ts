/** Formats a number with commas, independent of the locale. */
export function grouped(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',')
}

/** Abbreviates a number: `950`, `12.5k`, `3.1M`. */
export function roughly(count: number): string {
  if (count < 1_000) return String(count)
  const [amount, unit] = count < 999_500 ? [count / 1_000, 'k'] : [count / 1_000_000, 'M']
  return `${amount < 99.95 ? amount.toFixed(1) : Math.round(amount)}${unit}`
}

export function dollars(amount: number): string {
  return `$${amount.toFixed(4)}`
}

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

export function seconds(ms: number): string {
  return ms < 60_000
    ? `${(ms / 1000).toFixed(1)} s`
    : `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1000)} s`
}
