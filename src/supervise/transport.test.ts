import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import {
  envOf,
  HttpTransport,
  isTransport,
  openTokenProblem,
  StdioTransport,
  secretsOf,
  settingsOf,
  tokenOf,
  UnixSocketTransport,
  WebSocketTransport,
} from './transport.js'

const config = expect.objectContaining({ code: 'supervision_config' })

describe('a transport', () => {
  it('keeps its token and variables outside of the object, so that printing it shows neither', () => {
    const http = new HttpTransport('https://guard.test/ahp', 'secret-token')
    const stdio = new StdioTransport('guard', ['-v'], { env: { KEY: 'secret-value' }, cwd: '/srv' })
    for (const transport of [http, stdio]) {
      expect(inspect(transport, { showHidden: true, depth: 9 })).not.toContain('secret')
      expect(JSON.stringify(transport)).not.toContain('secret')
    }
    expect(tokenOf(http)).toBe('secret-token')
    expect(envOf(stdio)).toEqual({ KEY: 'secret-value' })
    expect(secretsOf(http)).toEqual(['secret-token'])
    expect(secretsOf(stdio)).toEqual(['secret-value'])
  })

  it('has no secrets that are too short to redact, and lists the longest first', () => {
    const transport = new StdioTransport('guard', [], {
      env: { A: '1', B: 'abcdef', C: 'abcdefgh', D: 'short' },
    })
    expect(secretsOf(transport)).toEqual(['abcdefgh', 'abcdef'])
  })

  it('does not share its lists with the caller', () => {
    const args = ['-v']
    const env = { KEY: 'value' }
    const transport = new StdioTransport('guard', args, { env })
    args.push('--allow-everything')
    env.KEY = 'other'
    expect(transport.args).toEqual(['-v'])
    expect(envOf(transport)).toEqual({ KEY: 'value' })
  })

  it('refuses by default when the supervisor cannot be asked', () => {
    expect(settingsOf(new UnixSocketTransport('/run/guard'))).toEqual({
      onDisconnect: 'deny',
      timeoutMs: 10_000,
      maxDeferMs: 30_000,
      maxMessageBytes: 1_048_576,
      reconnectMs: 500,
      heartbeatMs: 30_000,
    })
  })

  it('accepts options, and uses the default for null and undefined', () => {
    const options = { timeoutMs: 5, onDisconnect: 'continue', heartbeatMs: undefined, maxDeferMs: null }
    expect(settingsOf(new HttpTransport('http://127.0.0.1:1', null, options as never))).toMatchObject({
      timeoutMs: 5,
      onDisconnect: 'continue',
      heartbeatMs: 30_000,
    })
  })

  it.each([
    [{ timeoutMs: 0 }, 'timeoutMs must be a whole number from 1'],
    [{ timeoutMs: 1.5 }, 'timeoutMs must be a whole number'],
    [{ timeoutMs: '5' }, 'timeoutMs must be a whole number'],
    [{ heartbeatMs: 2 ** 31 }, 'heartbeatMs must be a whole number from 0 to 2147483647'],
    [{ maxMessageBytes: 100 }, 'maxMessageBytes must be a whole number from 1024'],
    [{ onDisconnect: 'allow' }, "onDisconnect must be 'deny' or 'continue'"],
    [{ timeout: 5 }, 'there is no option "timeout"; there are onDisconnect, timeoutMs'],
    [{ __proto__: null, constructor: 1 }, 'there is no option "constructor"'],
    ['quickly', 'the options must be an object'],
  ])('rejects the options %j', (options, words) => {
    expect(() => new UnixSocketTransport('/run/guard', options as never)).toThrow(words)
    expect(() => new UnixSocketTransport('/run/guard', options as never)).toThrow(config)
  })

  it.each([
    ['another protocol', 'ftp://guard.test'],
    ['a WebSocket address', 'ws://guard.test'],
    ['no address', 'guard'],
    ['nothing', undefined],
    ['a password', 'https://me:hunter2@guard.test'],
    ['a user name', 'https://hunter2@guard.test'],
    ['a key in its query', 'https://guard.test/?api_key=hunter2'],
    ['a token in its query', 'https://guard.test/?x=1&accessToken=hunter2'],
    ['a signature in its query', 'https://guard.test/?sig=hunter2'],
  ])('rejects %s as the address over HTTP, and does not repeat it', (_, url) => {
    let message = ''
    try {
      new HttpTransport(url as never)
    } catch (error) {
      expect(error).toEqual(config)
      message = String(error)
    }
    expect(message).toContain('HttpTransport: the url')
    expect(message).not.toContain('hunter2')
  })

  it('accepts an address with a harmless query, and drops its fragment', () => {
    expect(new WebSocketTransport('wss://guard.test/ahp?team=keyboards#x').url).toBe(
      'wss://guard.test/ahp?team=keyboards',
    )
  })

  it.each([['two words'], ['line\nbreak'], ['schlüssel'], [5]])('rejects the token %j', (token) => {
    expect(() => new HttpTransport('https://guard.test', token as never)).toThrow(
      'the token must be visible ASCII characters',
    )
  })

  it('has no token when it is empty', () => {
    expect(tokenOf(new HttpTransport('https://guard.test', ''))).toBeUndefined()
  })

  it.each([
    [['', []], 'the program must be a text'],
    [['a\0b', []], 'the program must be a text'],
    [['guard', 'x'], 'the arguments must be a list of strings'],
    [['guard', ['a\0b']], 'the arguments must be a list of strings'],
    [['guard', [], { env: { A: 1 } }], 'env must be an object of strings'],
    [['guard', [], { cwd: '' }], 'cwd must be a directory'],
    [['guard', [], { nice: 5 }], 'there is no option "nice"'],
  ])('rejects the program %j', (given, words) => {
    const [program, args, options] = given as [string, string[], object]
    expect(() => new StdioTransport(program, args, options)).toThrow(words)
  })

  it('is recognised only when it was created by one of the classes', () => {
    expect(isTransport(new UnixSocketTransport('/run/guard'))).toBe(true)
    expect(isTransport({ kind: 'unix_socket', path: '/run/guard' })).toBe(false)
    expect(isTransport(Object.create(UnixSocketTransport.prototype))).toBe(false)
    expect(isTransport(null)).toBe(false)
  })
})

describe('openTokenProblem', () => {
  it.each([
    ['http://guard.test/', 'https'],
    ['http://10.0.0.1:80/', 'https'],
    ['http://127.0.0.1.guard.test/', 'https'],
  ])('warns about a token that is sent to %s without encryption', (url, better) => {
    expect(openTokenProblem(new HttpTransport(url, 'token'))).toContain(`use ${better}.`)
  })

  it('warns about a WebSocket without encryption too', () => {
    expect(openTokenProblem(new WebSocketTransport('ws://guard.test', 'token'))).toContain('use wss.')
  })

  it('returns nothing without a token, with encryption, and on this machine', () => {
    const fine = [
      new HttpTransport('http://guard.test'),
      new HttpTransport('https://guard.test', 'token'),
      new HttpTransport('http://localhost:8080', 'token'),
      new HttpTransport('http://guard.localhost', 'token'),
      new HttpTransport('http://127.8.0.1', 'token'),
      new HttpTransport('http://[::1]:80', 'token'),
      new UnixSocketTransport('/run/guard'),
    ]
    expect(fine.flatMap((transport) => openTokenProblem(transport) ?? [])).toEqual([])
  })
})
