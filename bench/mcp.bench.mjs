// `npm run bench -- mcp`: a call of a server's tool through a session, over the same call by the bare client library. Ends with 1 when a
// budget is missed.
import { bareHttp, bareStdio, httpServer, throughSession } from './mcp/places.mjs'
import { calibrate, interleave } from './measure.mjs'
import { calibrationArea, timingArea, writeResults } from './report.mjs'

const quick = process.argv.includes('--quick')
const seconds = quick ? 3 : 15
const times = 50

/** @param {string} name @param {import('./mcp/places.mjs').Place} place */
const row = (name, place) => ({
  name,
  times,
  run: async (/** @type {number} */ count) => {
    for (let at = 0; at < count; at++) await place.echo()
  },
})

const calibrations = [calibrate()]
const server = await httpServer()
const places = {
  bareStdio: await bareStdio(),
  stdio: await throughSession(),
  sandboxed: await throughSession({ sandbox: 'auto' }),
  bareHttp: await bareHttp(server.url),
  http: await throughSession({ url: server.url }),
}
try {
  const stdio = await interleave(
    [
      row('the client library alone', places.bareStdio),
      row('through a session: gate, bounds, record', places.stdio),
      row('through a session, server in the sandbox', places.sandboxed),
    ],
    { seconds },
  )
  calibrations.push(calibrate())
  const http = await interleave(
    [
      row('the client library alone', places.bareHttp),
      row('through a session: gate, guard, bounds, record', places.http),
    ],
    { seconds },
  )
  calibrations.push(calibrate())
  const explanation = 'Round trips of the tool `echo` of the official everything-server, one after the other.'
  const areas = [
    timingArea('MCP over stdio', explanation, stdio, 'round trip'),
    timingArea('MCP over streamable HTTP', explanation, http, 'round trip'),
    calibrationArea(calibrations),
  ]
  const found = stdio[1]?.ratio.median ?? Number.NaN
  const targets = [{ name: 'round trip over stdio', unit: 'times the bare library', most: 1.5, found }].map(
    (target) => ({
      ...target,
      met: target.found <= target.most,
    }),
  )
  for (const { name, unit, most, found: value, met } of targets)
    console.log(`${met ? 'met   ' : 'MISSED'} ${name}: ${value.toFixed(2)} ${unit}, target at most ${most}`)
  console.log(`written to ${writeResults('mcp', { quick, targets, areas })}`)
  process.exitCode = targets.every(({ met }) => met) ? 0 : 1
} finally {
  for (const place of Object.values(places)) await place.close()
  await server.close()
}
