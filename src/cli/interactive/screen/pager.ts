import type { Writable } from 'node:stream'
import { cutTo } from '../../terminal/width.js'
import type { Key } from './keys.js'
import type { ScreenSize } from './screen.js'

export type PagerOptions = {
  readonly title: string
  /** The lines for a width, safe to print and not wider. */
  lines(columns: number): readonly string[]
  /** Called when the user closes it. */
  closed(): void
}

/**
 * Shows a long text on the terminal's alternate screen. It is built in, because the environment of an untrusted
 * directory can set `$PAGER` to any command, and because other pagers print control characters.
 */
export class Pager {
  readonly #out: Writable
  readonly #size: ScreenSize
  readonly #options: PagerOptions
  #made: { readonly columns: number; readonly lines: readonly string[] } | undefined
  #top = 0

  constructor(out: Writable, size: ScreenSize, options: PagerOptions) {
    this.#out = out
    this.#size = size
    this.#options = options
    this.#out.write('\u001b[?1049h')
    this.paint()
  }

  paint(): void {
    const columns = this.#size.columns()
    const lines = this.#lines()
    const page = this.#page()
    this.#top = Math.max(0, Math.min(this.#top, lines.length - page))
    const shown = lines.slice(this.#top, this.#top + page)
    const rows = [...shown, ...Array.from({ length: page - shown.length }, () => '~')]
    const last = Math.min(lines.length, this.#top + page)
    const place = `lines ${this.#top + 1} to ${last} of ${lines.length}`
    const help = 'q: close; arrows, Space, b, g, G: move'
    const status = `\u001b[7m${cutTo(`${place} · ${help} · ${this.#options.title}`, columns - 1)}\u001b[27m`
    this.#out.write(
      `\u001b[?2026h\u001b[?25l\u001b[H${[...rows, status].map((row) => `${row}\u001b[K`).join('\r\n')}\u001b[J\u001b[?2026l`,
    )
  }

  key(key: Key): void {
    const name = key.kind === 'key' ? key.name : key.kind === 'text' ? key.text : ''
    const page = this.#page()
    if (name === 'q' || name === 'Q' || name === 'escape') {
      this.close()
      this.#options.closed()
      return
    }
    if (name === 'down' || name === 'j' || name === 'return') this.#top++
    else if (name === 'up' || name === 'k') this.#top--
    else if (name === ' ' || name === 'space' || name === 'pagedown') this.#top += Math.max(1, page - 1)
    else if (name === 'b' || name === 'pageup') this.#top -= Math.max(1, page - 1)
    else if (name === 'g' || name === 'home') this.#top = 0
    else if (name === 'G' || name === 'end') this.#top = this.#lines().length
    this.paint()
  }

  /** Restores the screen. */
  close(): void {
    this.#out.write('\u001b[?1049l')
  }

  #page(): number {
    return Math.max(1, this.#size.rows() - 1)
  }

  #lines(): readonly string[] {
    const columns = this.#size.columns()
    if (this.#made?.columns !== columns) this.#made = { columns, lines: this.#options.lines(columns - 1) }
    return this.#made.lines
  }
}
