// Fresh processes, in turn: Node that does nothing, and the command that does little.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { spread } from '../measure.mjs'

const main = join(import.meta.dirname, '../../dist/cli/main.js')
const bare = ['-e', '0']

/** @typedef {{ wall: number, cpu: number }} Start */

/** @param {number} turns */
export async function measureStarts(turns) {
  const place = mkdtempSync(join(tmpdir(), 'capstan-bench-command-'))
  const model = await startModel()
  try {
    const start = starter(place, model)
    const kinds = [
      { name: 'node -e 0', args: bare },
      { name: 'capstan --version', args: [main, '--version'] },
      { name: 'capstan --help', args: [main, '--help'] },
      { name: 'capstan run "x"', args: [main, 'run', 'x'], toRequest: true },
      {
        name: 'capstan run "x", without kept code',
        args: [main, 'run', 'x'],
        toRequest: true,
        env: { NODE_DISABLE_COMPILE_CACHE: '1' },
      },
    ]
    /** @type {Start[][]} */
    const starts = kinds.map(() => [])
    // The first start of a kind has no compile cache.
    for (let turn = -1; turn < turns; turn++) {
      for (let step = 0; step < kinds.length; step++) {
        const at = (step + turn + 1) % kinds.length
        const kind = kinds[at]
        if (kind === undefined) continue
        const one = await start(kind)
        if (turn >= 0) starts[at]?.push(one)
      }
    }
    const base = starts[0] ?? []
    return kinds.map(({ name }, at) => {
      const own = starts[at] ?? []
      const ratio = spread(own.map(({ wall }, turn) => wall / (base[turn]?.wall ?? Number.NaN)))
      const cpu = mean(own)
      return { name, ratio, wall: spread(own.map(({ wall }) => wall)), cpu, cpuRatio: cpu / mean(base) }
    })
  } finally {
    model.server.close()
    rmSync(place, { recursive: true, force: true })
  }
}

/** @typedef {{ args: readonly string[], toRequest?: boolean, env?: Record<string, string> }} Kind */

/** @param {string} place @param {Awaited<ReturnType<typeof startModel>>} model */
function starter(place, model) {
  const [home, work] = [join(place, 'home'), join(place, 'work')]
  for (const directory of [home, work]) mkdirSync(directory)
  writeFileSync(
    join(home, 'config.acl'),
    `default_model = "bench/m"\nproviders "bench" {\n  base_url = "${model.url}"\n  models "m" { }\n}\n`,
  )
  /** @param {Kind} kind @returns {Promise<Start>} */
  return async ({ args, toRequest = false, env = {} }) => {
    const used = childTime()
    const begin = performance.now()
    const child = spawn(process.execPath, args, {
      cwd: work,
      env: { PATH: process.env['PATH'] ?? '', HOME: place, CAPSTAN_HOME: home, ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    /** @type {Start | undefined} */
    let asked
    model.onRequest = () => {
      asked = { wall: performance.now() - begin, cpu: threadsTime(child.pid) }
    }
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text) => {
      said += text
    })
    const ended = once(child, 'exit').then(([code]) => ({ code, wall: performance.now() - begin }))
    const { code, wall } = await ended
    if (code !== 0 || (toRequest && asked === undefined))
      throw new Error(`${args.join(' ')}: ${code}\n${said}`)
    return toRequest && asked !== undefined ? asked : { wall, cpu: childTime() - used }
  }
}

/** Runs in this process, which does nothing else meanwhile, so that a request is noticed immediately. */
export async function startModel() {
  /** @type {{ onRequest: () => void }} */
  const heard = { onRequest: () => undefined }
  const server = createServer((request, response) => {
    heard.onRequest()
    request.resume().once('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const events = [{ delta: { role: 'assistant', content: 'Yes.' } }, { delta: {}, finish_reason: 'stop' }]
      for (const event of events)
        response.write(`data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, ...event }] })}\n\n`)
      response.end('data: [DONE]\n\n')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  return Object.assign(heard, { server, url: `http://127.0.0.1:${port}/v1` })
}

/** CPU milliseconds of all threads of a process that still runs. Linux only. @param {number | undefined} pid */
function threadsTime(pid) {
  if (process.platform !== 'linux') return Number.NaN
  const tasks = `/proc/${pid}/task`
  const nanos = readdirSync(tasks).map((task) =>
    Number(readFileSync(`${tasks}/${task}/schedstat`, 'utf8').split(' ')[0]),
  )
  return nanos.reduce((sum, each) => sum + each, 0) / 1e6
}

/** Milliseconds of all children that have ended, in steps of ten: only the mean of many means something. */
function childTime() {
  if (process.platform !== 'linux') return Number.NaN
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[13]) + Number(fields[14])) * 10
}

/** @param {readonly Start[]} starts */
function mean(starts) {
  return starts.reduce((sum, { cpu }) => sum + cpu, 0) / starts.length
}
