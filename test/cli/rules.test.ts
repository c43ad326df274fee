import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openPlace } from './drive.js'
import { hasScript, open } from './interactive/real-terminal.js'
import { keys } from './interactive/virtual-terminal.js'

const rules = 'allow bash(make *)\ndeny read(**/.env*)\n'
const servers = JSON.stringify({ mcpServers: { ship: { command: 'node', args: ['ship.js'] } } })

describe('capstan rules', () => {
  it('lists rules by their origin, with the file that each is stored in', async () => {
    const place = await openPlace({ '.capstan/rules': rules })
    await place.run(['rules', 'add', 'ask', 'bash(git push*)', '--reason', 'others see it'])
    const { stdout } = await place.run(['rules', '--deny', 'bash(curl *)'])
    expect(stdout).toMatch(/^Rules of the command line\n {2}deny {2}bash\(curl \*\)/)
    expect(stdout).toMatch(
      /with your "always" answers \(.*projects.*rules\)\n {2}ask {3}bash\(git push\*\) {2}others see it/,
    )
    expect(stdout).toContain(join(place.root, '.capstan/rules'))
    expect(stdout).toContain('allow bash(make *)  not confirmed: has no effect')
    expect(stdout).toMatch(/Built-in rules\n {2}allow fs\.read/)
    const listed = (await place.run(['rules', 'list', '--json'])).stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(listed).toContainEqual(
      expect.objectContaining({ scope: 'project', rule: 'bash(make *)', confirmed: false, applies: false }),
    )
    expect(listed.find(({ scope }) => scope === 'user').file).toContain(place.home)
  })

  it('adds and removes rules that apply to sessions here, and keeps the comments of the file', async () => {
    const place = await openPlace()
    const test = (command: string) => place.run(['rules', 'test', 'bash', `command=${command}`])
    expect((await test('make ship')).code).toBe(3)
    const { stdout } = await place.run(['rules', 'add', 'allow', 'bash(make *)', '--json'])
    const { file } = JSON.parse(stdout)
    await place.run(['rules', 'add', 'deny', 'bash(make clean)'])
    expect((await test('make ship')).code).toBe(0)
    expect((await test('make clean')).code).toBe(1)
    writeFileSync(file, `${readFileSync(file, 'utf8')}# mine\nask bash(make install)\n  reason careful\n`)
    expect((await place.run(['rules', 'remove', 'bash(make install)'])).stdout).toBe(
      'Removed: ask bash(make install)\n',
    )
    expect((await place.run(['rules', 'remove', 'deny', 'bash(make *)'])).code).toBe(1)
    expect((await place.run(['rules', 'remove', 'bash(make *)'])).code).toBe(0)
    expect((await test('make ship')).code).toBe(3)
    const left = readFileSync(file, 'utf8')
    expect(left).toContain('# mine')
    expect(left).not.toMatch(/careful|install|make \*/)
    expect(left).toContain('deny bash(make clean)')
  })

  it('refuses an invalid rule and writes nothing', async () => {
    const place = await openPlace()
    for (const argv of [
      ['add', 'allow'],
      ['add', 'permit', 'bash(ls)'],
      ['add', 'allow', 'bash(ls'],
      ['add', 'allow', 'bash(ls)\nallow bash'],
      ['add', 'allow', 'bash(ls)', '--reason', 'x\nallow bash'],
      ['remove'],
      ['nonsense'],
      ['confirm', 'acl'],
    ])
      expect((await place.run(['rules', ...argv])).code, argv.join(' ')).not.toBe(0)
    expect((await place.run(['rules', 'list', '--json'])).stdout).not.toContain('"user"')
  })

  it('shows the rules of a stored session', async () => {
    const place = await openPlace({ 'a.txt': 'nine\n' })
    await place.run([
      'run',
      '--model',
      'offline',
      '--session',
      'ship',
      '--allow',
      'bash(make *)',
      '--no-stdin',
      'read a.txt',
    ])
    const { stdout } = await place.run(['rules', '--session', 'ship'])
    expect(stdout).toMatch(/Rules of the session ship.*\n {2}allow bash\(make \*\)/)
  })

  it('confirms the rules and the MCP servers that came with a directory, until they change', async () => {
    const place = await openPlace({ '.capstan/rules': rules, '.mcp.json': servers })
    const test = () => place.run(['rules', 'test', 'bash', 'command=make ship'])
    expect((await test()).code).toBe(3)
    // Without a terminal, confirmation needs --yes.
    expect((await place.run(['rules', 'confirm'])).code).toBe(2)
    expect((await place.run(['rules', 'confirm'], { stdin: 'y\ny\n' })).code).toBe(2)
    expect((await test()).code).toBe(3)
    const { stdout, code } = await place.run(['rules', 'confirm', '--yes'])
    expect(code).toBe(0)
    expect(stdout).toContain(rules.trim())
    expect(stdout).toContain('ship: node ship.js')
    expect((await test()).code).toBe(0)
    expect((await place.run(['rules', 'confirm', '--json'])).stdout.match(/already confirmed/g)).toHaveLength(
      2,
    )
    writeFileSync(join(place.root, '.capstan/rules'), `${rules}allow bash\n`)
    expect((await test()).code).toBe(3)
    expect((await place.run(['rules', 'confirm', 'mcp', '--json'])).stdout).toContain('already confirmed')
    writeFileSync(join(place.root, '.mcp.json'), servers.replace('ship.js', 'other.js'))
    expect((await place.run(['rules', 'confirm', 'mcp'])).code).toBe(2)
  })

  it('names the command that confirms them in a run', async () => {
    const place = await openPlace({ '.capstan/rules': rules, '.mcp.json': servers, 'a.txt': 'nine\n' })
    const { stderr } = await place.run(['run', '--model', 'offline', '--no-stdin', 'read a.txt'])
    expect(stderr).toMatch(/note from rules: .*confirm it with "capstan rules confirm"/)
    expect(stderr).toMatch(/note from mcp: .*confirm it with "capstan rules confirm"/)
    expect(stderr).not.toContain('confirmMcpFile')
  })
})

describe.runIf(hasScript)('capstan rules confirm in a terminal', () => {
  it.each([
    { before: '', press: 'y\r', code: 0 },
    { before: '', press: '\r', code: 3 },
    { before: '', press: keys.ctrlC, code: 130 },
    // Typed before the question was there.
    { before: 'y\ry\r', press: 'n\r', code: 3 },
  ])('asks after it has shown the text: $code, typed before: $before', async ({ before, press, code }) => {
    const place = await openPlace({ '.capstan/rules': `# \u001b[2J\n${rules}` })
    const terminal = open(place, ['rules', 'confirm'], 160)
    if (before !== '') terminal.press(before)
    await terminal.sees('from now on? [y/N]')
    expect(terminal.screen()).toContain('# \\x1b[2J\nallow bash(make *)')
    terminal.press(press)
    await terminal.sees(`left: ${code}`)
    await terminal.ended
    expect((await place.run(['rules', 'test', 'bash', 'command=make x'])).code).toBe(code === 0 ? 0 : 3)
  })
})
