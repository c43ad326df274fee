/** Throws for what is not a number of milliseconds: such a threshold would disconnect all servers, or none. */
export function assertIdleThreshold(thresholdMs: unknown): void {
  if (typeof thresholdMs === 'number' && thresholdMs >= 0) return
  const given =
    typeof thresholdMs === 'number' ? String(thresholdMs) : `a value of type ${typeof thresholdMs}`
  throw new TypeError(`disconnectIdleMcp takes a number of milliseconds of at least 0, not ${given}.`)
}
