/**
 * How often a property test is tried: a tenth of `runs` in `npm test`, all of them in `npm run fuzz`. Seeds are random,
 * so many test runs together still see many cases.
 */
export function propertyRuns(runs: number): number {
  return process.env['PROPERTY_RUNS'] === 'all' ? runs : Math.ceil(runs / 10)
}
