/**
 * How often what is worth repeating is repeated: once in `npm test`, more in `npm run faults`, up to the figures of the
 * long form.
 */
export const factor = Math.max(1, Number(process.env['FAULT_FACTOR'] ?? 1) || 1)
