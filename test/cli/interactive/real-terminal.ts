import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { root as packageRoot } from '../../house/run.js'
import type { Place } from '../drive.js'
import { VirtualTerminal } from './virtual-terminal.js'

/** The command as it is built. */
export const main = join(packageRoot, 'dist/cli/main.js')

/** `script` of util-linux gives a program a real terminal. Without it, only the tests with a virtual terminal run. */
export const hasScript =
  process.platform === 'linux' &&
  /util-linux/.test(spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '')
if (!hasScript)
  console.warn('"script" of util-linux is not installed: the tests in a real terminal are skipped.')

export type Terminal = {
  press(text: string): void
  /** Resolves when the text was shown so many times. Fails with the screen. */
  sees(text: string | RegExp, times?: number): Promise<void>
  /** The screen and the scroll-back buffer. */
  screen(): string
  /** The screen since it was cleared. */
  visible(): string
  /** Closes the window. */
  close(): void
  /** Resizes the window. */
  resize(columns: number, rows: number): void
  readonly ended: Promise<number | null>
}

/** The built command in a real terminal of a size. The state of the terminal and the exit code are printed after it. */
export function open(place: Place, argv: readonly string[], columns = 80, rows = 30): Terminal {
  // A Ctrl-C that comes after the command has left must not end the shell before it prints the exit code.
  const line = `trap : INT; ${lineOf(argv)}; code=$?; stty -a | tr ' ' '\\n' | grep -x -e icanon -e -icanon -e 'icanon;' ; echo "left: $code"`
  return openLine(place, line, columns, rows)
}

/** The shell command that starts the built command. */
export function lineOf(argv: readonly string[]): string {
  return [process.execPath, main, ...argv].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ')
}

function isAscii(character: string | undefined): boolean {
  return character !== undefined && character.charCodeAt(0) < 0x80
}

let opened = 0
/** A line of a shell in a real terminal. */
export function openLine(place: Place, line: string, columns = 80, rows = 30): Terminal {
  const device = join(dirname(place.root), `tty-${process.pid}-${opened++}`)
  const sized = `stty cols ${columns} rows ${rows}; tty > '${device}'; ${line}`
  const child = spawn('script', ['-qec', sized, '/dev/null'], {
    cwd: place.root,
    env: { ...place.env, TERM: 'xterm-256color', SHELL: '/bin/sh' },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let terminal = new VirtualTerminal(columns)
  const pieces = [{ columns, output: '' }]
  const watchers = new Set<() => void>()
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    const last = pieces.at(-1)
    if (last === undefined) return
    const before = last.output
    last.output += piece
    if (before === '') {
      terminal.resize(last.columns)
      terminal.take(piece)
    } else if (isAscii(before.at(-1)) && isAscii(piece[0])) terminal.take(piece)
    else {
      // A pipe can cut a letter of several characters in two: only the whole output has it.
      terminal = new VirtualTerminal(columns)
      for (const each of pieces) {
        terminal.resize(each.columns)
        terminal.take(each.output)
      }
    }
    for (const watcher of watchers) watcher()
  })
  const count = (wanted: string | RegExp): number =>
    typeof wanted === 'string'
      ? terminal.text().split(wanted).length - 1
      : [...terminal.text().matchAll(new RegExp(wanted, 'gmu'))].length
  return {
    press: (text) => void child.stdin.write(text),
    screen: () => terminal.text(),
    visible: () => terminal.visible(),
    sees: (wanted, times = 1) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (count(wanted) < times) return
          clearTimeout(timer)
          watchers.delete(look)
          resolve()
        }
        const timer = setTimeout(
          () => reject(new Error(`never seen: ${String(wanted)}\n${terminal.text()}`)),
          100_000,
        )
        watchers.add(look)
        look()
      }),
    close: () => void child.kill('SIGKILL'),
    resize(toColumns, toRows) {
      pieces.push({ columns: toColumns, output: '' })
      const to = [
        '-F',
        readFileSync(device, 'utf8').trim(),
        'cols',
        String(toColumns),
        'rows',
        String(toRows),
      ]
      if (spawnSync('stty', to).status !== 0) throw new Error('the terminal cannot be resized')
    },
    ended: new Promise((resolve) => child.once('close', resolve)),
  }
}
