// `npm run bench -- mcp`: a call of a server's tool through a session, over the same call by the bare client library.
// Exits with 1 when a budget is missed.
import { bareHttp, bareStdio, httpServer, throughSession } from './mcp/places.mjs'
import { calibrate, spread } from './measure.mjs'
import { calibrationArea, figure, printTable, range, writeResults } from './report.mjs'

const quick = process.argv.includes('--quick')
const rounds = quick ? 5 : 40
const times = 100
const title = (/** @type {string} */ way) => `MCP over ${way}`
const explanation =
  'Round trips of the tool `echo` of the official everything-server. Processor time is that of this process, and steadier than the clock.'

/** @typedef {{ name: string, place: import('./mcp/places.mjs').Place }} Row */

/** Each has its turn in every round; ratios are taken within a round, to the first. @param {readonly Row[]} rows */
async function compare(rows) {
  /** @type {{ cpu: number[], wall: number[] }[]} */
  const samples = rows.map(() => ({ cpu: [], wall: [] }))
  for (const { place } of rows) await repeat(place, 300)
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < rows.length; turn++) {
      const at = (turn + round) % rows.length
      const [row, own] = [rows[at], samples[at]]
      if (row === undefined || own === undefined) continue
      const [cpu, start] = [process.cpuUsage(), performance.now()]
      await repeat(row.place, times)
      const { user, system } = process.cpuUsage(cpu)
      own.cpu.push((user + system) / times)
      own.wall.push(((performance.now() - start) * 1_000) / times)
    }
  }
  const base = samples[0]
  return rows.map(({ name }, at) => {
    const { cpu, wall } = samples[at] ?? { cpu: [], wall: [] }
    const ratios = (/** @type {'cpu' | 'wall'} */ what) =>
      spread((samples[at]?.[what] ?? []).map((value, round) => value / (base?.[what][round] ?? Number.NaN)))
    return { name, cpu: spread(cpu), wall: spread(wall), cpuRatio: ratios('cpu'), wallRatio: ratios('wall') }
  })
}

/** @param {import('./mcp/places.mjs').Place} place @param {number} count */
async function repeat(place, count) {
  for (let at = 0; at < count; at++) await place.echo()
}

/** @param {string} way @param {Awaited<ReturnType<typeof compare>>} rows */
function area(way, rows) {
  printTable(
    title(way),
    explanation,
    ['', 'processor ratio', 'p10–p90', 'µs', 'clock ratio', 'p10–p90', 'µs'],
    rows.map(({ name, cpu, wall, cpuRatio, wallRatio }) => [
      name,
      figure(cpuRatio.median),
      range(cpuRatio),
      figure(cpu.median),
      figure(wallRatio.median),
      range(wallRatio),
      figure(wall.median),
    ]),
  )
  return { title: title(way), explanation, rows }
}

const calibrations = [calibrate()]
const server = await httpServer()
const alone = 'the client library alone'
const places = {
  bareStdio: await bareStdio(),
  stdio: await throughSession(),
  sandboxed: await throughSession({ sandbox: 'auto' }),
  bareHttp: await bareHttp(server.url),
  http: await throughSession({ url: server.url }),
}
try {
  const stdio = await compare([
    { name: alone, place: places.bareStdio },
    { name: 'through a session: gate, bounds, record', place: places.stdio },
    { name: 'through a session, server in the sandbox', place: places.sandboxed },
  ])
  calibrations.push(calibrate())
  const http = await compare([
    { name: alone, place: places.bareHttp },
    { name: 'through a session: gate, guard, bounds, record', place: places.http },
  ])
  calibrations.push(calibrate())
  const areas = [area('stdio', stdio), area('streamable HTTP', http), calibrationArea(calibrations)]
  const targets = [
    { name: 'round trip over stdio', most: 2, found: stdio[1]?.cpuRatio.median ?? Number.NaN },
    { name: 'round trip over HTTP', most: 1.5, found: http[1]?.cpuRatio.median ?? Number.NaN },
  ].map((target) => ({
    ...target,
    unit: 'times the processor time of the bare library',
    met: target.found <= target.most,
  }))
  for (const { name, unit, most, found, met } of targets)
    console.log(`${met ? 'met   ' : 'MISSED'} ${name}: ${found.toFixed(2)} ${unit}, target at most ${most}`)
  console.log(`written to ${writeResults('mcp', { quick, targets, areas })}`)
  process.exitCode = targets.every(({ met }) => met) ? 0 : 1
} finally {
  for (const place of Object.values(places)) await place.close()
  await server.close()
}
