/** What a run waits for the disk for: what cannot be done again, and its own end. */
import { expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.js'
import { MemorySessionStore } from '../../src/store/memory-store.js'
import type { OpenLogOptions, SessionLog } from '../../src/store/session-store.js'
import { makeWorkspace, whenDone } from '../contract/open-session.js'
import { type Ledger, notingTool, planModel, recordsOf } from './kept.js'

/** Says in order what was handed to it, and whether the disk was waited for. */
class DiskWaits extends MemorySessionStore {
  readonly order: string[] = []

  override async open(sessionId: string, options: OpenLogOptions): Promise<SessionLog> {
    const log = await super.open(sessionId, options)
    return {
      lease: log.lease,
      append: async (records, { soon } = {}) => {
        await log.append(records)
        this.order.push(soon ? 'written' : 'on disk')
      },
      writeBlob: (bytes) => log.writeBlob(bytes),
      flush: () => log.flush(),
      close: () => log.close(),
    }
  }
}

async function runOf(idempotent: boolean) {
  const { root, userDir } = await makeWorkspace()
  const agent = await Agent.create({}, { userDir, env: {} })
  whenDone(() => agent.close())
  const sessionStore = new DiskWaits()
  const ledger: Ledger = { begun: [], done: [] }
  const kept: string[][] = []
  const session = agent.session(root, {
    sessionId: 's',
    sandbox: 'off',
    permissionPolicy: { allow: ['note'] },
    sessionStore,
    model: planModel([[{ tool: 'note', word: 'a' }]]),
    tools: [
      notingTool(ledger, {
        idempotent,
        async work() {
          kept.push((await recordsOf(sessionStore, 's')).map(typeOf))
          sessionStore.order.push('it runs')
        },
      }),
    ],
  })
  await session.send('Note it.')
  const { order } = sessionStore
  await session.close()
  return { order: order.slice(order.indexOf('it runs') - 1), before: order.slice(0, 2), kept: kept.flat() }
}

function typeOf(record: { readonly type: string; readonly data: object }): string {
  const { content } = record.data as { readonly content?: { readonly type: string } }
  return content?.type ?? record.type
}

it('a call that must not be made twice waits until the disk has its record, and so does the end of a run', async () => {
  const { order, before, kept } = await runOf(false)
  expect(order.slice(0, 3)).toEqual(['on disk', 'it runs', 'written'])
  expect(order.at(-1)).toBe('on disk')
  expect(before).toEqual(['written', 'written'])
  expect(kept.slice(kept.lastIndexOf('tool_call'))).toContain('tool_intent')
})

it('a call that can be repeated starts when its record is written, which survives the process', async () => {
  const { order, kept } = await runOf(true)
  expect(order.slice(0, 3)).toEqual(['written', 'it runs', 'written'])
  expect(order.at(-1)).toBe('on disk')
  expect(kept.slice(kept.lastIndexOf('tool_call'))).toContain('tool_intent')
})
