import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runNode } from '../../house/run.js'
import { commandLines } from '../../support/command-lines.js'
import { openPlace } from '../drive.js'
import { hasScript, lineOf, main, open, openLine } from './real-terminal.js'
import { keys } from './virtual-terminal.js'

describe.runIf(hasScript)('in a real terminal', () => {
  it('asks before it edits, runs, and restores the terminal', async () => {
    const place = await openPlace({ 'a.txt': 'nine knots\n' })
    const terminal = open(place, ['--model', 'offline'], 60)
    await terminal.sees('offline/rules')
    terminal.press(`Replace "nine" by "十二" in a.txt${keys.enter}`)
    await terminal.sees('no, with a')
    expect(terminal.screen()).toContain('+十二 knots')
    terminal.press('y')
    await terminal.sees('3 rounds')
    expect(readFileSync(join(place.root, 'a.txt'), 'utf8')).toBe('十二 knots\n')
    terminal.press(keys.ctrlD)
    await terminal.sees('left: 0')
    expect(terminal.screen()).toMatch(/\nicanon/)
    await terminal.ended
  })

  it('is cancelled by Ctrl-C and ended by a second one, and leaves no process running', async () => {
    const place = await openPlace()
    const terminal = open(place, ['--model', 'offline', '--allow', 'bash(sleep *)'])
    await terminal.sees('offline/rules')
    terminal.press(`run \`sleep 77\`${keys.enter}`)
    await terminal.sees('bash sleep 77')
    terminal.press(keys.ctrlC)
    await terminal.sees('cancelled')
    terminal.press(keys.ctrlC)
    await terminal.sees('left: 130')
    expect(terminal.screen()).toMatch(/\nicanon/)
    await terminal.ended
  })

  it('shows the tour', async () => {
    const place = await openPlace()
    const terminal = open(place, ['tour'], 100, 40)
    await terminal.sees('1. Ask a question')
    for (const step of ['2. ', '3. ']) {
      terminal.press(keys.enter)
      await terminal.sees(step)
    }
    terminal.press(keys.enter)
    await terminal.sees('no, with a')
    terminal.press('y')
    await terminal.sees('4. Run the check again')
    terminal.press(keys.enter)
    await terminal.sees('engine: ok')
    terminal.press(keys.ctrlD)
    await terminal.sees('left: 0')
    await terminal.ended
  })
})

describe.runIf(hasScript)('a closed terminal', () => {
  it.each([
    { how: 'an interactive session', argv: [], isPrompted: true },
    { how: 'a run', argv: ['run', '--no-stdin'], isPrompted: false },
  ])('ends $how: the run is cancelled and recorded, and nothing is left running', async (each) => {
    const place = await openPlace()
    const { argv, isPrompted } = each
    const sleep = `sleep ${isPrompted ? 7 : 8}8.${process.pid}`
    const id = `closed-${process.pid}-${argv.length}`
    const prompt = `run \`${sleep}\``
    const flags = ['--model', 'offline', '--session', id, '--allow', 'bash(sleep *)']
    const terminal = open(place, [...argv, ...flags, ...(isPrompted ? [] : [prompt])])
    if (isPrompted) {
      await terminal.sees('offline/rules')
      terminal.press(prompt + keys.enter)
    }
    await until(() => isRunning((line) => line === sleep))
    terminal.close()
    await until(() => !isRunning((line) => line === sleep || (line.includes(id) && line.includes(main))))
    const { stdout } = await place.run(['sessions', 'show', id])
    expect(stdout).toMatch(/^run .* cancelled {2}run `sleep/m)
    expect(stdout).toContain('the run was aborted')
  })
})

describe.runIf(hasScript)('the exit code of a command whose terminal is closed', () => {
  it.each([
    { how: 'waits for a prompt', argv: [], press: '', sees: 'offline/rules' },
    { how: 'asks a question', argv: [], press: 'run `touch x`\r', sees: 'no, with a' },
    { how: 'shows a pager', argv: [], press: 'run `touch x`\r', sees: 'no, with a', last: 'v' },
    { how: 'asks for trust', argv: ['trust'], press: '', sees: '[y/N]' },
  ])('is not a crash when it $how', async ({ argv, press, sees, last = '' }) => {
    const place = await openPlace({ 'capstan.acl': 'max_tool_rounds = 3\n' })
    const words = argv.length > 0 ? argv : ['--model', 'offline']
    const file = join(place.root, 'code')
    // The shell survives the terminal, and writes the exit code.
    const terminal = openLine(place, `trap '' HUP; ${lineOf(words)}; echo "code $?" > '${file}'`)
    await terminal.sees(argv.length > 0 ? sees : 'offline/rules')
    terminal.press(press)
    await terminal.sees(sees)
    terminal.press(last)
    if (last !== '') await terminal.sees('q: close')
    terminal.close()
    await until(() => existsSync(file) && /code \d+\n/.test(readFileSync(file, 'utf8')))
    expect(readFileSync(file, 'utf8')).toMatch(/^code (0|3|130|143)$/m)
  })
})

describe.runIf(hasScript)('a job of a shell', () => {
  it('is suspended by Ctrl-Z, and is unchanged when it continues, in a terminal of another size', async () => {
    const place = await openPlace()
    const terminal = openLine(place, "PS1='$ ' bash --norc --noprofile -i", 100)
    await terminal.sees('$')
    terminal.press(`${lineOf(['--model', 'offline'])}\r`)
    await terminal.sees('offline/rules · default')
    terminal.press('read ')
    await terminal.sees('› read')
    terminal.press(keys.ctrlZ)
    await terminal.sees('Stopped')
    expect(terminal.screen().trimEnd()).not.toMatch(/offline\/rules · default\s*$/)
    terminal.press(`stty -a | grep -o -e '-*icanon'; stty cols 50; echo back-$((20+3))\r`)
    await terminal.sees('back-23')
    expect(terminal.screen()).toMatch(/^icanon$/m)
    terminal.press('fg\r')
    await terminal.sees(/^› read/)
    terminal.press('x'.repeat(70))
    await terminal.sees(/^ {2}x+$/)
    for (const line of terminal.screen().match(/^(?:› read| ) +x+$/gm) ?? [])
      expect(line.length).toBeLessThan(50)
    terminal.press(`${keys.ctrlC}${keys.ctrlD}`)
    await terminal.sees(/^\$$/)
    terminal.press('echo left-$((4+4)); exit\r')
    await terminal.sees('left-8')
    await terminal.ended
  })

  it('clears and redraws the screen with Ctrl-L, also during a run', async () => {
    const place = await openPlace({ 'a.txt': 'nine knots\n' })
    const terminal = open(place, ['--model', 'offline', '--allow', 'bash(sleep *)'])
    await terminal.sees('offline/rules')
    terminal.press(`read a.txt${keys.enter}`)
    await terminal.sees('2 rounds')
    terminal.press(`hal${keys.ctrlL}f`)
    await terminal.sees('› half')
    expect(terminal.visible()).toMatch(/^› half\noffline\/rules · default/)
    terminal.press(`${keys.ctrlC}run \`sleep 76\`${keys.enter}`)
    await terminal.sees('bash sleep 76')
    terminal.press(keys.ctrlL)
    await terminal.sees(/^. bash sleep 76 \d/, 2)
    expect(terminal.visible()).toMatch(/^\n?. bash sleep 76 [\d.]+ s\n\n›/)
    terminal.press(keys.ctrlC)
    await terminal.sees('cancelled')
    terminal.press(keys.ctrlD)
    await terminal.sees('left: 0')
    await terminal.ended
  })
})

describe.runIf(hasScript)('other commands in a real terminal', () => {
  it.each([
    { press: 'y\r', shows: 'is used until it changes', code: 0 },
    { press: '\r', shows: 'Not confirmed: the file is ignored.', code: 3 },
    { press: 'no\r', shows: 'Not confirmed: the file is ignored.', code: 3 },
    { press: keys.ctrlD, shows: 'Not confirmed: the file is ignored.', code: 3 },
    { press: keys.ctrlC, shows: '', code: 130 },
  ])('asks whether a configuration is trusted: $code', async ({ press, shows, code }) => {
    const place = await openPlace({ 'capstan.acl': '# \u001b[2J\nmax_tool_rounds = 3\n' })
    const terminal = open(place, ['trust'], 160)
    await terminal.sees('Use this configuration from now on? [y/N]')
    expect(terminal.screen()).toContain('# \\x1b[2J\nmax_tool_rounds = 3')
    terminal.press(press)
    await terminal.sees(`left: ${code}`)
    expect(terminal.screen()).toContain(shows)
    expect(terminal.screen()).toMatch(/\nicanon/)
    await terminal.ended
    expect((await place.run(['trust'])).stdout.includes('is already confirmed')).toBe(code === 0)
  })

  it('completes the run that was interrupted', async () => {
    const place = await openPlace({ 'a.txt': 'nine knots\n' })
    const { server, flags } = await place.model((_, n) =>
      n === 0
        ? { toolCalls: [{ name: 'read', args: { file_path: 'a.txt' } }] }
        : n === 1
          ? { stall: true }
          : 'It says **nine knots**.',
    )
    const cut = spawn(process.execPath, [main, 'run', ...flags, '--no-stdin', '--session', 'cut', 'What?'], {
      cwd: place.root,
      env: place.env,
    })
    await server.request(1)
    cut.kill('SIGKILL')
    await once(cut, 'close')
    expect((await place.run(['sessions'])).stdout).toContain('(interrupted)')
    const chat = open(place, ['--session', 'cut', ...flags])
    await chat.sees('The last run was interrupted: "What?"')
    await chat.sees('capstan sessions resume cut --run')
    chat.press(keys.ctrlD)
    await chat.sees('left: 0')
    await chat.ended
    const terminal = open(place, ['sessions', 'resume', 'cut', '--run', ...flags])
    await terminal.sees('left: 0')
    expect(terminal.screen()).toContain('It says **nine knots**.')
    await terminal.ended
    expect(JSON.stringify((await server.request(2)).body)).toContain('nine knots')
    const again = open(place, ['sessions', 'resume', 'cut', '--run', ...flags])
    await again.sees('left: 1')
    expect(again.screen()).toContain('No run of this session was interrupted.')
    await again.ended
  })
})

function isRunning(fits: (line: string) => boolean): boolean {
  return commandLines().some(fits)
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 20))
}

describe('the tour without a terminal', () => {
  it('runs all steps by itself', async () => {
    const { code, stdout, stderr } = await runNode([main, 'tour'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    for (const seen of [
      '+export const speed = 12',
      'engine: ok',
      'is denied by the rule read(**/.env*)',
      'restored: src/engine.js',
    ])
      expect(stdout).toContain(seen)
    expect(stdout).not.toContain('do-not-show')
    expect(stdout).not.toContain('\u001b')
  })
})
