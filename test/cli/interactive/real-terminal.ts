import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { root as packageRoot } from '../../house/run.js'
import type { Place } from '../drive.js'
import { VirtualTerminal } from './virtual-terminal.js'

/** The command as it is built. */
export const main = join(packageRoot, 'dist/cli/main.js')

/** `script` of util-linux gives a program a real terminal. Elsewhere the tests with a virtual one stand for those that need it. */
export const hasScript =
  process.platform === 'linux' &&
  /util-linux/.test(spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '')
if (!hasScript) console.warn('There is no "script" of util-linux here: nothing is tested in a real terminal.')

export type Terminal = {
  press(text: string): void
  /** Until it was seen so many times. Fails with the screen. */
  sees(text: string | RegExp, times?: number): Promise<void>
  /** All that is on the screen and above it. */
  screen(): string
  /** What is on the screen since it was cleared. */
  visible(): string
  /** Somebody closes the window. */
  close(): void
  readonly ended: Promise<number | null>
}

/** The built command in a real terminal of a size. Behind it stands how the terminal was left, and the exit code. */
export function open(place: Place, argv: readonly string[], columns = 80, rows = 30): Terminal {
  const line = `${lineOf(argv)}; code=$?; stty -a | tr ' ' '\\n' | grep -x -e icanon -e -icanon -e 'icanon;' ; echo "left: $code"`
  return openLine(place, line, columns, rows)
}

/** What a shell is told to start the built command. */
export function lineOf(argv: readonly string[]): string {
  return [process.execPath, main, ...argv].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ')
}

/** A line of a shell in a real terminal. */
export function openLine(place: Place, line: string, columns = 80, rows = 30): Terminal {
  const child = spawn('script', ['-qec', `stty cols ${columns} rows ${rows}; ${line}`, '/dev/null'], {
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
          30_000,
        )
        watchers.add(look)
        look()
      }),
    close: () => void child.kill('SIGKILL'),
    ended: new Promise((resolve) => child.once('close', resolve)),
  }
}
