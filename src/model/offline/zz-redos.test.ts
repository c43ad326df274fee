import { it } from 'vitest'
import { understand } from '/work/main/src/model/offline/understand.js'
it('times', () => {
  const cases: Record<string,string> = {}
  for (const v of ['find','read','show lines 1','list','count','run','replace','edit','create','show','where is', 'how many', 'search for', ''])
    for (const [k, f] of Object.entries({ spaces: ' '.repeat(8000), a: 'a '.repeat(4000), in: ' in'.repeat(2500), q: '"'.repeat(8000), the: 'the '.repeat(2000), then: ' then '.repeat(1300), dots: '.'.repeat(8000), and: ' and'.repeat(2000), files: 'files '.repeat(1300), tick: '`a '.repeat(2600), by: 'a by '.repeat(1600), please: ' please'.repeat(1100), nul: '\u00000\u0000'.repeat(2000) }))
      cases[v + '+' + k] = v + ' ' + f + 'x'
  for (const [k, text] of Object.entries(cases)) {
    const t = performance.now(); understand(text); const ms = performance.now() - t
    if (ms > 30) console.log(k, ms.toFixed(0))
  }
})
