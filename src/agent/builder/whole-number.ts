/** Checks that an option is a whole number and at least `min`. */
export function wholeNumber(option: string, value: number, min: number): number {
  if (!Number.isInteger(value) || value < min)
    throw new RangeError(`${option} must be a whole number of at least ${min}, not ${value}.`)
  return value
}
