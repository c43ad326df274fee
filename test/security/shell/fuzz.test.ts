import { expect, it } from 'vitest'
import { fuzz } from './fuzz.js'

/**
 * 150 scripts by default; `npm run fuzz` takes 50,000. What bash really opened and ran decides: strace writes it down,
 * and where there is none, files are compared afterwards.
 */
const CASES = Number(process.env['FUZZ_CASES'] ?? 150)
const SEED = Number(process.env['FUZZ_SEED'] ?? 20260)
/** So many at a time: each block has a seed of its own, to repeat it alone. */
const BLOCK = 1000

it(
  `the analysis finds every command that bash runs in ${CASES} random scripts`,
  async () => {
    const total = {
      ...{ cases: 0, executed: 0, refused: 0, onlyDoubted: 0, clear: 0, timedOut: 0 },
      ...{ wrote: 0, readDenied: 0, wroteDenied: 0, ranDenied: 0, started: 0, allowed: 0 },
    }
    let traced = true
    for (let block = 0; block * BLOCK < CASES; block++) {
      const seed = SEED + block
      const report = await fuzz(Math.min(BLOCK, CASES - block * BLOCK), seed)
      for (const key of Object.keys(total) as (keyof typeof total)[]) total[key] += report[key]
      expect(report.hidden, `hidden with FUZZ_SEED=${seed}`).toEqual([])
      expect(report.misread, `misread with FUZZ_SEED=${seed}`).toEqual([])
      expect(report.unseen, `unseen with FUZZ_SEED=${seed}`).toEqual([])
      traced = report.traced
      if (CASES > BLOCK) console.info(`fuzz: ${total.cases} of ${CASES} cases, 0 unseen`)
    }
    const oracle = traced ? 'traced with strace' : 'not traced: only what was written and run is known'
    console.info(`fuzz (${oracle}): ${JSON.stringify(total)}`)
    // A generator that plants nothing, or a judge that refuses everything, would pass without meaning.
    expect(total.executed).toBeGreaterThan(total.cases * 0.4)
    expect(total.clear).toBeGreaterThan(total.cases * 0.05)
    expect(total.allowed).toBeGreaterThan(total.cases * 0.03)
    expect(total.wrote).toBeGreaterThan(total.cases * 0.03)
    expect(total.ranDenied).toBeGreaterThan(total.cases * 0.01)
    expect(total.wroteDenied).toBeGreaterThan(total.cases * 0.01)
    if (traced) expect(total.readDenied).toBeGreaterThan(total.cases * 0.01)
    if (traced) expect(total.started).toBeGreaterThan(total.executed)
    expect(total.refused).toBeLessThan(total.executed * 0.2)
    // A few wait for input that never comes; what they ran until then is compared too.
    expect(total.timedOut).toBeLessThanOrEqual(1 + total.cases / 5000)
  },
  CASES * 400 + 120_000,
)
