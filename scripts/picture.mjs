// Draws the tour as an SVG for the README: `node scripts/picture.mjs`. It shows the output of the tour.
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'

const tour = spawnSync(process.execPath, ['dist/cli/main.js', 'tour'], {
  encoding: 'utf8',
  input: '',
  env: { ...process.env, NO_COLOR: '1' },
})
if (tour.status !== 0) throw new Error(tour.stderr)

const size = { width: 1180, line: 20, pad: 24, most: 118 }
// The path of the sample project is private, and a picture does not need empty lines.
const output = tour.stdout
  .replace(/\S*\/capstan-tour-\w+\/ship\//g, (path) => (path.startsWith('"') ? '"' : ''))
  .trimEnd()
// The main part: an edit, the check after it, a refusal. The whole output would be taller than a screen.
const all = output.split('\n')
const part = all.slice(
  all.findIndex((line) => line.startsWith('3.')),
  all.findIndex((line) => line.startsWith('6.')),
)
const lines = part.filter((line, at) => line !== '' || part[at + 1] !== '').flatMap(fold)
const height = lines.length * size.line + size.pad * 2
const rows = lines.map((line, at) => {
  const y = size.pad + size.line * (at + 0.75)
  return `<text x="${size.pad}" y="${y}" class="${styleOf(line)}" xml:space="preserve">${escaped(line)}</text>`
})
mkdirSync('docs/images', { recursive: true })
writeFileSync(
  'docs/images/tour.svg',
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${height}" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14">
<title>npm start: a session edits after approval, runs a command, and is refused</title>
<style>text{fill:#c9d1d9}.head{font-weight:bold;fill:#fff}.ok{fill:#7ee787}.no{fill:#ffa198}.asked{fill:#79c0ff}.said{fill:#8b949e}</style>
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
  if (/^> /.test(line)) return 'asked'
  if (/^(✓|\? )|^ {2}\+/.test(line)) return 'ok'
  if (/^✗|^ {2}-/.test(line)) return 'no'
  return /^ {4}/.test(line) ? 'said' : 'plain'
}

/** @param {string} text */
function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
