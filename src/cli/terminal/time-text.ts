/** Formats a time as `2026-03-01 12:30`, in UTC. */
export function timeText(ms: number | undefined): string {
  return ms === undefined ? '' : new Date(ms).toISOString().slice(0, 16).replace('T', ' ')
}
