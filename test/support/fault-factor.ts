import { loadavg } from 'node:os'

/**
 * How often what is worth repeating is repeated: once in `npm test`, more in `npm run faults`, up to the figures of the
 * long form.
 */
export const factor = Math.max(1, Number(process.env['FAULT_FACTOR'] ?? 1) || 1)

/** Prints how far a long form is, every 50 faults. The short form prints nothing. */
export function reportFaults(name: string, done: number, of: number): void {
  if (factor > 1 && done % 50 === 0)
    console.info(`${name}: ${done} of ${of} at ${new Date().toISOString()}, load ${loadavg()[0]?.toFixed(1)}`)
}
