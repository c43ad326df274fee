/** A count that an option was given; throws what is none. */
export function wholeNumber(option: string, value: number, least: number): number {
  if (!Number.isInteger(value) || value < least)
    throw new RangeError(`${option} is a whole number from ${least} on, not ${value}.`)
  return value
}
