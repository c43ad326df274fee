/** Throws for an invalid number of milliseconds: with such a threshold all servers would be disconnected, or none. */
export function assertIdleThreshold(thresholdMs: unknown): void {
  if (typeof thresholdMs === 'number' && thresholdMs >= 0) return
  const given =
    typeof thresholdMs === 'number' ? String(thresholdMs) : `a value of type ${typeof thresholdMs}`
  throw new TypeError(`disconnectIdleMcp takes a number of milliseconds of at least 0, not ${given}.`)
}
