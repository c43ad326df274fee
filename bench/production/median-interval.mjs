// The median of values, with its confidence interval.

/** @typedef {{ median: number, low: number, high: number }} Interval */

/**
 * The interval holds the true median with 95 % confidence, whatever the distribution is: the values at the places that a binomial
 * distribution gives. With few values it is all of them.
 * @param {readonly number[]} values
 * @returns {Interval}
 */
export function medianInterval(values) {
  const sorted = values.toSorted((a, b) => a - b)
  const { length } = sorted
  const half = 0.98 * Math.sqrt(length)
  const at = (/** @type {number} */ place) => sorted[Math.min(length - 1, Math.max(0, place))] ?? Number.NaN
  return {
    median: at(Math.round((length - 1) / 2)),
    low: at(Math.floor(length / 2 - half) - 1),
    high: at(Math.ceil(length / 2 + half)),
  }
}
