// The figures of docs/performance.md, from a file of results: the text between `<!-- bench:NAME -->` and `<!--
// bench:end -->` is replaced, so that no figure is copied by hand. `npm run bench -- tables FILE`.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { budgetsFound } from './budgets.mjs'
import { figure } from './report.mjs'
import { limitOf, shown } from './verdict.mjs'

/** @typedef {{ name: string, quick?: boolean, targets?: readonly any[], areas?: readonly any[] }} Result */
/** @typedef {{ date: string, machine: Record<string, unknown>, results: readonly Result[] }} Run */

const page = join(import.meta.dirname, '../docs/performance.md')

/** @param {string | undefined} file a file of results of one area or of several */
export function fillTables(file) {
  if (file === undefined) throw new Error('npm run bench -- tables FILE: which file of bench/results/?')
  const read = JSON.parse(readFileSync(file, 'utf8'))
  const { text, filled, left } = filledPage(
    readFileSync(page, 'utf8'),
    read.results ? read : { ...read, results: [read] },
  )
  writeFileSync(page, text)
  console.log(`docs/performance.md: ${filled.length} tables filled`)
  if (left.length > 0) console.log(`not in this file, left as they were: ${left.join(', ')}`)
}

/** @param {string} text @param {Run} run */
export function filledPage(text, run) {
  /** @type {string[]} */
  const filled = []
  /** @type {string[]} */
  const left = []
  const place = /(<!-- bench:([a-z0-9-]+) -->\n)[\s\S]*?(<!-- bench:end -->)/g
  const written = text.replace(place, (whole, begin, name, end) => {
    const table = tableFor(name, run)
    ;(table === undefined ? left : filled).push(name)
    return table === undefined ? whole : `${begin}\n${table}\n\n${end}`
  })
  return { text: written, filled, left }
}

/** `machine`, `budgets`, `peers-PART`, or the name of an area. @param {string} name @param {Run} run */
function tableFor(name, run) {
  if (name === 'machine') return machineLine(run)
  if (name === 'budgets') return budgetTable(run)
  const peers = run.results.find((one) => one.name === 'peers')
  if (name === 'peers-targets') return peers && targetTable(peers)
  if (name.startsWith('peers-')) {
    const area = peers?.areas?.find(({ part }) => part === name.slice('peers-'.length))
    return area && `${area.explanation}\n\n${areaTable(area)}`
  }
  const result = run.results.find((one) => one.name === name)
  // How steady the machine was is printed once for the whole page.
  const areas = result?.areas?.filter(({ title }) => title !== 'Calibration')
  return areas?.map((area) => `**${area.title}.** ${area.explanation}\n\n${areaTable(area)}`).join('\n\n')
}

/** @param {Run} run */
function machineLine({ date, machine, results }) {
  const calibrations = results.flatMap(({ areas = [] }) =>
    areas
      .filter(({ title }) => title === 'Calibration')
      .flatMap(({ rows }) => rows.map((/** @type {any} */ { ratio }) => ratio)),
  )
  const worst = Math.max(...calibrations)
  const quick = results.some((one) => one.quick)
    ? ' A rough look (`--quick`): only what is far apart means something.'
    : ''
  const { node, cpu, cores, memoryGb, system } = machine
  const memory = memoryGb === undefined ? '' : `, ${memoryGb} GB`
  return `${date.slice(0, 10)}, Node ${String(node).replace('v', '')}, ${cores} cores (${cpu}${memory})${system === undefined ? '' : `, ${system}`}. The calibration loop took ${figure(worst)} times its first time at worst.${quick}`
}

/** @param {Run} run */
function budgetTable({ results }) {
  let last = ''
  return markdown(
    ['budget', 'measured as', 'found', ''],
    budgetsFound(results).map(({ budget, area, name, target }) => {
      const first = budget === last ? '' : budget
      last = budget
      return target === undefined
        ? [first, `${area}: ${name}`, 'not in this run', '']
        : [
            first,
            `${area}: ${target.name}`,
            `${shown(target.found)} ${target.unit}, ${limitOf(target)}`,
            target.met ? 'met' : '**missed**',
          ]
    }),
  )
}

/** @param {Result} result */
function targetTable({ targets = [] }) {
  return markdown(
    ['target', 'found', ''],
    targets.map((target) => [
      target.name,
      `${shown(target.found)} ${target.unit}, ${limitOf(target)}`,
      target.met ? 'met' : '**missed**',
    ]),
  )
}

/** @param {any} area */
function areaTable(area) {
  if (area.kind === 'turns') return turnsTable(area)
  if (area.kind === 'growth') return growthTable(area)
  if (area.kind === 'start') return startTable(area)
  if (area.kind === 'memory')
    return withReasons(
      ['', 'before its first question, KB', 'after three rounds, KB', 'process, MB'],
      area.rows,
      (row) => [figure(row.idle), figure(row.used), figure(row.rss)],
    )
  return plainTable(area.rows)
}

/** @param {any} area */
function turnsTable({ rows, facts = [] }) {
  return withReasons(
    ['', 'CPU, times the first', 'p10 to p90', 'ms CPU', 'by the clock, times', 'ms', ...facts],
    rows,
    (row) => [
      figure(row.ratio.median),
      spreadOf(row.ratio),
      figure(row.cpu.median),
      figure(row.wallRatio.median),
      figure(row.wall.median),
      ...facts.map((/** @type {string} */ fact) => figure(row.facts[fact] ?? Number.NaN)),
    ],
  )
}

/** @param {any} area */
function growthTable({ rows, sizes }) {
  return withReasons(
    [
      '',
      ...sizes.map((/** @type {number} */ size) => size.toLocaleString('en-US')),
      'exponent',
      'over the first',
    ],
    rows,
    (row) => [
      ...sizes.map((/** @type {number} */ size) =>
        figure(
          row.points.find((/** @type {{ size: number }} */ point) => point.size === size)?.value ??
            Number.NaN,
        ),
      ),
      decimal(row.exponent),
      decimal(row.overFloor),
    ],
  )
}

/** @param {any} area */
function startTable({ rows }) {
  return withReasons(
    ['', 'CPU, times the first', 'p10 to p90', 'ms CPU over it', 'ms over it by the clock', 'MB over it'],
    rows,
    (row) => [
      figure(row.ratio.median),
      spreadOf(row.ratio),
      figure(row.cpu.median),
      figure(row.wall.median),
      figure(row.rss.median),
    ],
  )
}

/** @param {readonly string[]} header @param {readonly any[]} rows @param {(row: any) => string[]} cells */
function withReasons(header, rows, cells) {
  const able = rows.filter(({ cannot }) => cannot === undefined)
  const unable = rows.filter(({ cannot }) => cannot !== undefined)
  const table = markdown(
    header,
    able.map((row) => [row.name.startsWith('capstan') ? `**${row.title}**` : row.title, ...cells(row)]),
  )
  const reasons = unable.map(({ title, cannot }) => `${title} (${cannot})`)
  return reasons.length === 0 ? table : `${table}\n\nCannot: ${reasons.join('; ')}.`
}

/** The column names of areas. @type {Record<string, string>} */
const columns = {
  name: '',
  ratio: 'ratio',
  micros: 'µs',
  millis: 'ms',
  cpu: 'CPU, ms',
  wall: 'by the clock, ms',
  cpuRatio: 'CPU ratio',
  wallRatio: 'ratio by the clock',
  rss: 'MB',
  kilobytes: 'KB',
  rounds: 'turns',
  grown: 'MB more',
  checkpoint: 'checkpoint, µs',
  round: 'round, µs',
  size: 'messages',
}

/** The measurements of an area: a column for each figure, with its spread. @param {readonly Record<string, any>[]} rows */
function plainTable(rows) {
  const keys = [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((key) =>
    rows.some((row) => isFigure(row[key]) || typeof row[key] === 'string'),
  )
  return markdown(
    keys.map((key) => columns[key] ?? key),
    rows.map((row) => keys.map((key) => cell(row[key]))),
  )
}

/** @param {unknown} value */
function isFigure(value) {
  return typeof value === 'number' || (typeof value === 'object' && value !== null && 'median' in value)
}

/** @param {any} value */
function cell(value) {
  if (value === undefined || value === null) return ''
  if (typeof value === 'object') return `${figure(value.median)} (${spreadOf(value)})`
  return typeof value === 'number' && !Number.isInteger(value) ? figure(value) : value.toLocaleString('en-US')
}

/** @param {{ p10: number, p90: number }} spread */
function spreadOf({ p10, p90 }) {
  return `${figure(p10)} to ${figure(p90)}`
}

/** @param {number | null} value what was not a number is null in the file */
function decimal(value) {
  return value === null || !Number.isFinite(value) ? '–' : value.toFixed(2)
}

/** @param {readonly string[]} header @param {readonly (readonly string[])[]} rows */
function markdown(header, rows) {
  const line = (/** @type {readonly string[]} */ cells) =>
    `| ${cells.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(header), `|${header.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n')
}

if (process.argv[1] === import.meta.filename) fillTables(process.argv[2])
