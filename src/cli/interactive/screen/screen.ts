import type { Writable } from 'node:stream'
import { widthOf } from '../../terminal/width.js'

/** Where the cursor stands in the live part. */
export type Cursor = { readonly row: number; readonly column: number }
export type Live = { readonly lines: readonly string[]; readonly cursor?: Cursor }

export type ScreenSize = { columns(): number; rows(): number }

/**
 * A terminal in two parts: what was printed, which scrolls away and stays, and below it a few live lines that are painted again and
 * again. Lines must be made safe, and live ones must be narrower than the terminal.
 */
export class Screen {
  readonly #out: Writable
  readonly #size: ScreenSize
  #live: readonly string[] = []
  #cursor: Cursor = { row: 0, column: 0 }

  constructor(out: Writable, size: ScreenSize) {
    this.#out = out
    this.#size = size
  }

  /** Prints lines for good, above the live part. */
  print(lines: readonly string[], live: Live): void {
    this.#paint(lines, live)
  }

  show(live: Live): void {
    this.#paint([], live)
  }

  /** Paints anew on an empty screen. What scrolled away stays. */
  clear(live: Live): void {
    this.#out.write('\u001b[2J\u001b[H')
    this.#live = []
    this.#cursor = { row: 0, column: 0 }
    this.#paint([], live)
  }

  /** The live part goes away; the cursor stands where it began. */
  end(): void {
    this.#out.write(`${this.#toTop()}\u001b[J\u001b[?25h`)
    this.#live = []
    this.#cursor = { row: 0, column: 0 }
  }

  #paint(printed: readonly string[], { lines, cursor }: Live): void {
    const shown = lines.slice(-Math.max(1, this.#size.rows() - 1))
    const hidden = lines.length - shown.length
    const at: Cursor =
      cursor === undefined || cursor.row < hidden
        ? { row: Math.max(0, shown.length - 1), column: 0 }
        : { row: cursor.row - hidden, column: cursor.column }
    const up = shown.length - 1 - at.row
    const painted = [
      ...printed.map((line) => `${eraseLine}${line}\r\n`),
      shown.map((line) => eraseLine + line).join('\r\n'),
    ]
    // In one go where the terminal knows how; others take no notice. Line by line rather than all at once: an empty screen would be seen.
    this.#out.write(
      [
        '\u001b[?2026h\u001b[?25l',
        this.#toTop(),
        ...painted,
        '\u001b[J\r',
        up > 0 ? `\u001b[${up}A` : '',
        at.column > 0 ? `\u001b[${at.column}C` : '',
        cursor === undefined ? '' : '\u001b[?25h',
        '\u001b[?2026l',
      ].join(''),
    )
    this.#live = shown
    this.#cursor = at
  }

  /** To the first live row. A terminal that has become narrower has broken live lines in two, and the cursor is further down. */
  #toTop(): string {
    const columns = Math.max(1, this.#size.columns())
    const above = this.#live.slice(0, this.#cursor.row)
    const rows = above.reduce((sum, line) => sum + Math.max(1, Math.ceil(widthOf(line) / columns)), 0)
    const up = rows + Math.floor(this.#cursor.column / columns)
    return `\r${up > 0 ? `\u001b[${up}A` : ''}`
  }
}

const eraseLine = '\u001b[K'
