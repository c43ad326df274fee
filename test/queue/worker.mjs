// A worker by hand: what the protocol asks of one, and nothing else. Writes down each beginning and each result that
// was taken.
import { appendFileSync } from 'node:fs'

const [url = '', token = '', log = ''] = process.argv.slice(2)
const name = `worker-${process.pid}`

/** @param {string} method @param {object} params */
async function ask(method, params) {
  const response = await fetch(`${url}/v1/${method}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify(params),
  })
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
  return response.json()
}

/** @param {{ taskId: string, leaseId: string, payload: { n: number, ms: number, fail: string }, attempt: number }} task */
async function work({ taskId, leaseId, payload, attempt }) {
  const lease = { taskId, leaseId }
  const { accepted } = await ask('start', lease)
  if (!accepted) return
  appendFileSync(log, `began ${taskId}\n`)
  await new Promise((resolve) => setTimeout(resolve, payload.ms))
  const fails = payload.fail === 'always' || (payload.fail === 'once' && attempt === 1)
  const said = fails
    ? { success: false, error: 'as requested' }
    : { success: true, result: { output: `did ${payload.n}`, exit_code: 0 } }
  const { answer } = await ask('complete', { ...lease, ...said })
  appendFileSync(log, `${answer} ${taskId}\n`)
}

console.log('up')
for (;;) {
  const { tasks } = await ask('claim', { worker: name, max: 8, waitMs: 5_000, announcesStart: true })
  await Promise.all(tasks.map(work))
}
