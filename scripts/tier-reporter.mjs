// A vitest reporter: writes the time and the counts of each tier to `.build/tiers.json`. The end of
// one tier and the start of the next overlap.
import { mkdirSync, writeFileSync } from 'node:fs'
import { tierOf } from './tiers.mjs'

export default class TierReporter {
  /** @type {Map<string, { name: string, from: number, to: number, passed: number, failed: number, skipped: number }>} */
  #tiers = new Map()

  /** @param {import('vitest/node').TestModule} module */
  onTestModuleStart(module) {
    this.#tier(module)
  }

  /** @param {import('vitest/node').TestModule} module */
  onTestModuleEnd(module) {
    const tier = this.#tier(module)
    tier.to = performance.now()
    for (const test of module.children.allTests()) {
      const { state } = test.result()
      if (state === 'passed' || state === 'failed') tier[state] += 1
      else tier.skipped += 1
    }
    // A file that does not load has no tests.
    if (module.errors().length > 0) tier.failed += 1
  }

  onTestRunEnd() {
    const tiers = [...this.#tiers.values()].map(({ from, to, ...tier }) => ({ ...tier, ms: to - from }))
    mkdirSync('.build', { recursive: true })
    writeFileSync('.build/tiers.json', JSON.stringify(tiers))
  }

  /** @param {import('vitest/node').TestModule} module */
  #tier({ project, relativeModuleId }) {
    const name = tierOf(relativeModuleId, project.name)
    const now = performance.now()
    const known = this.#tiers.get(name) ?? { name, from: now, to: now, passed: 0, failed: 0, skipped: 0 }
    this.#tiers.set(name, known)
    return known
  }
}
