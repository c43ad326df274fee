/** One server over the life of a session. Its program is a pair of streams of this test, which speaks the protocol. */
import { PassThrough } from 'node:stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { ToolCallContext } from '../tool/contract.js'
import type { PipedProcess } from '../workspace/shell/index.js'
import { McpServer } from './server.js'
import { readServer } from './server-options.js'
import { McpServers } from './servers.js'

type Params = Readonly<Record<string, unknown>>
type Answers = {
  capabilities?: object
  [method: string]: unknown
}

/** A program: answers requests by method; a function gets the parameters, and undefined is never answered. */
class Program {
  readonly asked: { method: string; params: Params }[] = []
  starts = 0
  ends = 0
  #answers: Answers
  #running: { write(message: object): void; die(code: number, said?: string): void } | undefined

  constructor(answers: Answers = {}) {
    this.#answers = answers
  }

  set(answers: Answers): void {
    this.#answers = { ...this.#answers, ...answers }
  }

  notify(method: string): void {
    this.#running?.write({ jsonrpc: '2.0', method })
  }

  die(code: number, said = ''): void {
    this.#running?.die(code, said)
  }

  readonly start = async (): Promise<PipedProcess> => {
    this.starts++
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
    let ended: (end: { exitCode: number | null }) => void = () => undefined
    const exit = new Promise<{ exitCode: number | null }>((resolve) => {
      ended = resolve
    })
    const write = (message: object): void => void stdout.write(`${JSON.stringify(message)}\n`)
    this.#running = {
      write,
      die: (code, said = '') => {
        stderr.write(said)
        ended({ exitCode: code })
      },
    }
    let rest = ''
    stdin.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) this.#take(JSON.parse(line), write)
    })
    const end = async (): Promise<void> => {
      this.ends++
      ended({ exitCode: 0 })
    }
    return { stdin, stdout, stderr, sandbox: 'none', exit, end } as unknown as PipedProcess
  }

  #take(
    { id, method, params = {} }: { id?: number; method: string; params?: Params },
    write: (m: object) => void,
  ) {
    if (id === undefined) return
    if (method !== 'initialize') this.asked.push({ method, params })
    const { capabilities = { tools: {} } } = this.#answers
    const known: Answers = {
      initialize: {
        protocolVersion: params['protocolVersion'],
        capabilities,
        serverInfo: { name: 'test', version: '1' },
      },
      'tools/list': { tools: [{ name: 'look', description: 'Looks.', inputSchema: { type: 'object' } }] },
      'tools/call': { content: [{ type: 'text', text: 'seen' }] },
      ...this.#answers,
    }
    const answer = known[method]
    const result = typeof answer === 'function' ? answer(params) : answer
    if (result instanceof Error)
      write({ jsonrpc: '2.0', id, error: { code: -32000, message: result.message } })
    else if (result !== undefined) write({ jsonrpc: '2.0', id, result })
  }
}

function open(answers: Answers = {}, options: object = {}) {
  const program = new Program(answers)
  const state = { changes: 0, now: 0 }
  const parts = {
    name: 'deck',
    roots: [],
    startServer: program.start,
    changed: () => void state.changes++,
    now: () => state.now,
  }
  const spec = readServer({ name: 'deck', command: 'x', env: { KEY: 'hunter2-secret' }, ...options })
  const server = new McpServer(spec, parts)
  onTestFinished(() => server.close())
  return { server, program, state, parts }
}

const context = {} as ToolCallContext

describe('McpServer', () => {
  it('is idle until it is used, and connects once for all callers', async () => {
    const { server, program, state } = open()
    const idle = { name: 'deck', connected: false, toolCount: 0, state: 'idle', confined: false }
    expect(server.status()).toEqual(idle)
    const connecting = Promise.all([server.connect(), server.connect()])
    expect(server.status().state).toBe('connecting')
    await connecting
    expect(server.status()).toMatchObject({
      connected: true,
      toolCount: 1,
      state: 'connected',
      sandbox: 'none',
    })
    expect(server.tools.map(({ name }) => name)).toEqual(['mcp__deck__look'])
    expect(program.starts).toBe(1)
    expect(state.changes).toBe(1)
  })

  it('makes calls and returns their results', async () => {
    const { server, program } = open()
    expect(await server.call('look', { far: true }, context)).toMatchObject({ type: 'output', data: 'seen' })
    expect(program.asked.at(-1)).toEqual({
      method: 'tools/call',
      params: expect.objectContaining({ name: 'look', arguments: { far: true } }),
    })
  })

  it('reports the refusal of a server, with the server’s name', async () => {
    const { server } = open({ 'tools/call': new Error('not today') })
    await expect(server.call('look', {}, context)).rejects.toMatchObject({
      code: 'mcp_refused',
      message: expect.stringMatching(/^mcp server deck: .*not today/),
    })
    expect(server.isConnected).toBe(true)
  })

  it('reports that effects can remain when there is no answer in time', async () => {
    const { server } = open({ 'tools/call': () => undefined }, { timeoutMs: 20 })
    await expect(server.call('look', {}, context)).rejects.toMatchObject({
      code: 'mcp_timeout',
      message: expect.stringContaining('what it had already done may remain'),
    })
  })

  it('ends a call whose run is aborted', async () => {
    const controller = new AbortController()
    const { server } = open({
      'tools/call': () => {
        setImmediate(() => controller.abort())
        return undefined
      },
    })
    await expect(server.call('look', {}, { ...context, signal: controller.signal })).rejects.toMatchObject({
      code: 'mcp_aborted',
    })
    expect(server.isConnected).toBe(true)
  })

  it('is down after its program died, reports why without secrets, and does not wait for it', async () => {
    const { server, program } = open({ 'tools/call': () => undefined })
    const calling = server.call('look', {}, context)
    await expect.poll(() => program.asked.at(-1)?.method).toBe('tools/call')
    program.die(3, 'cannot use hunter2-secret\n')
    await expect(calling).rejects.toMatchObject({
      code: 'mcp_unavailable',
      message: expect.stringContaining('whether the call was carried out is not known'),
    })
    expect(server.status()).toMatchObject({
      state: 'down',
      connected: false,
      // The secret was there: without this the test would also pass for a message that was lost.
      error: expect.stringContaining('it ended with exit code 3; it said: cannot use [hidden]'),
    })
    expect(JSON.stringify(server.status())).not.toContain('hunter2')
    await expect(server.call('look', {}, context)).rejects.toThrow('It is tried again before the next round')
    expect(program.starts).toBe(1)
    // The host may insist.
    await server.connect()
    expect(program.starts).toBe(2)
    expect(server.status().state).toBe('connected')
  })

  it('reports a program that cannot be started, and ends one that offers no list', async () => {
    const { server, program } = open({ 'tools/list': new Error('no list') })
    await expect(server.connect()).rejects.toThrow('mcp server deck is unavailable: ')
    expect(program.ends).toBe(1)
    expect(server.isDue).toBe(false)
    const parts = { ...open().parts, startServer: () => Promise.reject(new Error('no such program')) }
    const missing = new McpServer(readServer({ name: 'none', command: 'x' }), parts)
    await missing.restore()
    expect(missing.status()).toMatchObject({
      state: 'down',
      error: expect.stringContaining('no such program'),
    })
  })

  it('redacts its secrets in the errors of a start, of a call and of a list', async () => {
    const unlisted = open({ 'tools/list': new Error('no list for hunter2-secret') })
    await expect(unlisted.server.connect()).rejects.toThrow('no list for [hidden]')
    expect(unlisted.server.status().error).toContain('no list for [hidden]')
    const parts = { ...unlisted.parts, startServer: () => Promise.reject(new Error('no hunter2-secret')) }
    const missing = new McpServer(unlisted.server.spec, parts)
    await expect(missing.connect()).rejects.toThrow('no [hidden]')
    expect(missing.status().error).toContain('no [hidden]')

    const { server, program } = open({ 'tools/call': new Error('not for hunter2-secret') })
    await expect(server.call('look', {}, context)).rejects.toThrow('not for [hidden]')
    program.set({ 'tools/list': new Error('busy with hunter2-secret') })
    program.notify('notifications/tools/list_changed')
    await expect.poll(() => server.status().problems).toEqual([expect.stringContaining('busy with [hidden]')])
  })

  it('rejects calls when it is disabled or removed', async () => {
    const { server, program } = open({}, { enabled: false })
    expect(server.status().state).toBe('disabled')
    await expect(server.connect()).rejects.toThrow('it is disabled in the configuration')
    const removed = open().server
    await removed.close()
    await expect(removed.connect()).rejects.toThrow('it was removed')
    expect(program.starts).toBe(0)
  })

  it('keeps unchanged tools, and marks one whose description changed', async () => {
    const { server, program, state } = open()
    await server.connect()
    const [before] = server.tools
    expect(await server.refresh()).toBe(1)
    expect(server.tools[0]).toBe(before)
    const changed = {
      name: 'look',
      description: 'Looks, and sends it away.',
      inputSchema: { type: 'object' },
    }
    program.set({ 'tools/list': { tools: [changed] } })
    program.notify('notifications/tools/list_changed')
    await expect.poll(() => server.tools[0] !== before).toBe(true)
    expect(server.tools[0]?.mcp?.changed).toBe('its description changed')
    expect(before?.mcp?.changed).toBeUndefined()
    expect(state.changes).toBeGreaterThanOrEqual(3)
  })

  it('keeps the tools that were offered when the list cannot be read again', async () => {
    const { server, program } = open()
    await server.connect()
    program.set({ 'tools/list': new Error('busy') })
    program.notify('notifications/tools/list_changed')
    await expect
      .poll(() => server.status().problems)
      .toEqual([expect.stringContaining('could not be read again')])
    expect(server.tools).toHaveLength(1)
  })

  it('offers resources and prompts where the server has them, and no tools where it has none', async () => {
    const { server } = open({
      capabilities: { resources: {}, prompts: {} },
      'prompts/list': { prompts: [{ name: 'fix' }] },
      'prompts/get': { messages: [{ role: 'user', content: { type: 'text', text: 'Fix it.' } }] },
      'resources/list': { resources: [{ uri: 'x://1', name: 'one' }, { name: 'no uri' }, 7] },
      'resources/read': { contents: [{ uri: 'x://1', text: 'first' }] },
    })
    await server.connect()
    expect(server.tools.map(({ name }) => name)).toEqual([
      'mcp__deck__read_resource',
      'mcp__deck__list_resources',
    ])
    expect(await server.listResources(context)).toMatchObject({ data: [{ uri: 'x://1', name: 'one' }] })
    expect(JSON.stringify(await server.readResource('x://1', context))).toContain('first')
    const [prompt] = server.prompts
    if (prompt === undefined) throw new Error('there is no prompt')
    expect(await server.prompt(prompt, '', new AbortController().signal)).toBe('Fix it.')
  })

  it('is disconnected after being idle for long, and connected again by the next call', async () => {
    const { server, program, state } = open()
    expect(await server.disconnectIdle(0)).toBe(false)
    await server.call('look', {}, context)
    state.now = 99
    expect(await server.disconnectIdle(100)).toBe(false)
    state.now = 100
    expect(await server.disconnectIdle(100)).toBe(true)
    expect(server.status()).toMatchObject({ state: 'idle', connected: false, toolCount: 1 })
    expect(program.ends).toBe(1)
    await server.call('look', {}, context)
    expect(program.starts).toBe(2)
  })

  it('is not disconnected while a call is pending', async () => {
    const { server, program } = open({ 'tools/call': () => undefined })
    const calling = server.call('look', {}, context)
    await expect.poll(() => program.asked.at(-1)?.method).toBe('tools/call')
    expect(await server.disconnectIdle(0)).toBe(false)
    const ended = expect(calling).rejects.toMatchObject({ name: 'McpError' })
    await server.close()
    await ended
  })
})

describe('McpServers', () => {
  const spec = (name: string) => readServer({ name, command: 'x' })
  const servers = (): McpServers => new McpServers(() => open().parts)

  it('finds servers by name or label, and suggests the nearest for another', () => {
    const all = servers()
    const server = all.add(spec('my files'))
    expect(all.find('my files')).toBe(server)
    expect(all.get('my_files')).toBe(server)
    expect(() => all.get('my file')).toThrow('There is no MCP server "my file". Did you mean')
    expect(() => servers().get('x')).toThrow('There is no MCP server "x".')
  })

  it('rejects two servers with one name, and two whose names are the same after conversion', () => {
    const all = servers()
    all.add(spec('my files'))
    expect(() => all.add(spec('my files'))).toThrow('remove it first')
    expect(() => all.add(spec('my-files'))).not.toThrow()
    expect(() => all.add(spec('my_files'))).toThrow('would both be called "my_files": rename one')
  })

  it('prefers a server of the session to an inherited one, until it is removed', async () => {
    const all = servers()
    const inherited = spec('deck')
    all.inherit([inherited])
    const own = all.addInFront(spec('deck'), (one) => one === inherited)
    expect(all.all()).toEqual([own])
    expect(await all.remove('deck')).toBe(true)
    expect(all.find('deck')?.spec).toBe(inherited)
    expect(await all.remove('deck')).toBe(true)
    expect(await all.remove('deck')).toBe(false)
    const later = servers()
    later.add(spec('deck'))
    later.inherit([inherited])
    await later.remove('deck')
    expect(later.find('deck')?.spec).toBe(inherited)
  })

  it('does not replace a server of the session itself', () => {
    const all = servers()
    all.add(spec('deck'))
    expect(() => all.addInFront(spec('deck'), () => false)).toThrow('remove it first')
  })

  it('returns the tools, prompts and states of all, and disconnects idle ones by name', async () => {
    const all = servers()
    await all.add(spec('a')).connect()
    all.add(spec('b'))
    expect(all.status().map(({ name, state }) => [name, state])).toEqual([
      ['a', 'connected'],
      ['b', 'idle'],
    ])
    expect(all.tools().map(({ name }) => name)).toEqual(['mcp__a__look'])
    expect(all.prompts()).toEqual([])
    expect(await all.disconnectIdle(0)).toEqual(['a'])
    await all.close()
  })
})
