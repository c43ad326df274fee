import { describe, expect, it } from 'vitest'
import { readServer } from './server-options.js'

const config = expect.objectContaining({ code: 'mcp_config' })

describe('readServer', () => {
  it('reads a program with all its options, and sets defaults for the rest', () => {
    expect(
      readServer({
        name: 'my files',
        command: 'mcp-files',
        args: ['--root', '.'],
        cwd: 'sub',
        env: { TOKEN: 'x' },
        allowHosts: ['a.test'],
        writable: ['.'],
        readOnly: ['/opt'],
      }),
    ).toEqual({
      name: 'my files',
      label: 'my_files',
      enabled: true,
      timeoutMs: 60_000,
      startTimeoutMs: 30_000,
      reach: {
        by: 'stdio',
        argv: ['mcp-files', '--root', '.'],
        sandbox: 'workspace',
        cwd: 'sub',
        env: { TOKEN: 'x' },
        allowHosts: ['a.test'],
        writable: ['.'],
        readOnly: ['/opt'],
      },
    })
  })

  it('reads an address, with a fallback to event streams unless only these are configured', () => {
    const read = (transport?: string) => readServer({ name: 'a', url: 'https://a.test/mcp', transport }).reach
    expect(read()).toEqual({
      by: 'http',
      url: new URL('https://a.test/mcp'),
      headers: {},
      sse: 'fallback',
    })
    for (const transport of ['http', 'streamable-http', 'streamable_http', 'streamableHttp'])
      expect(read(transport)).toMatchObject({ sse: 'fallback' })
    expect(read('sse')).toMatchObject({ sse: 'only' })
  })

  it('reads a transport with its own settings', () => {
    const transport = { type: 'streamable-http', url: 'https://a.test', headers: { 'x-team': 'deck' } }
    expect(readServer({ name: 'a', transport }).reach).toMatchObject({
      by: 'http',
      headers: { 'x-team': 'deck' },
    })
    expect(readServer({ name: 'a', transport: { type: 'stdio', command: 'x' } }).reach).toMatchObject({
      by: 'stdio',
      argv: ['x'],
    })
  })

  it('uses the program when both a program and an address are given', () => {
    expect(readServer({ name: 'a', command: 'x', url: 'https://a.test' }).reach.by).toBe('stdio')
  })

  it('is disabled only by false', () => {
    expect(readServer({ name: 'a', command: 'x', enabled: false }).enabled).toBe(false)
    expect(readServer({ name: 'a', command: 'x', enabled: null }).enabled).toBe(true)
    expect(() => readServer({ name: 'a', command: 'x', enabled: 0 })).toThrow('must be true or false')
  })

  it('prefers a limit in milliseconds to one in seconds', () => {
    const base = { name: 'a', command: 'x' }
    expect(readServer({ ...base, toolTimeoutSecs: 5 }).timeoutMs).toBe(5_000)
    expect(readServer({ ...base, toolTimeoutSecs: 5, timeoutMs: 7 }).timeoutMs).toBe(7)
    expect(readServer({ ...base, startTimeoutMs: 9 }).startTimeoutMs).toBe(9)
  })

  it.each([
    ['no object', 'mcp-files', 'described by an object'],
    ['no name', { command: 'x' }, 'needs a name'],
    ['a name without a letter', { name: '***', command: 'x' }, 'needs a name'],
    ['a name without an end', { name: 'a'.repeat(1_001), command: 'x' }, 'needs a name'],
    ['a name that is not text', { name: 5, command: 'x' }, "'name' of an MCP server must be a string"],
    ['an option that does not exist', { name: 'a', comand: 'x' }, 'no option "comand"'],
    ['neither program nor address', { name: 'a' }, "'command' is required"],
    ['an empty program', { name: 'a', command: '' }, "'command' is required"],
    ['a program with a NUL', { name: 'a', command: 'x\0y' }, 'NUL'],
    ['arguments that are a text', { name: 'a', command: 'x', args: '-v' }, 'a list of strings'],
    ['variables that are not texts', { name: 'a', command: 'x', env: { A: 1 } }, 'an object of strings'],
    ['a limit of nothing', { name: 'a', command: 'x', timeoutMs: 0 }, 'a number from 1'],
    ['a limit of days', { name: 'a', command: 'x', timeoutMs: 1e9 }, 'a number from 1'],
    ['no address', { name: 'a', transport: 'http' }, "'url' is required"],
    [
      'an unknown transport',
      { name: 'a', transport: 'carrier-pigeon' },
      "Unknown transport 'carrier-pigeon'",
    ],
    [
      'a transport of the prototype',
      { name: 'a', transport: 'constructor' },
      "Unknown transport 'constructor'",
    ],
    ['a transport that is a number', { name: 'a', transport: 7 }, "Unknown transport 'number'"],
  ])('rejects %s', (_, given, words) => {
    expect(() => readServer(given)).toThrow(words)
    expect(() => readServer(given)).toThrow(config)
  })

  it.each([['hunter2'], ['file:///etc/hunter2'], ['https://hunter2@a.test'], ['https://me:hunter2@a.test']])(
    'rejects the address %s, and does not repeat it',
    (url) => {
      let message = ''
      try {
        readServer({ name: 'a', url })
      } catch (error) {
        message = String(error)
      }
      expect(message).toContain("'url'")
      expect(message).not.toContain('hunter2')
    },
  )
})
