// Bar charts for docs/performance.md. `node bench/draw.mjs FILE` draws those of a file in bench/results/.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const size = { width: 860, row: 26, label: 330, bar: 380, top: 58 }
/** What is shown of a part: which figure, and how it reads. @type {Record<string, { title: string, unit: string, of: (row: any) => number }>} */
const pictures = {
  rounds: {
    title: 'CPU of one round, streamed',
    unit: 'times a bare fetch loop',
    of: (row) => row.ratio?.median,
  },
  import: { title: 'CPU of importing', unit: 'ms over bare Node', of: (row) => row.cpu?.median },
  start: {
    title: 'Cold start to the first answer',
    unit: 'times a bare fetch program, CPU',
    of: (row) => row.ratio?.median,
  },
  deltas: {
    title: '20,000 pieces of text to a reader',
    unit: 'times a bare fetch loop, CPU',
    of: (row) => row.ratio?.median,
  },
  'crowd-200': {
    title: '200 conversations at once',
    unit: 'times bare fetch loops, CPU',
    of: (row) => row.ratio?.median,
  },
  memory: { title: 'Heap of a conversation after three rounds', unit: 'KB', of: (row) => row.used },
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

/** @param {{ title: string, unit: string, of: (row: any) => number }} picture @param {readonly any[]} rows */
export function barChart({ title, unit, of }, rows) {
  const bars = rows.map((row) => ({
    label: row.title,
    own: row.name.startsWith('capstan'),
    value: row.cannot ? undefined : of(row),
  }))
  const most = Math.max(...bars.map(({ value }) => value ?? 0))
  const height = size.top + bars.length * size.row + 16
  const lines = bars.map(({ label, own, value }, at) => {
    const y = size.top + at * size.row
    const width = value === undefined ? 0 : Math.max(1, (value / most) * size.bar)
    const text = value === undefined ? 'cannot' : shown(value)
    return `<text x="${size.label - 8}" y="${y + 15}" text-anchor="end"${own ? ' class="own"' : ''}>${escaped(label)}</text>
<rect x="${size.label}" y="${y + 3}" width="${width.toFixed(1)}" height="16" rx="2" class="${own ? 'mine' : 'bar'}"/>
<text x="${(size.label + width + 6).toFixed(1)}" y="${y + 15}">${text}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${height}" font-family="system-ui, sans-serif" font-size="13">
<title>${escaped(title)}</title>
<style>text{fill:#24292f}.own{font-weight:bold}.head{font-size:16px;font-weight:bold}.unit{fill:#57606a}.bar{fill:#8c959f}.mine{fill:#0969da}</style>
<rect width="100%" height="100%" rx="8" fill="#fff"/>
<text x="16" y="26" class="head">${escaped(title)}</text>
<text x="16" y="45" class="unit">${escaped(unit)}; less is better</text>
${lines.join('\n')}
</svg>
`
}

/** @param {number} value */
function shown(value) {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

/** @param {string} text */
function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

if (process.argv[1] === import.meta.filename && process.argv[2] !== undefined) {
  const read = JSON.parse(readFileSync(process.argv[2], 'utf8'))
  drawResults(read.results ?? [read])
}
