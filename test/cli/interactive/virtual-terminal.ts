import { PassThrough, Writable } from 'node:stream'
import type { Io } from '../../../src/cli/io.js'
import { runCli } from '../../../src/cli/run-cli.js'
import { lettersOf, widthOfLetter } from '../../../src/cli/terminal/width.js'
import type { Place } from '../drive.js'

export type TerminalOptions = {
  readonly columns?: number
  readonly rows?: number
  readonly env?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** A user at a virtual terminal: what they see, and the keys they press. */
export type Person = {
  /** The screen and the scroll-back buffer, without styles. */
  screen(): string
  /** The raw output. */
  readonly raw: () => string
  press(keys: string): void
  /** Resolves when the screen has the text. Fails with the screen. */
  sees(text: string | RegExp, times?: number): Promise<void>
  /** Resolves at the next output. */
  painted(): Promise<void>
  resize(columns: number, rows?: number): void
  readonly left: Promise<number>
  readonly isRaw: () => boolean
}

export const keys = {
  enter: '\r',
  newLine: '\n',
  tab: '\t',
  shiftTab: '\u001b[Z',
  up: '\u001b[A',
  down: '\u001b[B',
  left: '\u001b[D',
  ctrlC: '\u0003',
  ctrlD: '\u0004',
  ctrlL: '\u000c',
  ctrlZ: '\u001a',
  backspace: '\u007f',
  paste: (text: string): string => `\u001b[200~${text}\u001b[201~`,
} as const

export function sitDown(place: Place, argv: readonly string[], options: TerminalOptions = {}): Person {
  let { columns = 80, rows = 24 } = options
  let raw = ''
  let isRaw = false
  const terminal = new VirtualTerminal(columns)
  const watchers = new Set<() => void>()
  const stdout = new Writable({
    decodeStrings: false,
    write(piece: string | Buffer, _encoding, done) {
      raw += piece.toString()
      terminal.take(piece.toString())
      for (const watcher of watchers) watcher()
      done()
    },
  })
  const stdin = Object.assign(new PassThrough(), {
    setRawMode(on: boolean) {
      isRaw = on
    },
  })
  Object.defineProperty(stdout, 'rows', { get: () => rows })
  const io: Io = {
    stdin,
    stdout,
    stderr: stdout,
    env: { ...place.env, TERM: 'xterm-256color', ...options.env },
    cwd: place.root,
    isTTY: { stdin: true, stdout: true, stderr: true },
    columns: () => columns,
    signal: options.signal ?? new AbortController().signal,
  }
  return {
    screen: () => terminal.text(),
    raw: () => raw,
    press: (text) => void stdin.write(text),
    sees: (wanted, times = 1) =>
      new Promise((resolve, reject) => {
        const holds = (): boolean => occurrences(terminal.text(), wanted) >= times
        const give = (): void => {
          clearTimeout(timer)
          watchers.delete(look)
        }
        const look = (): void => {
          if (!holds()) return
          give()
          resolve()
        }
        const timer = setTimeout(() => {
          give()
          reject(new Error(`never seen: ${String(wanted)}\n--- the screen\n${terminal.text()}\n---`))
        }, 100_000)
        watchers.add(look)
        look()
      }),
    painted: () =>
      new Promise((resolve) => {
        const look = (): void => {
          watchers.delete(look)
          resolve()
        }
        watchers.add(look)
      }),
    resize(to, toRows = rows) {
      columns = to
      rows = toRows
      terminal.resize(to)
      stdout.emit('resize')
    },
    left: runCli(argv, io),
    isRaw: () => isRaw,
  }
}

function occurrences(text: string, wanted: string | RegExp): number {
  if (typeof wanted === 'string') return text.split(wanted).length - 1
  return [...text.matchAll(new RegExp(wanted, 'gu'))].length
}

type SavedScreen = {
  rows: { cells: string[]; isWrapped: boolean }[]
  row: number
  column: number
  home: number
}

/**
 * The part of a terminal that the command relies on. Other sequences are an error. It wraps long lines when it gets
 * narrower.
 */
export class VirtualTerminal {
  #unfinished = ''
  #columns: number
  /** Each row, and whether it continues in the next because it was too long. */
  #rows: { cells: string[]; isWrapped: boolean }[] = [{ cells: [], isWrapped: false }]
  #row = 0
  #column = 0
  /** The row at the top of the screen when it was cleared last. */
  #home = 0
  /** The screen that is restored when the alternate one is closed. */
  #main: SavedScreen | undefined

  constructor(columns: number) {
    this.#columns = columns
  }

  text(): string {
    return this.#textFrom(0)
  }

  /** Without the text before the screen was cleared. */
  visible(): string {
    return this.#textFrom(this.#home)
  }

  #textFrom(row: number): string {
    return this.#rows
      .slice(row)
      .map(({ cells }) =>
        Array.from(cells, (cell) => cell ?? ' ')
          .join('')
          .trimEnd(),
      )
      .join('\n')
  }

  resize(columns: number): void {
    const lines: { cells: string[]; cursor?: number }[] = []
    let current: { cells: string[]; cursor?: number } = { cells: [] }
    for (const [at, { cells, isWrapped }] of this.#rows.entries()) {
      if (at === this.#row) current.cursor = current.cells.length + this.#column
      current.cells.push(...cells)
      if (isWrapped) continue
      lines.push(current)
      current = { cells: [] }
    }
    this.#columns = columns
    this.#rows = []
    for (const { cells, cursor } of lines) {
      const first = this.#rows.length
      for (let at = 0; at === 0 || at < cells.length; at += columns)
        this.#rows.push({ cells: cells.slice(at, at + columns), isWrapped: at + columns < cells.length })
      if (cursor === undefined) continue
      this.#row = Math.min(first + Math.floor(cursor / columns), this.#rows.length - 1)
      this.#column = cursor % columns
    }
  }

  take(output: string): void {
    // A pipe can cut a sequence in two: its beginning waits for the rest.
    const text = this.#unfinished + output
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control sequences
    this.#unfinished = /\x1b(?:\[[?\d;]*)?$/.exec(text)?.[0] ?? ''
    const whole = text.slice(0, text.length - this.#unfinished.length)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control sequences
    for (const piece of whole.match(/\x1b\[[?\d;]*[A-Za-z]|[\x00-\x1f\x7f-\x9f]|[^\x00-\x1f\x7f-\x9f]+/g) ??
      [])
      if (piece.startsWith('\u001b')) this.#obey(piece)
      else if (piece === '\r') this.#column = 0
      else if (piece === '\n') this.#newLine(false)
      else if (piece < ' ' || piece === '\u007f')
        throw new Error(`an odd control character: ${JSON.stringify(piece)}`)
      else for (const letter of lettersOf(piece)) this.#put(letter)
  }

  /** Whether the alternate screen is shown. */
  get isAlternate(): boolean {
    return this.#main !== undefined
  }

  #alternate(on: boolean): void {
    if (on === this.isAlternate) throw new Error('the alternate screen is entered or left twice')
    if (on) {
      this.#main = { rows: this.#rows, row: this.#row, column: this.#column, home: this.#home }
      this.#rows = [{ cells: [], isWrapped: false }]
      this.#row = 0
      this.#column = 0
      this.#home = 0
    } else if (this.#main !== undefined) {
      this.#rows = this.#main.rows
      this.#row = this.#main.row
      this.#column = this.#main.column
      this.#home = this.#main.home
      this.#main = undefined
    }
  }

  #put(letter: string): void {
    const width = widthOfLetter(letter)
    if (this.#column + width > this.#columns) {
      this.#newLine(true)
      this.#column = 0
    }
    const { cells } = this.#at()
    cells[this.#column] = letter
    if (width === 2) cells[this.#column + 1] = ''
    this.#column += width
  }

  #newLine(isWrapped: boolean): void {
    this.#at().isWrapped = isWrapped
    this.#row++
    this.#at()
  }

  #at(): { cells: string[]; isWrapped: boolean } {
    while (this.#rows.length <= this.#row) this.#rows.push({ cells: [], isWrapped: false })
    return this.#rows[this.#row] ?? { cells: [], isWrapped: false }
  }

  #obey(sequence: string): void {
    const [parameters, name] = [sequence.slice(2, -1), sequence.slice(-1)]
    const count = Number(parameters || 1)
    if (name === 'm') return
    if (parameters === '?1049') {
      this.#alternate(name === 'h')
      return
    }
    if (name === 'A') this.#row = Math.max(0, this.#row - count)
    else if (name === 'C') this.#column = Math.min(this.#columns - 1, this.#column + count)
    else if (name === 'G') this.#column = count - 1
    else if (sequence === '\u001b[2J') {
      // The old text stays in the scroll-back buffer.
      this.#home = this.#rows.length
      this.#row = this.#home
      this.#at()
    } else if (sequence === '\u001b[H') {
      this.#row = this.#home
      this.#column = 0
    } else if (name === 'K' || name === 'J') {
      const row = this.#at()
      row.cells.length = Math.min(row.cells.length, this.#column)
      row.isWrapped = false
      if (name === 'J') this.#rows.length = this.#row + 1
    } else if (!/^\?(25|2026|2004)$/.test(parameters) || !/[hl]/.test(name))
      throw new Error(`an odd sequence: ${JSON.stringify(sequence)}`)
  }
}
