// `npm run bench -- inspector`: a session with 10,000 events, outputs of 1 MB and a line of 10 MB in the inspector. How
// long it takes in Chromium until the timeline is painted, and the longest task of the page while it is scrolled and
// replayed, next to the same for a short session. About half a minute. Exits with 1 when a budget is missed, and with 0
// where there is no Chromium.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { calibrate } from './measure.mjs'
import { calibrationArea, figure, printTable, writeResults } from './report.mjs'

const quick = process.argv.includes('--quick')
const executablePath = [
  '/usr/bin/chromium',
  '/usr/bin/google-chrome',
  '/usr/bin/chromium-headless-shell',
].find((path) => existsSync(path))
if (executablePath === undefined) {
  console.log('Chromium is not installed: nothing is measured.')
  process.exit(0)
}
const headers = { authorization: 'Bearer a-token-for-the-benchmark' }
const root = mkdtempSync(join(tmpdir(), 'capstan-bench-inspector-'))
const calibrations = [calibrate()]
const filling = host('fill')
const [{ long, short }] = await once(filling, 'message')
await once(filling, 'exit')
const serving = host('serve')
const [{ url }] = await once(serving, 'message')
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })
// The first page of a browser compiles and loads what later ones share.
await visit(short)
// The server has not opened this session yet: it reads the whole log.
const rows = [{ name: 'long session, first time', ...(await visit(long)) }]
for (let times = 0; times < (quick ? 1 : 3); times++) {
  rows.push({ name: 'short session', ...(await visit(short)) })
  rows.push({ name: 'long session', ...(await visit(long)) })
}
calibrations.push(calibrate())
await browser.close()
serving.disconnect()

const title = 'The timeline of a session'
const explanation =
  'Milliseconds from the navigation to painted rows, and the longest task of the page (time, and processor time of it) while it is loaded, scrolled and replayed.'
const columns = Object.keys(rows[0] ?? {}).slice(1)
printTable(
  title,
  explanation,
  ['', ...columns],
  rows.map((row) => Object.values(row).map((cell) => (typeof cell === 'number' ? figure(cell) : cell))),
)
const longRows = rows.filter(({ name }) => name === 'long session')
const firstTime = rows[0]?.painted ?? Number.NaN
const best = (/** @type {'painted' | 'scroll CPU' | 'replay CPU'} */ column) =>
  Math.min(...longRows.map((row) => row[column]))
const targets = [
  { name: 'timeline of 10,000 events painted', unit: 'ms', most: 1_000, found: best('painted') },
  { name: 'the same when the server opens it for the first time', unit: 'ms', most: 1_000, found: firstTime },
  { name: 'longest task of scrolling', unit: 'ms CPU', most: 100, found: best('scroll CPU') },
  { name: 'longest task of a replay', unit: 'ms CPU', most: 100, found: best('replay CPU') },
].map((target) => ({ ...target, met: target.found <= target.most }))
for (const { name, unit, most, found, met } of targets)
  console.log(`${met ? 'met   ' : 'MISSED'} ${name}: ${figure(found)} ${unit}, target at most ${most}`)
const areas = [{ title, explanation, rows }, calibrationArea(calibrations)]
console.log(`written to ${writeResults('inspector', { quick, targets, areas })}`)
if (targets.some(({ met }) => !met)) process.exitCode = 1

/** @param {'fill' | 'serve'} work */
function host(work) {
  return fork(join(import.meta.dirname, 'inspector/host.mjs'), [work, root])
}

/**
 * Opens a session in a separate page, scrolls through it and replays it.
 * @param {string} sessionId
 */
async function visit(sessionId) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  const page = await context.newPage()
  const response = await fetch(`${url}/v1/inspector/codes`, { method: 'POST', headers })
  const { path } = await response.json()
  await page.goto(`${url}${path}`)
  await page.getByRole('heading', { name: 'Sessions' }).waitFor()
  await page.goto('about:blank')
  await page.addInitScript(() => {
    const watch = () => {
      if (document.querySelectorAll('.virtual li').length < 3) requestAnimationFrame(watch)
      else requestAnimationFrame(() => performance.mark('painted'))
    }
    requestAnimationFrame(watch)
  })
  const tracing = await context.newCDPSession(page)
  const load = await traced(tracing, async () => {
    await page.goto(`${url}/inspect/#/sessions/${sessionId}/timeline`)
    await page.waitForFunction(() => performance.getEntriesByName('painted').length > 0)
    await page.waitForFunction(() => document.querySelector('.scrubber') !== null)
    await quiet(page)
  })
  const painted = await page.evaluate(() => performance.getEntriesByName('painted')[0]?.startTime ?? 0)
  const scroll = await traced(tracing, () =>
    page.evaluate(async () => {
      const list = document.querySelector('.virtual')
      if (list === null) return
      const frame = () => new Promise((resolve) => requestAnimationFrame(resolve))
      // By screens, as keys and the wheel do, then by parts of the whole, as the scroll bar does.
      for (let times = 0; times < 100; times++) {
        list.scrollBy(0, 500)
        await frame()
      }
      for (let part = 1; part <= 40; part++) {
        list.scrollTo(0, (list.scrollHeight * part) / 40)
        await frame()
      }
    }),
  )
  const replay = await traced(tracing, () =>
    page.evaluate(async () => {
      const slider = document.querySelector('.scrubber input')
      if (!(slider instanceof HTMLInputElement)) return
      const frame = () => new Promise((resolve) => requestAnimationFrame(resolve))
      for (let part = 40; part >= 1; part--) {
        slider.value = String(Math.ceil((Number(slider.max) * part) / 40))
        slider.dispatchEvent(new Event('input', { bubbles: true }))
        await frame()
      }
    }),
  )
  const events = await page.locator('.scrubber output').textContent()
  await context.close()
  return {
    painted,
    'load task': load.maxMs,
    'load CPU': load.maxCpuMs,
    'scroll task': scroll.maxMs,
    'scroll CPU': scroll.maxCpuMs,
    'replay task': replay.maxMs,
    'replay CPU': replay.maxCpuMs,
    events: Number(/of ([\d,]+) events/.exec(events ?? '')?.[1]?.replaceAll(',', '') ?? 0),
  }
}

/** Waits until the number of events has not changed for a second. @param {import('playwright-core').Page} page */
async function quiet(page) {
  let before = ''
  for (;;) {
    const now = (await page.locator('.scrubber output').textContent()) ?? ''
    if (now === before) return
    before = now
    await new Promise((resolve) => setTimeout(resolve, 1_000))
  }
}

/**
 * The longest task of the page's main thread while `work` is done.
 * @param {import('playwright-core').CDPSession} tracing
 * @param {() => Promise<void>} work
 */
async function traced(tracing, work) {
  /** @type {{ name: string, dur?: number, tdur?: number, pid: number, tid: number, args?: { name?: string } }[]} */
  const events = []
  tracing.on('Tracing.dataCollected', ({ value }) => events.push(.../** @type {any[]} */ (value)))
  const traceConfig = { includedCategories: ['toplevel', 'devtools.timeline', '__metadata'] }
  await tracing.send('Tracing.start', { traceConfig, transferMode: 'ReportEvents' })
  await work()
  const over = new Promise((resolve) => tracing.once('Tracing.tracingComplete', resolve))
  await tracing.send('Tracing.end')
  await over
  const renderers = new Set(
    events
      .filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  )
  const tasks = events.filter(
    ({ name, pid, tid }) => name.endsWith('RunTask') && renderers.has(`${pid} ${tid}`),
  )
  const longest = (/** @type {'dur' | 'tdur'} */ field) =>
    tasks.reduce((most, task) => Math.max(most, task[field] ?? 0), 0) / 1_000
  return { maxMs: longest('dur'), maxCpuMs: longest('tdur') }
}
