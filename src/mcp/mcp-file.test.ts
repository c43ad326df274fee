import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../test/support/temporary-directory.js'
import { confirmMcpFile, type McpFileOptions, readMcpFile } from './mcp-file.js'

let base: string
let options: McpFileOptions
beforeEach(async () => {
  base = temporaryDirectory()
  options = { root: join(base, 'work'), userDir: join(base, 'user'), env: { HOST: 'a.test', EMPTY: '' } }
  await mkdir(options.root)
})

const put = (text: string | object, root = options.root): Promise<void> =>
  writeFile(join(root, '.mcp.json'), typeof text === 'string' ? text : JSON.stringify({ mcpServers: text }))

/** A variable as the file names it. */
const variable = (inner: string): string => `\${${inner}}`

describe('the .mcp.json of a workspace', () => {
  it('can be missing', async () => {
    expect(await readMcpFile(options)).toBeUndefined()
  })

  it('is shown with what it would start or connect to, and is not confirmed by default', async () => {
    await put({
      files: { command: 'npx', args: ['-y', 'server\u0007'] },
      web: { type: 'http', url: 'https://a.test/mcp' },
    })
    expect(await readMcpFile(options)).toMatchObject({
      confirmed: false,
      confirmation: expect.stringMatching(/^[0-9a-f]{64}$/),
      problems: [],
      servers: [
        { name: 'files', runs: expect.not.stringContaining('\u0007') },
        { name: 'web', runs: 'https://a.test/mcp' },
      ],
    })
  })

  it('is confirmed for this text in this directory, until either changes', async () => {
    await put({ a: { command: 'x' } })
    const { confirmation = '' } = (await readMcpFile(options)) ?? {}
    await confirmMcpFile(options, confirmation)
    expect(await readMcpFile(options)).toMatchObject({ confirmed: true })

    const elsewhere = { ...options, root: join(base, 'elsewhere') }
    await mkdir(elsewhere.root)
    await put({ a: { command: 'x' } }, elsewhere.root)
    expect(await readMcpFile(elsewhere)).toMatchObject({ confirmed: false })

    await put({ a: { command: 'y' } })
    expect(await readMcpFile(options)).toMatchObject({ confirmed: false })
    await expect(confirmMcpFile(options, confirmation)).rejects.toMatchObject({ code: 'mcp_config' })
    await rm(join(options.root, '.mcp.json'))
    await expect(confirmMcpFile(options, confirmation)).rejects.toThrow('it was removed, or has changed')
  })

  it('can only describe a server: it cannot set trust or approvals', async () => {
    await put({ a: { command: 'x', alwaysAllow: ['*'], trusted: true, enabled: true, timeoutMs: 1 } })
    const [spec] = (await readMcpFile(options))?.specs ?? []
    expect(spec?.reach).toEqual({ by: 'stdio', argv: ['x'], sandbox: 'workspace', fromWorkspace: true })
    expect(spec?.timeoutMs).toBe(60_000)
  })

  it('replaces variables that the host allows once, with their defaults', async () => {
    options = { ...options, env: { HOST: variable('SECRET'), SECRET: 'hunter2' } }
    await put({
      a: {
        command: 'x',
        args: [variable('HOST'), variable('PORT:-80'), variable('E:-'), '$HOME'],
        env: { H: variable('HOST') },
      },
    })
    const [spec] = (await readMcpFile(options))?.specs ?? []
    expect(spec?.reach).toMatchObject({
      argv: ['x', variable('SECRET'), '80', '', '$HOME'],
      env: { H: variable('SECRET') },
    })
  })

  it.each([
    [variable('HOME')],
    [variable('__proto__')],
    [variable('constructor')],
    [variable('A B')],
    [variable('')],
  ])('skips a server that names %s, which the host does not allow', async (word) => {
    await put({ bad: { command: word }, good: { command: 'x' } })
    const file = await readMcpFile(options)
    expect(file?.servers.map(({ name }) => name)).toEqual(['good'])
    expect(file?.problems).toEqual([expect.stringContaining('the server "bad" is left out')])
  })

  it('skips invalid servers, and two with the same name', async () => {
    await put({ a: 'x', 'b c': { command: 'x' }, b_c: { command: 'y' }, d: { args: [] } })
    const file = await readMcpFile(options)
    expect(file?.servers).toMatchObject([{ name: 'b c', by: 'stdio', runs: 'x', confined: true }])
    expect(file?.problems).toEqual([
      expect.stringContaining('it is not an object'),
      expect.stringContaining('two servers have that name'),
      expect.stringContaining("'command' is required"),
    ])
  })

  it.each([
    ['is not JSON', '{ "mcpServers": { '],
    ['has comments', '{ /* x */ "mcpServers": {} }'],
    ['has no servers', '{ "servers": {} }'],
    ['has a list of servers', '{ "mcpServers": [] }'],
    ['has one name twice', '{ "mcpServers": { "a": { "command": "x" }, "a": { "command": "y" } } }'],
    ['has one option twice', '{ "mcpServers": { "a": { "command": "x", "command": "y" } } }'],
    ['has a name of the prototype', '{ "mcpServers": { "a": { "command": "x", "__proto__": {} } } }'],
  ])('is rejected when it %s', async (_, text) => {
    await put(text)
    await expect(readMcpFile(options)).rejects.toMatchObject({ code: 'mcp_config' })
  })

  it('is rejected when it is a link, or too long', async () => {
    await writeFile(join(base, 'real.json'), '{ "mcpServers": {} }')
    await symlink(join(base, 'real.json'), join(options.root, '.mcp.json'))
    await expect(readMcpFile(options)).rejects.toThrow('symbolic link')
    await rm(join(options.root, '.mcp.json'))
    await put(' '.repeat(300_000))
    await expect(readMcpFile(options)).rejects.toThrow('longer than')
  })
})
