import type { Writable } from 'node:stream'
import { widthOf } from '../../terminal/width.js'

/** The position of the cursor in the live part. */
export type Cursor = { readonly row: number; readonly column: number }
export type Live = { readonly lines: readonly string[]; readonly cursor?: Cursor | undefined }
/** Live lines with an input, and so with a cursor. */
export type LiveInput = { readonly lines: readonly string[]; readonly cursor: Cursor }

export type ScreenSize = { columns(): number; rows(): number }

/**
 * A terminal in two parts: printed lines, which scroll up, and a few live lines below them, which are redrawn. All
 * lines must be safe to print, and live lines must be narrower than the terminal.
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

  /** Prints lines above the live part. */
  print(lines: readonly string[], live: Live): void {
    this.#paint(lines, live)
  }

  show(live: Live): void {
    this.#paint([], live)
  }

  /** Clears the screen and redraws the live part. The scroll-back buffer stays. */
  clear(live: Live): void {
    this.#out.write('\u001b[2J\u001b[H')
    this.#live = []
    this.#cursor = { row: 0, column: 0 }
    this.#paint([], live)
  }

  /** Removes the live part and moves the cursor to its start. */
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
    // Starts a synchronized update, which older terminals ignore. Lines are erased one by one, because clearing the
    // screen first would flicker.
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

  /** Moves the cursor to the first live row. A terminal that became narrower has wrapped the live lines. */
  #toTop(): string {
    const columns = Math.max(1, this.#size.columns())
    const above = this.#live.slice(0, this.#cursor.row)
    const rows = above.reduce((sum, line) => sum + Math.max(1, Math.ceil(widthOf(line) / columns)), 0)
    const up = rows + Math.floor(this.#cursor.column / columns)
    return `\r${up > 0 ? `\u001b[${up}A` : ''}`
  }
}

const eraseLine = '\u001b[K'
