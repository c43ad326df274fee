import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import { RunClient } from '../../src/cluster/run-client.js'
import { Worker } from '../../src/cluster/worker.js'
import type { WorkerOptions } from '../../src/cluster/worker-options.js'
import {
  PostgresRunQueue,
  type PostgresRunQueueOptions,
  PostgresSessionStore,
} from '../../src/postgres/index.js'
import { scriptedModel } from '../../src/testing/scripted-model.js'
import { notingTool } from '../persistence/kept.js'
import { temporaryDirectory } from '../support/temporary-directory.js'

export type InProcessOptions = {
  /** Called when a call of a tool begins; the call ends when it resolves. */
  work?(word: string): Promise<void>
}

/**
 * Workers of one process, each with connections of its own, so that only the database is between them. The prompt
 * `NAME x3` makes three calls, one in each round, that note `NAME-1` to `NAME-3`.
 */
export async function workersOn(connection: PostgresRunQueueOptions, { work }: InProcessOptions = {}) {
  const base = realpathSync(temporaryDirectory())
  const ledger = { begun: [] as string[], done: [] as string[] }
  const agent = await Agent.create({}, { userDir: join(base, 'user') })
  onTestFinished(() => agent.close())
  const connect = (own = connection) => {
    const store = new PostgresSessionStore(own)
    const queue = new PostgresRunQueue(own)
    onTestFinished(async () => {
      await Promise.allSettled([store.close(), queue.close()])
    })
    return { store, queue }
  }
  const model = () =>
    scriptedModel(({ chatHistory }) => {
      const last = chatHistory.findLastIndex(({ role }) => role === 'user')
      const [, name = 'none', count = '0'] = /([\w-]+) x(\d+)/.exec(JSON.stringify(chatHistory[last])) ?? []
      const made = chatHistory.slice(last).filter(({ role }) => role === 'tool').length
      if (made >= Number(count)) return `${name} is done.`
      const word = `${name}-${made + 1}`
      return { toolCalls: [{ id: word, name: 'note', args: { word } }] }
    })
  return {
    ledger,
    client: (tenantId?: string): RunClient => new RunClient({ ...connect(), tenantId }),
    connect,
    async worker(options: Partial<WorkerOptions> = {}): Promise<Worker> {
      const worker = new Worker({
        agent,
        ...connect(),
        workspaces: { main: base },
        ...options,
        session: {
          model: model(),
          tools: [notingTool(ledger, work === undefined ? {} : { work })],
          permissionPolicy: { allow: ['note'] },
        },
      })
      onTestFinished(() => worker.drain({ deadlineMs: 0 }))
      await worker.start()
      return worker
    },
  }
}
