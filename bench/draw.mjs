// Bar charts for docs/performance.md. `node bench/draw.mjs FILE` draws those of a file in bench/results/.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const size = { row: 26, bar: 380, top: 62, letter: 8, figures: 90 }
/** The ratio of the largest to the smallest value from which proportional bars would not show the small values. */
const steep = 60

/** The chart of a part: which figure it shows, with its title and unit. @typedef {{ title: string, unit: string, of: (row: any) => number }} Picture */
/** @param {string} title @param {string} unit @returns {Picture} */
const ratio = (title, unit) => ({ title, unit, of: (row) => row.ratio?.median })
/** @type {Record<string, Picture>} */
const pictures = {
  import: { title: 'CPU of importing', unit: 'ms over bare Node', of: (row) => row.cpu?.median },
  start: ratio('Cold start to the first answer', 'times a bare fetch program, CPU'),
  rounds: ratio('One round, streamed, warm', 'times a bare fetch loop, CPU'),
  'rounds-500': ratio('One round in runs of 500, streamed, warm', 'times a bare fetch loop, CPU'),
  'rounds-cold': ratio('The first 50 rounds of a process', 'times a bare fetch loop, CPU'),
  deltas: ratio('20,000 pieces of text to a reader', 'times a bare fetch loop, CPU'),
  history: ratio('One question on top of a long history', 'times a bare fetch loop, CPU'),
  'crowd-200': ratio('200 conversations at once', 'times bare fetch loops, CPU'),
  'crowd-1000': ratio('1,000 conversations at once', 'times bare fetch loops, CPU'),
  memory: { title: 'Heap of a conversation after three rounds', unit: 'KB', of: (row) => row.used },
  calls: ratio('One call of a tool', 'times doing it by hand, CPU'),
  parallel: ratio('20 tools in one answer', 'times a bare fetch loop, CPU'),
  search: ratio('One tool of 1,000: found and called', 'times sending all definitions, CPU'),
  programs: { title: 'One call of a program', unit: 'ms by the clock', of: (row) => row.wall?.median },
  keeping: {
    title: 'Keeping one round more of a long session',
    unit: 'ms by the clock',
    of: (row) => row.wall?.median,
  },
  reopening: ratio('Opening a long session again', 'times parsing lines of JSON, CPU'),
  mcp: ratio('MCP round trips over stdio', 'times the official client library alone, CPU'),
  'command-ask': {
    title: 'Commands: from start to the first request',
    unit: 'times node -e 0, by the clock',
    of: (row) => row.wallRatio?.median,
  },
}

/** @param {readonly any[]} results */
export function drawResults(results) {
  const folder = join(import.meta.dirname, '../docs/images')
  const parts = results.find(({ name }) => name === 'peers')?.areas ?? []
  for (const { part, rows } of parts) {
    const picture = pictures[part]
    if (picture === undefined) continue
    mkdirSync(folder, { recursive: true })
    const path = join(folder, `bench-${part}.svg`)
    writeFileSync(path, barChart(picture, rows))
    console.log(`drawn: docs/images/bench-${part}.svg`)
  }
}

/** @param {Picture} picture @param {readonly any[]} rows */
export function barChart({ title, unit, of }, rows) {
  const bars = rows.map((row) => ({
    label: String(row.title),
    own: row.name.startsWith('capstan'),
    value: row.cannot === undefined ? of(row) : undefined,
    reason: row.cannot,
  }))
  const values = bars.flatMap(({ value }) => (value === undefined || !(value > 0) ? [] : [value]))
  const [least, most] = [Math.min(...values), Math.max(...values)]
  const logarithmic = most / least > steep
  // The smallest value also gets a visible bar.
  const share = (/** @type {number} */ value) =>
    logarithmic ? (Math.log(value / least) + 1) / (Math.log(most / least) + 1) : value / most
  const label = Math.max(...bars.map(({ label }) => label.length)) * size.letter + 24
  const reasons =
    Math.max(0, ...bars.map(({ reason }) => (reason === undefined ? 0 : reason.length + 8))) * size.letter
  const width = label + Math.max(size.bar + size.figures, reasons + 16)
  const height = size.top + bars.length * size.row + 16
  const lines = bars.map(({ label: name, own, value, reason }, at) => {
    const y = size.top + at * size.row
    const known = value !== undefined && value > 0
    const length = known ? Math.max(2, share(value) * size.bar) : 0
    const text = known
      ? shown(value)
      : reason === undefined
        ? '–'
        : `${reason.startsWith('failed') ? '' : 'cannot: '}${reason}`
    return `<text x="${label - 8}" y="${y + 15}" text-anchor="end"${own ? ' class="own"' : ''}>${escaped(name)}</text>
<rect x="${label}" y="${y + 3}" width="${length.toFixed(1)}" height="16" rx="2" class="${own ? 'mine' : 'bar'}"/>
<text x="${(label + length + 6).toFixed(1)}" y="${y + 15}"${known ? '' : ' class="unit"'}>${escaped(text)}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, 'DejaVu Sans', sans-serif" font-size="13">
<title>${escaped(title)}</title>
<style>text{fill:#24292f}.own{font-weight:bold}.head{font-size:16px;font-weight:bold}.unit{fill:#57606a}.bar{fill:#8c959f}.mine{fill:#0969da}</style>
<rect width="100%" height="100%" rx="8" fill="#fff"/>
<text x="16" y="26" class="head">${escaped(title)}</text>
<text x="16" y="46" class="unit">${escaped(unit)}; less is better${logarithmic ? '; bars on a logarithmic scale' : ''}</text>
${lines.join('\n')}
</svg>
`
}

/** @param {number} value */
function shown(value) {
  if (value >= 100) return Math.round(value).toLocaleString('en-US')
  return value >= 10 ? value.toFixed(1) : value >= 0.1 ? value.toFixed(2) : value.toPrecision(2)
}

/** @param {string} text */
function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

if (process.argv[1] === import.meta.filename && process.argv[2] !== undefined) {
  const read = JSON.parse(readFileSync(process.argv[2], 'utf8'))
  drawResults(read.results ?? [read])
}
