// The soak of a long-running session: rounds with compaction, fallback models, an open circuit, wake-ups, a provider over
// HTTP and telemetry over OTLP. Provider, collector and host are processes of their own, so that the memory of the host
// is that of Capstan alone.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

const roundsPerRun = 20
const prices = { input: 3, output: 15 }

/**
 * Runs the soak and returns its figures.
 * @param {{ rounds: number, samples?: number }} options
 */
export async function runSoak({ rounds, samples = 20 }) {
  const provider = start('provider.mjs', { roundsPerRun, prices })
  const collector = start('receiver.mjs', {})
  const children = [provider, collector]
  try {
    const { url: providerUrl } = await next(provider)
    const { url: collectorUrl } = await next(collector)
    const order = { rounds, roundsPerRun, samples, prices, providerUrl, collectorUrl }
    const host = start('host.mjs', order, ['--expose-gc'])
    children.push(host)
    const figures = await next(host)
    const charged = await ask(provider)
    const received = await ask(collector)
    return { ...figures, charged, received }
  } finally {
    for (const child of children) child.kill('SIGKILL')
  }
}

/** @param {string} name @param {object} order @param {string[]} execArgv */
function start(name, order, execArgv = []) {
  const child = fork(join(import.meta.dirname, name), [JSON.stringify(order)], {
    execArgv,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  return child
}

/** The next message of a child. Rejects when it ends without one. @param {import('node:child_process').ChildProcess} child @returns {Promise<any>} */
async function next(child) {
  const stop = new AbortController()
  const exit = once(child, 'exit', { signal: stop.signal }).then(([code, signal]) => {
    throw new Error(`${child.spawnargs.at(2)} ended with ${code ?? signal} before it answered`)
  })
  try {
    const [message] = await Promise.race([once(child, 'message', { signal: stop.signal }), exit])
    return message
  } finally {
    stop.abort()
    exit.catch(() => undefined)
  }
}

/** @param {import('node:child_process').ChildProcess} child */
function ask(child) {
  child.send('totals')
  return next(child)
}
