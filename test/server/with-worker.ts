import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import { Worker } from '../../src/cluster/worker.js'
import { InProcessRunQueue } from '../../src/run-queue/in-process-queue.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import { type ScriptedStep, scriptedModel } from '../../src/testing/scripted-model.js'
import { directory, type Started, startServer } from './support.js'

type Script = readonly (ScriptedStep | string)[]

/** A server that executes runs itself, and one that submits them to a queue, where a worker takes them. */
export const waysToServe: readonly { readonly name: string; serve(script: Script): Promise<Started> }[] = [
  {
    name: 'of a server',
    serve: (script) => startServer({ session: { model: scriptedModel([...script]) } }),
  },
  { name: 'of a server with a queue', serve: serveWithWorker },
]

async function serveWithWorker(script: Script): Promise<Started> {
  const store = new MemorySessionStore()
  const queue = new InProcessRunQueue({ store })
  const workspace = directory()
  const agent = await Agent.create({}, { userDir: join(directory(), 'user') })
  const worker = new Worker({
    agent,
    store,
    queue,
    workspaces: { main: workspace },
    suspendAfterMs: 0,
    session: { model: scriptedModel([...script]) },
  })
  onTestFinished(async () => {
    await worker.drain({ deadlineMs: 0 })
    await queue.close()
    await agent.close()
  })
  await worker.start()
  // A model of the server would answer something else.
  const session = { model: scriptedModel(['The server answers itself.']) }
  return startServer({ store, queue, workspaces: [workspace], session })
}
