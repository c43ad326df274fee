/** Returns the name of a tenant's counter in the period that contains a time. Periods are in UTC. */
export function tenantCounter(tenantId: string, ms: number, period: 'day' | 'month'): string {
  return `tenant/${tenantId}/${new Date(ms).toISOString().slice(0, period === 'day' ? 10 : 7)}`
}

/** How long the counters of a period are stored after its start: longer than any period. */
export const counterDays = 62

/** Whether this is a tenant's counter of a past period. */
export function isPastPeriod(name: string, now: number): boolean {
  const [, period] = /^tenant\/.*\/(\d{4}-\d\d(?:-\d\d)?)$/s.exec(name) ?? []
  return period !== undefined && period < new Date(now - counterDays * 86_400_000).toISOString().slice(0, 10)
}
