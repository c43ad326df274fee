import { expect, it } from 'vitest'
import { fuzz } from './fuzz.js'

/**
 * 3,000 scripts by default. For a release:
 * `FUZZ_CASES=50000 node node_modules/vitest/vitest.mjs run test/security/shell/fuzz.test.ts`
 */
const CASES = Number(process.env['FUZZ_CASES'] ?? 3000)
const SEED = Number(process.env['FUZZ_SEED'] ?? 20260)
/** So many at a time: each block has a seed of its own, to repeat it alone. */
const BLOCK = 3000

it(
  `shows every command that bash runs in ${CASES} random scripts`,
  async () => {
    const total = { cases: 0, executed: 0, refused: 0, onlyDoubted: 0, clear: 0, timedOut: 0 }
    for (let block = 0; block * BLOCK < CASES; block++) {
      const seed = SEED + block
      const report = await fuzz(Math.min(BLOCK, CASES - block * BLOCK), seed)
      for (const key of Object.keys(total) as (keyof typeof total)[]) total[key] += report[key]
      expect(report.hidden, `hidden with FUZZ_SEED=${seed}`).toEqual([])
      expect(report.misread, `misread with FUZZ_SEED=${seed}`).toEqual([])
    }
    console.info(`fuzz: ${JSON.stringify(total)}`)
    // A generator that plants nothing, or a judge that refuses everything, would pass without meaning.
    expect(total.executed).toBeGreaterThan(total.cases * 0.4)
    expect(total.clear).toBeGreaterThan(total.cases * 0.05)
    expect(total.refused).toBeLessThan(total.executed * 0.2)
    // A few wait for input that never comes; what they ran until then is compared too.
    expect(total.timedOut).toBeLessThanOrEqual(1 + total.cases / 5000)
  },
  CASES * 60 + 60_000,
)
