import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root as packageRoot, runNode } from '../../house/run.js'
import { openPlace, type Place } from '../drive.js'
import { keys, VirtualTerminal } from './virtual-terminal.js'

const main = join(packageRoot, 'dist/cli/main.js')

/** `script` of util-linux gives a program a real terminal. Elsewhere the tests beside this one stand for it, with a virtual one. */
const hasScript =
  process.platform === 'linux' &&
  /util-linux/.test(spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '')
if (!hasScript) console.warn('There is no "script" of util-linux here: nothing is tested in a real terminal.')

type Terminal = {
  press(text: string): void
  sees(text: string): Promise<void>
  screen(): string
  readonly ended: Promise<number | null>
}

/** The built command in a real terminal of a size. */
function open(place: Place, argv: readonly string[], columns = 80, rows = 30): Terminal {
  const quoted = [process.execPath, main, ...argv]
    .map((word) => `'${word.replaceAll("'", `'\\''`)}'`)
    .join(' ')
  const line = `stty cols ${columns} rows ${rows}; ${quoted}; code=$?; stty -a | tr ' ' '\\n' | grep -x -e icanon -e -icanon -e 'icanon;' ; echo "left: $code"`
  const child = spawn('script', ['-qec', line, '/dev/null'], {
    cwd: place.root,
    env: { ...place.env, TERM: 'xterm-256color', SHELL: '/bin/sh' },
  })
  let terminal = new VirtualTerminal(columns)
  let output = ''
  const watchers = new Set<() => void>()
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    output += piece
    terminal = new VirtualTerminal(columns)
    terminal.take(output)
    for (const watcher of watchers) watcher()
  })
  return {
    press: (text) => void child.stdin.write(text),
    screen: () => terminal.text(),
    sees: (text) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!terminal.text().includes(text)) return
          clearTimeout(timer)
          watchers.delete(look)
          resolve()
        }
        const timer = setTimeout(() => reject(new Error(`never seen: ${text}\n${terminal.text()}`)), 30_000)
        watchers.add(look)
        look()
      }),
    ended: new Promise((resolve) => child.once('close', resolve)),
  }
}

describe.runIf(hasScript)('in a real terminal', { timeout: 60_000 }, () => {
  it('asks before it edits, runs, and leaves the terminal as it was', async () => {
    const place = await openPlace({ 'a.txt': 'nine knots\n' })
    const terminal = open(place, ['--model', 'offline'], 60)
    await terminal.sees('offline/rules')
    terminal.press(`Replace "nine" by "十二" in a.txt${keys.enter}`)
    await terminal.sees('Do it?')
    expect(terminal.screen()).toContain('+十二 knots')
    terminal.press('y')
    await terminal.sees('3 rounds')
    expect(readFileSync(join(place.root, 'a.txt'), 'utf8')).toBe('十二 knots\n')
    terminal.press(keys.ctrlD)
    await terminal.sees('left: 0')
    expect(terminal.screen()).toMatch(/\nicanon/)
    await terminal.ended
  })

  it('is cancelled by Ctrl-C and left by a second one, with nothing left running', async () => {
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

  it('guides through a first run', async () => {
    const place = await openPlace()
    const terminal = open(place, ['tour'], 100, 40)
    await terminal.sees('1. A question is answered')
    for (const step of ['2. ', '3. ']) {
      terminal.press(keys.enter)
      await terminal.sees(step)
    }
    terminal.press(keys.enter)
    await terminal.sees('Do it?')
    terminal.press('y')
    await terminal.sees('4. The check passes now')
    terminal.press(keys.enter)
    await terminal.sees('engine: ok')
    terminal.press(keys.ctrlD)
    await terminal.sees('left: 0')
    await terminal.ended
  })
})

describe('the tour without a terminal', { timeout: 60_000 }, () => {
  it('goes through all steps by itself', async () => {
    const { code, stdout, stderr } = await runNode([main, 'tour'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    for (const seen of [
      '+export const speed = 12',
      'engine: ok',
      'is denied by the rule read(**/.env*)',
      'put back: src/engine.js',
    ])
      expect(stdout).toContain(seen)
    expect(stdout).not.toContain('do-not-show')
    expect(stdout).not.toContain('\u001b')
  })
})
