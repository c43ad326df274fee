// A contender's process: receives what to do, and reports the result.
import { fork } from 'node:child_process'
import { join } from 'node:path'

const patienceMs = 90_000

/**
 * `order` is answered by the process; it is ended when that takes too long, and everything after that fails.
 * @typedef {{ ready: any, order: (what: Record<string, unknown>) => Promise<any>, end: () => Promise<void> }} Worker
 */

/**
 * @param {string} file in this directory
 * @param {readonly string[]} args
 * @returns {Promise<Worker>}
 */
export async function startWorker(file, args) {
  const child = fork(join(import.meta.dirname, file), args, {
    execArgv: ['--expose-gc'],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    env: { ...process.env, ...quiet },
  })
  let complaints = ''
  child.stderr?.on('data', (part) => {
    complaints = (complaints + part).slice(-2000)
  })
  /** @type {Map<number, { resolve: (value: any) => void, reject: (error: Error) => void }>} */
  const waiting = new Map()
  let next = 0
  const ready = await new Promise((resolve, reject) => {
    child.on('message', (/** @type {any} */ message) => {
      if (message.ready) return resolve(message.ready)
      const one = waiting.get(message.id)
      waiting.delete(message.id)
      if (message.error) one?.reject(new Error(message.error))
      else one?.resolve(message.result)
    })
    child.once('exit', (code) => {
      const error = new Error(`it ended with ${code}: ${complaints.trim().slice(-300)}`)
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
    ready,
    order,
    async end() {
      await order({ do: 'end' }).catch(() => undefined)
      if (child.exitCode === null) child.kill()
    },
  }
}

/**
 * No library sends telemetry while it is measured, and none reads certificates that the environment makes every Node
 * read.
 */
export const quiet = {
  NODE_EXTRA_CA_CERTS: undefined,
  NODE_NO_WARNINGS: '1',
  OTEL_SDK_DISABLED: 'true',
  MASTRA_TELEMETRY_DISABLED: '1',
  VOLTAGENT_AUTO_REFRESH_MODELS: 'false',
}
