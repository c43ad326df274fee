import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.js'
import { RpcError } from '../rpc-error.js'
import { HostMethods, hostMethodNames } from './host-methods.js'
import { RunStreams } from './run-streams.js'

const { signal } = new AbortController()
const opened: HostMethods[] = []

afterEach(async () => {
  await Promise.all(opened.splice(0).map((methods) => methods.close()))
})

/** The methods of a client whose own code is `answer`. */
async function connect(answer: (method: string, params: object) => unknown = () => null) {
  const cwd = temporaryDirectory()
  const methods = new HostMethods({
    cwd,
    env: {},
    callClient: async (method, params) => ({ value: answer(method, params) }),
  })
  opened.push(methods)
  const call = async (method: string, params: object = {}): Promise<unknown> =>
    (await methods.handle(`_capstan/${method}`, { ...params }, signal)).value
  await call('agent/create', { userDir: join(cwd, 'user') })
  const open = (options: object = {}, session = 1): Promise<unknown> =>
    call('session/open', { session, workspace: cwd, options })
  return { cwd, call, open }
}

// Its first test loads everything that a session needs.
describe('host methods', { timeout: 600_000 }, () => {
  it('open a session, call its methods by name, and close it', async () => {
    const { cwd, call, open } = await connect()
    writeFileSync(join(cwd, 'a.txt'), 'one\n')
    expect(await open({ sessionId: 's1' })).toMatchObject({ sessionId: 's1', workspace: cwd })
    expect(await call('session/readFile', { session: 1, path: 'a.txt' })).toBe('one\n')
    expect(await call('agent/listSessions')).toEqual(['s1'])
    expect(await call('session/close', { session: 1 })).toBeNull()
    await expect(call('session/history', { session: 1 })).rejects.toMatchObject({
      data: { code: 'session_closed' },
    })
  })

  it('reject values of a wrong type, options that a session rejects, and a second agent, each with its error code', async () => {
    const { call, open } = await connect()
    await expect(open({ maxToolRounds: -1 })).rejects.toMatchObject({
      data: { code: 'session_option', option: 'maxToolRounds' },
    })
    await open()
    await expect(call('session/tool', { session: 1 })).rejects.toMatchObject({
      data: { code: 'invalid_argument' },
    })
    await expect(open({}, 1)).rejects.toBeInstanceOf(RpcError)
    await expect(open({ sessionStore: { kind: 'ftp' } }, 2)).rejects.toMatchObject({
      data: { code: 'invalid_argument' },
    })
    await expect(call('agent/create')).rejects.toMatchObject({ data: { code: 'agent_exists' } })
  })

  it('run a tool of the client after its arguments were checked', async () => {
    const calls: object[] = []
    const { call, open } = await connect((method, params) => {
      calls.push({ method, ...params })
      return 'done'
    })
    const parameters = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
    await open({ tools: [{ name: 'count', description: 'Count.', parameters }] })
    expect(await call('session/tool', { session: 1, name: 'count', args: { n: 'x' } })).toMatchObject({
      exitCode: 1,
    })
    expect(calls).toEqual([])
    expect(await call('session/tool', { session: 1, name: 'count', args: { n: 1 } })).toMatchObject({
      exitCode: 0,
      output: 'done',
    })
    expect(calls).toMatchObject([{ method: '_capstan/tool/call', session: 1, name: 'count', args: { n: 1 } }])
  })

  it('have unique names that begin with _capstan', () => {
    expect(new Set(hostMethodNames).size).toBe(hostMethodNames.length)
    expect(hostMethodNames.filter((name) => !name.startsWith('_capstan/'))).toEqual([])
  })
})

describe('streams of events', () => {
  it('are delivered in batches, complete and in order, and then end', async () => {
    const streams = new RunStreams()
    const id = streams.add(numbers(600))
    const read: unknown[] = []
    for (let done = false; !done; ) {
      const batch = await streams.next(id)
      expect(batch.done || batch.events.length > 0).toBe(true)
      read.push(...batch.events)
      done = batch.done
    }
    expect(read).toEqual(Array.from({ length: 600 }, (_, at) => at))
    expect(await streams.next(id)).toEqual({ events: [], done: true })
  })

  it('stop their source when they are closed', async () => {
    const streams = new RunStreams()
    let isReturned = false
    const source = {
      next: () => new Promise<IteratorResult<unknown>>(() => undefined),
      return: async () => {
        isReturned = true
        return { value: undefined, done: true as const }
      },
    }
    const id = streams.add(source)
    await streams.close(id)
    expect(isReturned).toBe(true)
    expect(await streams.next(id)).toEqual({ events: [], done: true })
  })
})

async function* numbers(count: number): AsyncGenerator<number> {
  for (let at = 0; at < count; at++) yield at
}
