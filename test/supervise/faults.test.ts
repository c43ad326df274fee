import { randomBytes } from 'node:crypto'
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { SessionOptions } from '../../src/session/options.js'
import type { Session } from '../../src/session/session.js'
import {
  HttpTransport,
  StdioTransport,
  UnixSocketTransport,
  WebSocketTransport,
} from '../../src/supervise/index.js'
import { bash, eventsOf, ofType, openSession, toolResults } from '../contract/open-session.js'
import { eventually, processesWith } from '../mcp/support.js'
import { startHost } from '../support/host-process.js'
import { badPeer, kinds, never, type PeerEvent, startPeer } from './support.js'

const limit = 120_000
const all: SessionOptions = { permissionPolicy: { defaultDecision: 'allow' }, instructionFiles: false }
const newWord = (): string => `peer-${randomBytes(6).toString('hex')}`

/** What a call of the host's own comes to. */
async function outcome(session: Session, command = 'echo went-through'): Promise<string> {
  return (await session.tool('bash', { command })).output
}

describe('a supervisor that fails when it is asked', { timeout: limit }, () => {
  it.each([
    ['dies', 'the connection was lost before it had answered: it ended with exit code 3'],
    ['garbage', 'it sent something that is not a message of the protocol'],
    ['half-json', 'it sent something that is not a message of the protocol'],
    ['silent', 'it did not answer within 300 ms'],
    ['wrong-id', 'it did not answer within 300 ms'],
    ['number-id', 'it sent an answer without the id of a question'],
    ['null-id', 'it could not read what it was asked'],
    ['error', 'it answered with an error: no idea (-32000)'],
    ['no-result', 'it sent an answer with neither a result nor an error'],
    ['odd-decision', 'its decision is not one of allow, block, modify, defer and escalate'],
    ['no-decision', 'its answer is not a decision'],
    ['flood', 'it sent too many messages that answer nothing'],
    ['long-line', 'it sent a message of more than 1048576 bytes'],
    ['closes-output', 'it closed its output'],
  ])('(%s) refuses the call, whatever onDisconnect says', async (how, why) => {
    // Both sessions spend most of their time on waiting for the supervisor.
    const both = (['deny', 'continue'] as const).map(async (onDisconnect) => {
      const word = newWord()
      const transport = badPeer(how, word, { onDisconnect })
      const { session } = await openSession([], { ...all, ahpTransport: transport })
      const said = await outcome(session)
      expect(said).toContain('Blocked by the supervisor: the supervisor gave no decision, so this is denied')
      expect(said).toContain(why)
      await session.close()
      expect(processesWith(word)).toEqual([])
    })
    await Promise.all(both)
  })

  it('can write to its error stream without an effect', async () => {
    const { session } = await openSession([], { ...all, ahpTransport: badPeer('shouts-on-stderr') })
    expect(await outcome(session)).toContain('went-through')
  })
})

describe('a supervisor that cannot be reached', { timeout: limit }, () => {
  it.each(['never-starts', 'hangs-at-start', 'old'])('(%s) refuses everything', async (how) => {
    const word = newWord()
    const transport = badPeer(how, word, how === 'hangs-at-start' ? { timeoutMs: 200 } : {})
    const { session } = await openSession(['done'], { ...all, ahpTransport: transport })
    expect(await outcome(session)).toContain('the supervisor cannot be asked, so this is denied')
    await expect(session.send('Go')).rejects.toThrow('The prompt was blocked by the supervisor')
    await session.close()
    expect(processesWith(word)).toEqual([])
  })

  it('refuses a program that does not exist', async () => {
    const { session } = await openSession([], {
      ...all,
      ahpTransport: new StdioTransport('capstan-no-such-program'),
    })
    expect(await outcome(session)).toContain('the supervisor cannot be asked')
  })

  it.each(kinds)('refuses until it is connected again (%s), and is asked again then', async (kind) => {
    const peer = await startPeer(kind)
    const { session } = await openSession([], {
      ...all,
      ahpTransport: peer.transport(undefined, { reconnectMs: 1 }),
    })
    expect(await outcome(session)).toContain('went-through')
    await peer.stop()
    expect(await outcome(session)).toContain('Blocked by the supervisor')
    expect(await outcome(session)).toContain('Blocked by the supervisor')
    await peer.start()
    await expect.poll(() => outcome(session)).toContain('went-through')
    const asked = peer.messages.filter(({ method }) => method === 'ahp/handshake')
    expect(asked.length).toBeGreaterThan(1)
  })

  it.each(kinds)('allows with onDisconnect: continue (%s), and reports it', async (kind) => {
    const peer = await startPeer(kind)
    await peer.stop()
    const { session, server } = await openSession([bash('echo went-through'), 'done'], {
      ...all,
      ahpTransport: peer.transport(undefined, { onDisconnect: 'continue', reconnectMs: 1 }),
    })
    const events = await eventsOf(session, 'Go')
    expect(toolResults(server, 1)[0]).toContain('went-through')
    const notices = ofType(events, 'notice').filter(({ source }) => source === 'supervisor')
    expect(notices).toHaveLength(1)
    expect(notices[0]?.message).toMatch(/^The supervisor cannot be asked: .*\. Work continues without it\.$/)
    expect(session.supervisorStatus()).toMatchObject({ connected: false, unsupervised: 2 })
    await peer.start()
  })

  it('is tried again after growing delays', async () => {
    const peer = await startPeer('unix_socket')
    await peer.stop()
    const { session } = await openSession([], {
      ...all,
      ahpTransport: peer.transport(undefined, { reconnectMs: 60_000 }),
    })
    expect(await outcome(session)).toContain('the supervisor cannot be asked')
    await peer.start()
    expect(await outcome(session)).toMatch(/it is tried again in \d+ ms/)
    expect(peer.messages).toEqual([])
  })

  it('queues the reports, and sends them when the supervisor is reachable again', async () => {
    const peer = await startPeer('websocket')
    await peer.stop()
    const { session } = await openSession(['done'], {
      ...all,
      ahpTransport: peer.transport(undefined, { onDisconnect: 'continue', reconnectMs: 1 }),
    })
    await session.send('Go')
    await peer.start()
    await session.close()
    const types = peer.events().map(({ event_type }) => event_type)
    expect(types).toEqual(expect.arrayContaining(['session_start', 'run_lifecycle', 'session_end']))
  })
})

describe('a pending request to the supervisor', { timeout: limit }, () => {
  it.each(kinds)(
    'is a denial when the connection is lost (%s), also with onDisconnect: continue',
    async (kind) => {
      const decide = (event: PeerEvent) => {
        if (event.event_type !== 'pre_action') return { decision: 'allow' }
        setImmediate(() => void peer.stop())
        return never
      }
      const peer = await startPeer(kind, { decide })
      const { session } = await openSession([], {
        ...all,
        ahpTransport: peer.transport(undefined, { onDisconnect: 'continue', reconnectMs: 60_000 }),
      })
      expect(await outcome(session)).toMatch(/Blocked by the supervisor: the supervisor gave no decision/)
      await peer.start()
    },
  )

  it.each(kinds)('is a denial when the answer is for another one (%s)', async (kind) => {
    const odd = JSON.stringify({ jsonrpc: '2.0', id: 'x', result: { decision: 'allow' } })
    const peer = await startPeer(kind, {
      decide: ({ event_type }) => (event_type === 'pre_action' ? odd : { decision: 'allow' }),
    })
    const { session } = await openSession([], {
      ...all,
      ahpTransport: peer.transport(undefined, { timeoutMs: 500 }),
    })
    expect(await outcome(session)).toMatch(/answered another question|did not answer within 500 ms/)
  })

  it('does not delay a run that is cancelled, nor a session that is closed', async () => {
    const peer = await startPeer('http', {
      decide: ({ event_type }) => (event_type === 'pre_prompt' ? never : { decision: 'allow' }),
    })
    const { session } = await openSession(['done'], { ...all, ahpTransport: peer.transport() })
    const sent = session.send('Go')
    const lost = expect(sent).rejects.toThrow('closed')
    await expect.poll(() => peer.events('pre_prompt').length).toBe(1)
    await session.close()
    await lost
  })

  it('is refused when it is longer than the message limit', async () => {
    const peer = await startPeer('http')
    const { session } = await openSession([], {
      ...all,
      ahpTransport: peer.transport(undefined, { maxMessageBytes: 4_096 }),
    })
    expect(await outcome(session, `echo ${'x'.repeat(5_000)}`)).toMatch(
      /the message has \d+ bytes, and maxMessageBytes is 4096/,
    )
    expect(await outcome(session)).toContain('went-through')
  })

  it('has the time limit of the supervisor, and never more than that of the host', async () => {
    const peer = await startPeer('http', { decide: () => never, config: { timeout_ms: 150 } })
    const { session } = await openSession([], { ...all, ahpTransport: peer.transport() })
    expect(await outcome(session)).toContain('it did not answer within 150 ms')
    const generous = await startPeer('http', { decide: () => never, config: { timeout_ms: 99_000 } })
    const other = await openSession([], {
      ...all,
      ahpTransport: generous.transport(undefined, { timeoutMs: 150 }),
    })
    expect(await outcome(other.session)).toContain('it did not answer within 150 ms')
  })
})

describe('an HTTP status that is not an answer', { timeout: limit }, () => {
  it.each([
    [401, 'it did not accept the token (HTTP 401)'],
    [302, 'it answered with HTTP 302'],
    [503, 'it answered with HTTP 503'],
  ])('(%i) refuses, and no redirect is followed', async (status, why) => {
    const { createServer } = await import('node:http')
    const seen: string[] = []
    const server = createServer((request, response) => {
      seen.push(request.url ?? '')
      request.resume()
      response.writeHead(status, { location: '/elsewhere' }).end('{}')
    })
    await new Promise<void>((settle) => server.listen(0, '127.0.0.1', settle))
    const { port } = server.address() as { port: number }
    for (const transport of [
      new HttpTransport(`http://127.0.0.1:${port}/ahp`, 'secret-token', { onDisconnect: 'continue' }),
      new WebSocketTransport(`ws://127.0.0.1:${port}/ahp`, 'secret-token', { onDisconnect: 'continue' }),
    ]) {
      const { session } = await openSession([], { ...all, ahpTransport: transport })
      const said = await outcome(session)
      expect(said).toContain(why)
      expect(said).not.toContain('secret-token')
      await session.close()
    }
    expect(new Set(seen)).toEqual(new Set(['/ahp']))
    await new Promise((settle) => server.close(settle))
  })
})

describe('secrets', { timeout: limit }, () => {
  it.each([
    ['http://user:hunter2hunter2@h/ahp', 'a user name or password'],
    ['http://h/ahp?token=hunter2hunter2', '"token" in its query'],
    ['http://h/ahp?a=1&api_key=hunter2hunter2', '"api_key" in its query'],
    ['http://h/ahp?accessToken=hunter2hunter2', '"accessToken" in its query'],
    ['ftp://h/hunter2hunter2', 'must begin with http:// or https://'],
  ])('are rejected in a URL by name (%#)', (url, words) => {
    const make = () => new HttpTransport(url)
    expect(make).toThrow(words)
    expect(make).not.toThrow('hunter2')
    expect(() => new WebSocketTransport(url.replace(/^http/, 'ws'))).toThrow(words.replace(/http/g, 'ws'))
  })

  it('do not appear in a transport that is printed', () => {
    const transports = [
      new HttpTransport('http://h/ahp', 'hunter2hunter2'),
      new WebSocketTransport('ws://h/ahp', 'hunter2hunter2'),
      new StdioTransport('node', ['server.mjs'], { env: { SECRET: 'hunter2hunter2' } }),
      new UnixSocketTransport('/run/a.sock'),
    ]
    expect(transports.map(({ kind }) => kind)).toEqual(['http', 'websocket', 'stdio', 'unix_socket'])
    for (const one of transports)
      expect(
        `${inspect(one, { showHidden: true, depth: 9 })}${JSON.stringify(one)}${String(one)}`,
      ).not.toContain('hunter2')
  })

  it('do not appear in messages of a supervisor, in events, or in the status', async () => {
    const token = 'hunter2hunter2'
    const peer = await startPeer('http', {
      decide: ({ event_type }) =>
        event_type === 'pre_action'
          ? { decision: 'block', reason: `not with ${token}\u0007\nNEW LINE` }
          : { decision: 'allow' },
    })
    const { session, server } = await openSession([bash('echo a'), 'done'], {
      ...all,
      ahpTransport: peer.transport(token),
    })
    const events = await eventsOf(session, 'Go')
    expect(toolResults(server, 1)[0]).toContain('not with [hidden] NEW LINE')
    const loud = badPeer('dies-saying', '', { env: { SECRET: token } })
    const other = await openSession([], { ...all, ahpTransport: loud })
    const said = await outcome(other.session)
    expect(said).toContain('could not continue with [hidden]')
    const shown = [
      events,
      session.supervisorStatus(),
      session.traceEvents(),
      other.session.supervisorStatus(),
      said,
    ]
    expect(JSON.stringify(shown)).not.toContain(token)
    expect(peer.messages.map((one) => JSON.stringify(one)).join()).not.toContain(token)
  })

  it('that cross a network in plain text are reported', async () => {
    const transport = new HttpTransport('http://supervisor.invalid/ahp', 'hunter2hunter2')
    const { session } = await openSession([], { ...all, ahpTransport: transport })
    expect(session.initWarning).toBe(
      'ahpTransport: The token goes to supervisor.invalid without encryption: use https.',
    )
  })
})

describe('options of a transport', () => {
  it.each([
    [() => new HttpTransport('http://h', 'a b'), 'the token must be visible ASCII'],
    [() => new HttpTransport('http://h', 'a\r\nX: y'), 'the token must be visible ASCII'],
    [
      () => new HttpTransport('http://h', undefined, { onDisconnect: 'allow' as never }),
      "onDisconnect must be 'deny' or 'continue'",
    ],
    [
      () => new HttpTransport('http://h', undefined, { timeoutMs: 0 }),
      'timeoutMs must be a whole number from 1',
    ],
    [() => new HttpTransport('http://h', undefined, { timeout: 1 } as never), 'there is no option "timeout"'],
    [() => new StdioTransport(''), 'the program must be a text'],
    [() => new StdioTransport('node', 'x' as never), 'the arguments must be a list of strings'],
    [() => new UnixSocketTransport(''), 'the path must be a text'],
  ])('are checked by name (%#)', (make, words) => {
    expect(make).toThrow(words)
    expect(make).toThrow(expect.objectContaining({ code: 'supervision_config', name: 'SupervisionError' }))
  })

  it('must belong to a transport', async () => {
    await expect(
      openSession([], { ahpTransport: { kind: 'http', url: 'http://h' } as never }),
    ).rejects.toThrow('ahpTransport must be an HttpTransport')
  })
})

describe('no process of a supervisor is left', { timeout: limit }, () => {
  it.each(['allow', 'ignores-sigterm', 'daemonises'])('after close and after a loss (%s)', async (how) => {
    const word = newWord()
    const { session } = await openSession([], {
      ...all,
      ahpTransport: badPeer(how, word, { reconnectMs: 1 }),
    })
    expect(await outcome(session)).toContain('went-through')
    const pids = processesWith(word)
    expect(pids).toHaveLength(how === 'daemonises' ? 2 : 1)
    process.kill(pids[0] ?? 0, 'SIGKILL')
    await expect.poll(() => outcome(session)).toContain('went-through')
    // The one that was lost is gone with everything it had started before there is another.
    expect(processesWith(word).filter((pid) => pids.includes(pid))).toEqual([])
    await session.close()
    expect(processesWith(word)).toEqual([])
  })

  it('after the host was killed with SIGKILL', async () => {
    const killed = ['allow', 'daemonises'].map(async (how) => {
      const word = newWord()
      const host = startHost('supervise/host.mjs', { how, word })
      await host.next()
      const others = processesWith(word).filter((pid) => pid !== host.child.pid)
      expect(others).toHaveLength(how === 'daemonises' ? 2 : 1)
      host.child.kill('SIGKILL')
      await eventually(() => processesWith(word).length === 0)
    })
    await Promise.all(killed)
    // One that has nothing else to do ends by itself, and so does its supervisor.
    const word = newWord()
    const host = startHost('supervise/host.mjs', { how: 'allow', word, ends: true })
    await host.next()
    expect(await host.exited).toMatchObject({ code: 0 })
    await eventually(() => processesWith(word).length === 0)
  })
})
