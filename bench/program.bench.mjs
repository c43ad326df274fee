// `npm run bench -- program`: what running a program costs. Exits with 1 when a budget is missed.
import { createProgramMachine } from 'capstan/program'
import { calibrate, spread } from './measure.mjs'
import { measureAgainstRounds } from './program/against-rounds.mjs'
import { calibrationArea, figure, printTable, range, writeResults } from './report.mjs'

const quick = process.argv.includes('--quick')
const host = {
  call: async (/** @type {{ args: unknown }} */ { args }) => ({
    type: /** @type {const} */ ('output'),
    data: args,
    metadata: { duration_ms: 0 },
  }),
}
const empty = 'export default () => 1'
const typedEmpty = 'export default (_: unknown): number => 1 as number'
const oneByOne = `export default async (ctx, { calls }) => {
  for (let at = 0; at < calls; at++) await ctx.tool('echo', { at })
}`
const atOnce = `export default async (ctx, { calls }) => {
  await Promise.all(Array.from({ length: calls }, (_, at) => ctx.tool('echo', { at })))
}`

/** @typedef {import('./measure.mjs').Spread} Spread */
/** @typedef {ReturnType<typeof createProgramMachine>} Machine */

/** Milliseconds of one program. @param {Machine} machine @param {string} source @param {number} [calls] */
async function time(
  machine,
  source,
  calls = 0,
  /** @type {'javascript' | 'typescript'} */ language = 'javascript',
) {
  const start = performance.now()
  const limits = { maxToolCalls: Math.max(1, calls) }
  const outcome = await machine.run({ source, language, inputs: { calls }, host, limits, startedAt: 0 })
  const spent = performance.now() - start
  if (!outcome.ok || outcome.calls.length !== calls) throw new Error(JSON.stringify(outcome).slice(0, 500))
  return spent
}

/** @param {number} times @param {() => Promise<number>} sample */
async function samples(times, sample) {
  const found = []
  for (let at = 0; at < times; at++) found.push(await sample())
  return spread(found)
}

const calibrations = [calibrate()]
const cold = await samples(quick ? 3 : 15, async () => {
  const machine = createProgramMachine()
  try {
    return await time(machine, empty)
  } finally {
    await machine.close()
  }
})
const machine = createProgramMachine()
try {
  for (let at = 0; at < 20; at++) await time(machine, oneByOne, 100)
  calibrations.push(calibrate())
  const rounds = quick ? 5 : 40
  const warm = await samples(rounds * 5, () => time(machine, empty))
  const inner = await samples(rounds, async () => (await time(machine, oneByOne, 1_000)) / 1_000)
  const together = await samples(rounds, async () => (await time(machine, atOnce, 1_000)) / 1_000)
  const busy = await samples(quick ? 2 : 5, async () => {
    const running = Promise.all(Array.from({ length: 50 }, () => time(machine, oneByOne, 20)))
    const start = performance.now()
    await running
    return performance.now() - start
  })
  calibrations.push(calibrate())

  /** @type {[string, Spread][]} */
  const rows = [
    ['first program of a process’s machine (engine, thread, sandbox)', cold],
    ['warm: a program in a fresh sandbox', warm],
    ['one call of a program, one after the other (1,000)', inner],
    ['one call of a program, all at once (1,000)', together],
    ['50 programs at once, 20 calls each', busy],
  ]
  const typed = await samples(rounds, () => time(machine, typedEmpty, 0, 'typescript'))
  rows.push(['warm: the same in TypeScript', typed])
  const title = 'Programs'
  const explanation = 'From the main thread and back; the tool answers at once.'
  printTable(
    title,
    explanation,
    ['', 'ms', 'p10–p90'],
    rows.map(([name, millis]) => [name, figure(millis.median), range(millis)]),
  )
  const area = { title, explanation, rows: rows.map(([name, millis]) => ({ name, millis })) }
  const both = await measureAgainstRounds(quick ? 3 : 20)
  const [byRounds, byProgram] = both
  const against = {
    title: 'Against rounds of the model',
    explanation:
      'The same calls of read through a session with rules and a hook; the model answers at once, over HTTP.',
    rows: both,
  }
  printTable(
    against.title,
    against.explanation,
    ['', 'ms', 'p10–p90', 'processor ms', 'p10–p90', 'bytes of the last request'],
    both.map(({ name, millis, cpu, bytes }) => [
      name,
      figure(millis.median),
      range(millis),
      figure(cpu.median),
      range(cpu),
      bytes.toLocaleString('en-US'),
    ]),
  )
  const ratio = (byProgram?.cpu.median ?? Number.NaN) / (byRounds?.cpu.median ?? Number.NaN)
  console.log(`one program takes ${figure(ratio)} times the processor time of the rounds`)
  calibrations.push(calibrate())
  const targets = [
    { name: 'warm program in a fresh sandbox', unit: 'ms', most: 5, found: warm.median },
    { name: 'call of a program', unit: 'ms', most: 0.2, found: inner.median },
  ].map((target) => ({ ...target, met: target.found <= target.most }))
  for (const { name, unit, most, found, met } of targets)
    console.log(`${met ? 'met   ' : 'MISSED'} ${name}: ${found.toFixed(3)} ${unit}, target at most ${most}`)
  const areas = [area, against, calibrationArea(calibrations)]
  console.log(`written to ${writeResults('program', { quick, targets, areas })}`)
  process.exitCode = targets.every(({ met }) => met) ? 0 : 1
} finally {
  await machine.close()
}
