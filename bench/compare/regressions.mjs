// Which rows of a comparison are a regression.

/**
 * What one piece of work took before and now, and the ratios of the pairs of blocks.
 * @typedef {{ name: string, unit: string, before: number, now: number, ratio: import('../measure.mjs').Spread, pairs: number }} Row
 */

/** The ratio above which a row is a regression. */
export const maxRatio = 1.15

/**
 * One line for each row that takes too much more than before, by the median of its pairs. A row that was not measured is one of
 * them.
 * @param {readonly Row[]} rows
 */
export function regressions(rows) {
  return rows
    .filter(({ ratio }) => !(ratio.median <= maxRatio))
    .map(
      ({ name, unit, before, now, ratio }) =>
        `${name}: ${before.toPrecision(4)} before, ${now.toPrecision(4)} now (${unit}), ${ratio.median.toFixed(2)} times, at most ${maxRatio}`,
    )
}
