// The output of a benchmark: aligned tables for people, and one JSON file per run for comparisons.
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { basename, join } from 'node:path'

/** @typedef {import('./measure.mjs').Spread} Spread */
/** @typedef {import('./measure.mjs').Timing} Timing */
/** @typedef {{ title: string, explanation: string, rows: readonly Record<string, unknown>[] }} Area */

/**
 * An area whose rows are timings, printed with the ratio first.
 * @param {string} title
 * @param {string} explanation
 * @param {readonly Timing[]} timings
 * @param {string} [unit] what one piece of work is
 * @returns {Area}
 */
export function timingArea(title, explanation, timings, unit = 'call') {
  printTable(
    title,
    explanation,
    ['', 'ratio', 'p10–p90', `µs a ${unit}`, 'p10–p90', 'rounds'],
    timings.map(({ name, ratio, micros, rounds }) => [
      name,
      figure(ratio.median),
      range(ratio),
      figure(micros.median),
      range(micros),
      String(rounds),
    ]),
  )
  return { title, explanation, rows: timings }
}

/**
 * How steady the machine was: the same loop before, between and after everything else.
 * @param {readonly Spread[]} calibrations in the order of time
 * @returns {Area}
 */
export function calibrationArea(calibrations) {
  const title = 'Calibration'
  const explanation =
    'One fixed loop, timed throughout; where it is far from 1, the machine was busy: run again.'
  const first = calibrations[0]?.median ?? Number.NaN
  const slowest = calibrations.toSorted((a, b) => b.median - a.median)
  const rows = Object.entries({
    begin: calibrations[0],
    end: calibrations.at(-1),
    slowest: slowest[0],
  }).flatMap(([name, millis]) => (millis ? [{ name, ratio: millis.median / first, millis }] : []))
  printTable(
    title,
    explanation,
    ['', 'ratio', 'ms', 'p10–p90'],
    rows.map(({ name, ratio, millis }) => [name, figure(ratio), figure(millis.median), range(millis)]),
  )
  return { title, explanation, rows }
}

/**
 * The first column to the left, figures to the right.
 * @param {string} title
 * @param {string} explanation
 * @param {readonly string[]} header
 * @param {readonly (readonly string[])[]} rows
 */
export function printTable(title, explanation, header, rows) {
  const widths = header.map((_, at) => Math.max(...[header, ...rows].map((row) => (row[at] ?? '').length)))
  const line = (/** @type {readonly string[]} */ row) =>
    `  ${row.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0))).join('  ')}`
  console.log(`\n${title}\n  ${explanation}\n${[header, ...rows].map(line).join('\n')}`)
}

/**
 * Why rows have no figures, below their table.
 * @param {readonly { title: string, cannot?: string }[]} rows
 */
export function printReasons(rows) {
  for (const { title, cannot } of rows) if (cannot !== undefined) console.log(`  cannot: ${title}: ${cannot}`)
}

/** Three significant digits. @param {number | null} value what was not a number is null in a file */
export function figure(value) {
  if (value === null || !Number.isFinite(value)) return '–'
  const digits = Math.max(0, Math.min(5, 2 - Math.floor(Math.log10(Math.abs(value) || 1))))
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

/** @param {Spread} spread */
export function range({ p10, p90 }) {
  return `${figure(p10)}–${figure(p90)}`
}

/**
 * Writes `bench/results/<name>-<date>.json` and gives its path.
 * @param {string} name
 * @param {Record<string, unknown>} results
 */
export function writeResults(name, results) {
  const folder = join(import.meta.dirname, 'results')
  const date = new Date().toISOString()
  const path = join(folder, `${name}-${date.slice(0, 19).replaceAll(':', '-')}.json`)
  const machine = { node: process.version, cpu: cpus()[0]?.model ?? '', cores: cpus().length }
  mkdirSync(folder, { recursive: true })
  const text = `${JSON.stringify({ name, date, machine, ...results }, undefined, 2)}\n`
  writeFileSync(path, text)
  // A run of several areas collects their results here.
  const gathered = process.env['BENCH_INTO']
  if (gathered !== undefined) writeFileSync(join(gathered, basename(path)), text)
  return path
}
