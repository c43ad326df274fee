// A session whose commands are run by workers: `node examples/queue-worker/host.mjs`. One worker asks over HTTP, the
// other over the streams of the process that this one starts. Then one of them is killed in the middle of its work.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent, createTool } from 'capstan'
import { z } from 'zod'

const worker = join(import.meta.dirname, 'worker.mjs')
const root = await mkdtemp(join(tmpdir(), 'capstan-queue-worker-'))
const agent = await Agent.create()

const weigh = createTool({
  name: 'weigh',
  description: 'Weighs a crate.',
  input: z.object({ crate: z.number(), slow: z.boolean().optional() }),
  // Weighing twice does no harm, so a crate goes to another worker when one is gone.
  idempotent: true,
  execute: () => {
    throw new Error('there is no scale on this machine')
  },
})
const session = agent.session(root, {
  tools: [weigh],
  queueConfig: {
    executeConcurrency: 8,
    leaseMs: 1_000,
    enableMetrics: true,
    laneHandlers: { execute: { mode: 'external', timeoutMs: 30_000 } },
  },
})

const token = randomBytes(24).toString('hex')
const { url } = await session.serveQueue({ token })
// A token goes into the environment, not onto the command line, which everybody on the machine can read.
const overHttp = spawn(process.execPath, [worker, url], {
  stdio: ['ignore', 'ignore', 'inherit'],
  env: { ...process.env, QUEUE_TOKEN: token },
})
const overStreams = spawn(process.execPath, [worker], { stdio: ['pipe', 'pipe', 'inherit'] })
await session.attachQueueWorker({ input: overStreams.stdout, output: overStreams.stdin })

const crates = await Promise.all([1, 2, 3, 4, 5, 6].map((crate) => session.tool('weigh', { crate })))
console.log(crates.map(({ output }) => output).join('\n'))

const slow = session.tool('weigh', { crate: 7, slow: true })
while ((await session.queueStats()).externalPending === 0)
  await new Promise((resolve) => setTimeout(resolve, 10))
overStreams.kill('SIGKILL')
console.log((await slow).output)

const metrics = await session.queueMetrics()
console.log(`${metrics?.counters['lane.commands.completed']} crates weighed`)
await agent.close()
overHttp.kill()
await rm(root, { recursive: true })
