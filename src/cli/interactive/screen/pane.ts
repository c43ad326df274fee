import type { Colors } from '../../terminal/colors.js'
import { cutTo } from '../../terminal/width.js'
import { wrapText } from '../../terminal/wrap.js'
import type { Choice } from '../asking.js'
import { Editor } from '../editor/editor.js'
import type { Key } from './keys.js'
import type { Live } from './screen.js'

/** What has the keys for a while, at the bottom of the screen. */
export interface Pane {
  view(columns: number, rows: number): Live
  key(key: Key): void
  /** Nobody will answer any more. */
  dismiss(): void
}

/** One of several, by its letter, or by the arrows and Enter. Nothing is chosen beforehand: a key too much must not be an answer. */
export class ChoicePane implements Pane {
  readonly #title: string
  readonly #choices: readonly Choice[]
  readonly #colors: Colors
  readonly #deafUntil: number
  readonly #done: (chosen: number | undefined) => void
  #at = -1

  constructor(
    title: string,
    choices: readonly Choice[],
    colors: Colors,
    deafMs: number,
    done: (chosen: number | undefined) => void,
  ) {
    this.#title = title
    this.#choices = choices
    this.#colors = colors
    this.#deafUntil = performance.now() + deafMs
    this.#done = done
  }

  view(columns: number, rows: number): Live {
    const { bold, cyan, inverse } = this.#colors
    // What is agreed to is shown whole, where there is room for it.
    const texts = this.#choices.map(({ label }) => wrapText(label, columns - 7).slice(0, mostLabelLines))
    const isRoomy = texts.flat().length < rows
    const first = isRoomy
      ? 0
      : Math.max(0, Math.min(this.#at - Math.floor(rows / 2), this.#choices.length - rows + 1))
    const shown = isRoomy ? this.#choices : this.#choices.slice(first, first + Math.max(1, rows - 1))
    const lines = shown.flatMap(({ key, label }, index) => {
      const text = isRoomy ? (texts[index] ?? []) : [cutTo(label, columns - 7)]
      const paint = first + index === this.#at ? inverse : (line: string) => line
      return text.map((line, row) => ` ${row === 0 ? cyan(key.padStart(2)) : '  '}  ${paint(line)}`)
    })
    return { lines: [bold(cutTo(this.#title, columns - 1)), ...lines] }
  }

  key(key: Key): void {
    // Somebody was in the middle of a word when the question came.
    if (performance.now() < this.#deafUntil) return
    if (key.kind === 'text') {
      const chosen = this.#choices.findIndex((choice) => choice.key === key.text.toLowerCase())
      if (chosen >= 0) this.#done(chosen)
    } else if (key.kind === 'key') {
      const count = this.#choices.length
      if (key.name === 'escape') this.#done(undefined)
      else if (key.name === 'return' && this.#at >= 0) this.#done(this.#at)
      else if (key.name === 'down' || key.name === 'tab') this.#at = (this.#at + 1) % count
      else if (key.name === 'up') this.#at = this.#at <= 0 ? count - 1 : this.#at - 1
    }
  }

  dismiss(): void {
    this.#done(undefined)
  }
}

const mostLabelLines = 6

/** A line of words, or a few. */
export class LinePane implements Pane {
  readonly #title: string
  readonly #editor = new Editor()
  readonly #colors: Colors
  readonly #done: (text: string | undefined) => void

  constructor(title: string, colors: Colors, done: (text: string | undefined) => void) {
    this.#title = title
    this.#colors = colors
    this.#done = done
  }

  view(columns: number, rows: number): Live {
    const { bold, cyan } = this.#colors
    const { lines, cursor } = this.#editor.view({ prompt: cyan('› '), columns, rows: Math.max(1, rows - 1) })
    return {
      lines: [bold(cutTo(this.#title, columns - 1)), ...lines],
      cursor: { row: cursor.row + 1, column: cursor.column },
    }
  }

  key(key: Key): void {
    const isEscape = key.kind === 'key' && key.name === 'escape'
    const sent = isEscape ? undefined : this.#editor.key(key)
    if (isEscape || sent !== undefined) this.#done(sent)
  }

  dismiss(): void {
    this.#done(undefined)
  }
}
