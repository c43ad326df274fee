// `npm run bench -- limits`: what must not take long. Hostile text is read in a time that grows with its length alone,
// and what a host or a person waits for comes within its limit. About half a minute; with `--quick` a rough result in
// some ten seconds.
import { measureHostileInput } from './limits/hostile-input.mjs'
import { measureWaits } from './limits/waits.mjs'
import { figure, printTable, writeResults } from './report.mjs'

const quick = process.argv.includes('--quick')
const maxGrowth = 1.5

const hostile = await measureHostileInput(quick ? 25_000 : 100_000)
const explanation = 'How the time grows when the text is four times as long: 1 is linear, 2 is quadratic.'
printTable(
  'Hostile input',
  explanation,
  ['', 'growth', 'ms'],
  hostile.map(({ name, growth, ms }) => [name, figure(growth), figure(ms)]),
)
const waits = await measureWaits(quick ? 3 : 11)
printTable(
  'Waits',
  'Milliseconds, the middle of several tries.',
  ['', 'ms', 'limit'],
  waits.map(({ name, ms, most }) => [name, figure(ms), String(most)]),
)
const targets = [
  ...hostile.map(({ name, growth }) => ({
    name,
    most: maxGrowth,
    found: growth,
    met: growth <= maxGrowth,
  })),
  ...waits.map(({ name, ms, most }) => ({ name, most, found: ms, met: ms <= most })),
]
for (const { name, most, found, met } of targets)
  if (!met) console.log(`MISSED ${name}: ${figure(found)}, target: at most ${most}`)
const path = writeResults('limits', {
  quick,
  targets,
  areas: [
    { title: 'Hostile input', explanation, rows: hostile },
    { title: 'Waits', explanation: 'Milliseconds.', rows: waits },
  ],
})
console.log(`wrote ${path}`)
if (targets.some(({ met }) => !met)) process.exitCode = 1
