import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openPlace } from './drive.js'

const limit = 120_000
const broken = `mcp_servers "broken" { command = "${process.execPath}" args = ["-e", "console.error('no token'); process.exit(4)"] }`
const report =
  /mcp server broken is unavailable: it ended with exit code 4; it said: no token; its command is: \S*node -e console/

describe('an MCP server that does not start', { timeout: limit }, () => {
  it('is reported by capstan run with its command, exit code and last output, in text and JSON', async () => {
    const place = await openPlace()
    const { flags } = await place.model(() => 'done')
    const config = String(flags[1])
    writeFileSync(config, `${readFileSync(config, 'utf8')}${broken}\n`)
    const plain = await place.run(['run', ...flags, 'go'])
    expect(plain).toMatchObject({ code: 0, stdout: 'done\n' })
    expect(plain.stderr).toMatch(report)
    const { stdout } = await place.run(['run', ...flags, '--output-format', 'json', 'go'])
    const { warnings } = JSON.parse(stdout) as { warnings: string[] }
    expect(warnings.join('\n')).toMatch(report)
  })
})

describe('capstan doctor', { timeout: limit }, () => {
  it('lists the MCP servers, and which of them are confined', async () => {
    const place = await openPlace({ '.mcp.json': '{"mcpServers":{"theirs":{"command":"node"}}}' })
    writeFileSync(
      join(place.home, 'config.acl'),
      `mcp_servers "open" { command = "${process.execPath}" }
       mcp_servers "held" { command = "${process.execPath}" sandbox = "workspace" allow_hosts = ["a.test"] }
       mcp_servers "far" { url = "https://far.test/mcp?key=canary-key" }
       mcp_servers "gone" { command = "no-such-program-here" }
       mcp_servers "off" { command = "x" enabled = false }`,
    )
    const found = async () =>
      (await place.run(['doctor', '--json'])).stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { area: string; state: string; message: string })
        .filter(({ area }) => area === 'mcp')
        .map(({ state, message }) => `${state} ${message}`)
    const servers = await found()
    expect(servers).toEqual([
      expect.stringMatching(/^ok open: .*; not confined: it can use the network and your home directory$/),
      expect.stringMatching(
        /held: .*; confined to the workspace: the sandbox denies it hosts other than a\.test/,
      ),
      'ok far: reached at https://far.test',
      expect.stringMatching(/^fail gone: no-such-program-here; .*the command is not on PATH$/),
      'ok off: disabled',
      expect.stringMatching(/^warn .*\.mcp\.json came with this directory and is not confirmed/),
    ])
    expect(servers.join('\n')).not.toContain('canary-key')
    await place.run(['rules', 'confirm', 'mcp', '--yes'])
    expect((await found()).at(-1)).toMatch(/theirs: node; confined to the workspace/)
  })
})

describe('the question whether a file that came with a directory is used', { timeout: limit }, () => {
  it('shows whether each server of .mcp.json is confined, and its environment variables', async () => {
    const servers = {
      held: { command: 'node', args: ['a.js'], env: { NODE_OPTIONS: '--require ./b.js' } },
      open: { command: 'node', sandbox: 'off' },
      far: { url: 'https://far.test/mcp' },
    }
    const place = await openPlace({ '.mcp.json': JSON.stringify({ mcpServers: servers }) })
    const { stdout } = await place.run(['rules', 'confirm', 'mcp', '--yes'])
    expect(stdout).toContain(
      [
        '  held: node a.js',
        '    with NODE_OPTIONS=--require ./b.js',
        '    confined: the sandbox denies it the network, the home directory and temporary files, and all writing',
        '  open: node',
        '    not confined: it can use the network and your home directory',
        '  far: https://far.test/mcp',
      ].join('\n'),
    )
  })

  it('shows whether each program of capstan.acl is confined', async () => {
    const place = await openPlace({
      'capstan.acl':
        'mcp_servers "a" { command = "node" args = ["a.js"] }\nmcp_servers "b" { command = "node" writable = ["."] }\n',
    })
    const { stdout } = await place.run(['trust', '--yes'])
    expect(stdout).toContain(
      '  a: node a.js\n    not confined: it can use the network and your home directory\n',
    )
    expect(stdout).toMatch(/ {2}b: node\n {4}confined: the sandbox denies it the network/)
  })
})
