import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  bash,
  calls,
  collect,
  later,
  makeWorkspace,
  openAgent,
  openServer,
  openSession,
  until,
} from './open-session.js'

describe('close', () => {
  it('sets isClosed to true and rejects later calls with the documented error', async () => {
    const { session } = await openSession(['never'], {}, { 'a.txt': 'a' })
    expect(session.isClosed).toBe(false)
    await session.close()
    expect(session.isClosed).toBe(true)
    await expect(session.send('x')).rejects.toThrow(/Session closed/)
    await expect(session.stream('x')).rejects.toThrow(/Session closed/)
    await expect(session.tool('read', { file_path: 'a.txt' })).rejects.toThrow(/Session closed/)
    await expect(session.readFile('a.txt')).rejects.toThrow(/Session closed/)
    await expect(session.btw('x')).rejects.toThrow(/Session closed/)
    expect(session.history()).toEqual([])
    expect(session.cancel()).toBe(false)
  })

  it('can be called any number of times, and each waits for the end', async () => {
    const ended: string[] = []
    const { session, agent } = await openSession(['ok'], { sessionId: 'many' })
    const gate = later()
    session.registerHook('end', 'session_end', null, null, async () => {
      await gate.promise
      ended.push('hook')
    })
    await session.send('x')
    const closing = [
      session.close().then(() => ended.push('first')),
      session.close().then(() => ended.push('second')),
      agent.close().then(() => ended.push('agent')),
    ]
    gate.resolve()
    await Promise.all(closing)
    expect(ended[0]).toBe('hook')
    expect(ended).toHaveLength(4)
    await session.close()
  })

  it('applies at once for callers that do not wait for it', async () => {
    const { session, agent, root } = await openSession(['ok'], { sessionId: 'quick' })
    void session.close()
    expect(session.isClosed).toBe(true)
    expect(await agent.listSessions()).toEqual([])
    const again = agent.session(root, { sessionId: 'quick' })
    expect((await again.send('x')).text).toBe('ok')
  })

  it('cancels the active run and rejects queued ones', async () => {
    const { server, session } = await openSession(() => ({ stall: true }))
    const running = session.send('a').catch((error: Error) => error)
    const waiting = session.send('b').catch((error: Error) => error)
    const stream = await session.stream('c')
    await server.request(0)
    await session.close()
    for (const error of [await running, await waiting]) {
      expect(error).toBeInstanceOf(Error)
      expect(String(error)).toMatch(/Session closed/)
    }
    expect((await collect(stream)).at(-1)).toMatchObject({ type: 'agent_cancelled' })
    expect(await server.requests[0]?.ended).toBe('left')
    expect(server.requests).toHaveLength(1)
    expect((await session.runs()).map(({ status }) => status)).toEqual([
      'cancelled',
      'cancelled',
      'cancelled',
    ])
  })

  it('rejects calls that wait for a confirmation', async () => {
    const { session, root } = await openSession([bash('touch x.txt'), 'never'], {
      confirmationPolicy: { enabled: true },
    })
    const stream = await session.stream('go')
    await until(stream, 'confirmation_required')
    expect(session.pendingConfirmations()).toHaveLength(1)
    await session.close()
    expect(session.pendingConfirmations()).toEqual([])
    expect((await collect(stream)).at(-1)).toMatchObject({ type: 'agent_cancelled' })
    await expect(readFile(join(root, 'x.txt'))).rejects.toThrow()
  })

  it.each(['model', 'host'])('ends the processes of a command that the %s runs', async (who) => {
    const command = 'echo $$ > pid; sleep 300 & echo $! > child; touch ready; wait'
    const { session, root } = await openSession([bash(command), 'never'], {
      mode: 'full',
      onAsk: () => ({ decision: 'once' }),
    })
    const running = who === 'model' ? session.send('go') : session.tool('bash', { command })
    const settled = running.catch((error: unknown) => error)
    const pids = await eventually(async () => {
      await readFile(join(root, 'ready'))
      const texts = [await readFile(join(root, 'pid'), 'utf8'), await readFile(join(root, 'child'), 'utf8')]
      return texts.map((text) => Number(text.trim()))
    })
    await session.close()
    await settled
    for (const pid of pids) expect(await gone(pid)).toBe(true)
  })

  it('ends background processes of commands', async () => {
    const { session } = await openSession([])
    const pid = Number(/^\d+/.exec(await session.bash('sleep 300 & echo $!'))?.[0])
    expect(await readFile(`/proc/${pid}/stat`, 'utf8')).toContain('sleep')
    await session.close()
    expect(await gone(pid)).toBe(true)
  })

  it('also happens when the signal of the session is aborted', async () => {
    const controller = new AbortController()
    const { session } = await openSession([], { signal: controller.signal })
    controller.abort()
    expect(session.isClosed).toBe(true)
    await expect(session.send('x')).rejects.toThrow(/Session closed/)
  })

  // What `await using` calls (`src/agent/dispose.test-d.ts`): Node 20 has no such statement.
  it('also happens at the end of `await using`', async () => {
    const { agent, root } = await openSession([])
    const session = agent.session(root)
    await session[Symbol.asyncDispose]()
    expect(session.isClosed).toBe(true)
  })
})

describe('sessions of an agent', () => {
  it('are listed in order and closed by id', async () => {
    const { root, userDir } = await makeWorkspace()
    const { agent } = await openAgent([], userDir)
    const b = agent.session(root, { sessionId: 'session-b' })
    agent.session(root, { sessionId: 'session-a' })
    expect(await agent.listSessions()).toEqual(['session-a', 'session-b'])
    expect(await agent.closeSession('session-b')).toBe(true)
    expect(b.isClosed).toBe(true)
    expect(await agent.closeSession('session-b')).toBe(false)
    expect(await agent.closeSession('nobody')).toBe(false)
    expect(await agent.listSessions()).toEqual(['session-a'])
  })

  it('are all closed with it, and none can be opened afterwards', async () => {
    const { agent, session, root } = await openSession([])
    const other = agent.session(root)
    await agent.close()
    expect([session.isClosed, other.isClosed, agent.isClosed]).toEqual([true, true, true])
    expect(() => agent.session(root)).toThrow(/Session closed/)
    expect(() => agent.sessionForAgent(root, 'explore')).toThrow(/closed/i)
    await agent.close()
  })

  it('have their own histories', async () => {
    const { agent, session, root } = await openSession(['one', 'two'])
    const other = agent.session(root)
    await session.send('x')
    expect(other.history()).toEqual([])
    await other.send('y')
    expect(session.history()).toHaveLength(2)
  })
})

describe('after close', () => {
  it('a Node process ends by itself', async () => {
    const server = await openServer([calls(['bash', { command: 'echo hi' }]), 'done', 'side'])
    const { root, userDir } = await makeWorkspace({ 'a.txt': 'a' })
    const source = `
      import { Agent } from ${JSON.stringify(new URL('../../dist/index.js', import.meta.url).href)}
      const agent = await Agent.create(${JSON.stringify(
        `default_model = "openai/m"\nproviders "openai" { api_key = "k" base_url = "${server.url}" models "m" {} }`,
      )}, { userDir: ${JSON.stringify(userDir)} })
      const session = agent.session(${JSON.stringify(root)}, { mode: 'full', confirmationPolicy: { enabled: true } })
      await session.send('go')
      await session.btw('and?')
      await session.bash('sleep 300 & echo started')
      await session.grep('a')
      await agent.close()
      console.log('closed')
    `
    const { code, output } = await runNode(source)
    expect(output).toContain('closed')
    expect(code).toBe(0)
  })
})

/** How a program ended by itself, and what it printed. */
async function runNode(source: string): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
    cwd: join(import.meta.dirname, '../..'),
    timeout: 120_000,
  })
  let output = ''
  child.stdout.on('data', (data: Buffer) => {
    output += data
  })
  child.stderr.on('data', (data: Buffer) => {
    output += data
  })
  return new Promise((resolve) => child.once('exit', (code) => resolve({ code, output })))
}

async function eventually<Value>(look: () => Promise<Value>): Promise<Value> {
  const end = performance.now() + 60_000
  for (;;) {
    try {
      return await look()
    } catch (error) {
      if (performance.now() > end) throw error
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

async function gone(pid: number): Promise<boolean> {
  return eventually(async () => {
    const state = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
    // A zombie has ended; its new parent has not read its status yet.
    if (state !== undefined && !/\) Z /.test(state)) throw new Error(`${pid} is alive: ${state}`)
    return true
  })
}
