// All contenders, each in its process, asked in turn.
import { fork } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

const patienceMs = 120_000

/** @typedef {import('./worker.mjs').Cost} Cost */
/** @typedef {{ idle: number, used: number, rss: number }} Held */
/**
 * @typedef {{
 *   name: string
 *   title: string
 *   cannot: Record<string, string>
 *   runs: (work: Partial<import('./worker.mjs').Work> & { plan: string }) => Promise<Cost>
 *   hold: (count: number, rounds: number) => Promise<Held>
 *   end: () => Promise<void>
 * }} Contender
 */

/**
 * @param {readonly string[]} names
 * @param {{ url: string, root: string, place: string }} where
 * @returns {Promise<Contender[]>} those that started; the others are told
 */
export async function startField(names, where) {
  const field = []
  for (const name of names) {
    try {
      field.push(await startContender(name, where))
    } catch (error) {
      console.error(`${name} does not start: ${error instanceof Error ? error.message : error}`)
    }
  }
  return field
}

/** @param {string} name @param {{ url: string, root: string, place: string }} where @returns {Promise<Contender>} */
async function startContender(name, { url, root, place }) {
  const own = join(place, name)
  mkdirSync(own, { recursive: true })
  const child = fork(join(import.meta.dirname, 'worker.mjs'), [name, url, root, own], {
    execArgv: ['--expose-gc'],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    env: { ...process.env, NODE_NO_WARNINGS: '1', OTEL_SDK_DISABLED: 'true', MASTRA_TELEMETRY_DISABLED: '1' },
  })
  let complaints = ''
  child.stderr?.on('data', (part) => {
    complaints = (complaints + part).slice(-2000)
  })
  /** @type {Map<number, { resolve: (value: any) => void, reject: (error: Error) => void }>} */
  const waiting = new Map()
  let next = 0
  /** @type {{ title: string, cannot: Record<string, string> }} */
  const { title, cannot } = await new Promise((resolve, reject) => {
    child.on('message', (/** @type {any} */ message) => {
      if (message.ready) return resolve(message.ready)
      const one = waiting.get(message.id)
      waiting.delete(message.id)
      if (message.error) one?.reject(new Error(message.error))
      else one?.resolve(message.result)
    })
    child.once('exit', (code) => {
      const error = new Error(`${name} ended with ${code}: ${complaints}`)
      reject(error)
      for (const one of waiting.values()) one.reject(error)
    })
  })
  const order = (/** @type {Record<string, unknown>} */ what) =>
    new Promise((resolve, reject) => {
      if (child.exitCode !== null || child.signalCode !== null) throw new Error('it has ended')
      const id = next++
      const timer = setTimeout(() => {
        reject(new Error(`it took more than ${patienceMs / 1000} seconds`))
        waiting.delete(id)
        child.kill('SIGKILL')
      }, patienceMs)
      waiting.set(id, {
        resolve(value) {
          clearTimeout(timer)
          resolve(value)
        },
        reject(error) {
          clearTimeout(timer)
          reject(error)
        },
      })
      child.send({ id, ...what })
    })
  return {
    name,
    title,
    cannot,
    runs: (work) => {
      const usual = { mode: 'stream', rounds: 0, times: 1, at: 1, history: 0, length: 0 }
      return /** @type {Promise<any>} */ (order({ do: 'runs', work: { ...usual, ...work } }))
    },
    hold: (count, rounds) => /** @type {Promise<any>} */ (order({ do: 'hold', count, rounds })),
    async end() {
      await order({ do: 'end' }).catch(() => undefined)
      if (child.exitCode === null) child.kill()
    },
  }
}
