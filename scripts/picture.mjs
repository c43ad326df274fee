// Draws the tour as an SVG for the README: `node scripts/picture.mjs`. What it shows is what the tour printed.
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'

const tour = spawnSync(process.execPath, ['examples/tour.mjs'], {
  encoding: 'utf8',
  env: { ...process.env, NO_COLOR: '1' },
})
if (tour.status !== 0) throw new Error(tour.stderr)

const size = { width: 1180, line: 20, pad: 24, most: 118 }
const lines = tour.stdout.trimEnd().split('\n').flatMap(fold)
const height = lines.length * size.line + size.pad * 2
const rows = lines.map((line, at) => {
  const y = size.pad + size.line * (at + 0.75)
  return `<text x="${size.pad}" y="${y}" class="${styleOf(line)}" xml:space="preserve">${escaped(line)}</text>`
})
mkdirSync('docs/images', { recursive: true })
writeFileSync(
  'docs/images/tour.svg',
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${height}" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14">
<title>npm start: a session searches, edits after approval, runs a command and is refused</title>
<style>text{fill:#c9d1d9}.head{font-weight:bold;fill:#fff}.ok{fill:#7ee787}.no{fill:#ffa198}</style>
<rect width="100%" height="100%" rx="10" fill="#0d1117"/>
${rows.join('\n')}
</svg>
`,
)

/** @param {string} line @returns {string[]} */
function fold(line) {
  return line.length <= size.most
    ? [line]
    : [line.slice(0, size.most), ...fold(`      ${line.slice(size.most)}`)]
}

/** @param {string} line */
function styleOf(line) {
  if (/^(\d\.|Capstan)/.test(line)) return 'head'
  if (/^ {2}✓/.test(line)) return 'ok'
  return /^ {2}✗|^ {4}/.test(line) ? 'no' : 'plain'
}

/** @param {string} text */
function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
