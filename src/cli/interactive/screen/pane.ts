import type { Colors } from '../../terminal/colors.js'
import { cutTo, lettersOf } from '../../terminal/width.js'
import { wrapText } from '../../terminal/wrap.js'
import { Editor } from '../editor/editor.js'
import { type ChoiceQuestion, type LineQuestion, viewChoice } from '../prompter.js'
import type { Key } from './keys.js'
import type { Live } from './screen.js'

/** A question at the bottom of the screen. It accepts keys once it is ready. */
export interface Pane {
  /** Whether it accepts keys as soon as it is shown. */
  readonly direct: boolean
  /** How long it must be shown without a key press before a key can answer it. */
  readonly settleMs: number
  view(columns: number, rows: number, isReady: boolean): Live
  key(key: Key): void
  /** Whether this key would answer it. Such a key is never used as text for the prompt. */
  isAnswer(key: Key): boolean
  /** Ends the question without an answer. */
  dismiss(): void
}

type PageOpener = (title: string, lines: (columns: number) => readonly string[]) => void

/**
 * A question with several choices: by key, or with the arrows and Enter. Nothing is selected at first, so Enter alone
 * answers nothing. The keys are listed only while they work.
 */
export class ChoicePane implements Pane {
  readonly direct: boolean
  readonly settleMs = settleMs
  readonly #question: ChoiceQuestion
  readonly #colors: Colors
  readonly #open: PageOpener
  readonly #done: (chosen: number | undefined) => void
  #at = -1

  constructor(
    question: ChoiceQuestion,
    colors: Colors,
    open: PageOpener,
    done: (chosen: number | undefined) => void,
  ) {
    this.direct = question.direct === true
    this.#question = question
    this.#colors = colors
    this.#open = open
    this.#done = done
  }

  view(columns: number, rows: number, isReady: boolean): Live {
    const { title, choices, about, whole } = this.#question
    const { bold, cyan, dim } = this.#colors
    const listed = whole === undefined ? choices : [...choices, viewChoice]
    const asked =
      isReady && whole !== undefined ? `${title} [${listed.map(({ key }) => key).join('/')}]` : title
    const heading = titleLines(asked, columns - 1, Math.max(1, Math.min(maxTitleLines, Math.floor(rows / 4))))
    if (!isReady) {
      const lines = about?.(columns, Math.max(1, rows - heading.length - listed.length)) ?? []
      return { lines: [...lines, ...heading.map(bold)].slice(-rows) }
    }
    // A label with a rule is shown in full if there is enough space.
    const texts = choices.map(({ label }) => wrapText(label, columns - 7).slice(0, maxLabelLines))
    const extra = whole === undefined ? 0 : 1
    const isRoomy = texts.flat().length + heading.length + extra <= rows
    const room = Math.max(1, rows - heading.length - extra)
    const first = isRoomy ? 0 : Math.max(0, Math.min(this.#at - Math.floor(room / 2), choices.length - room))
    const shown = isRoomy ? choices : choices.slice(first, first + room)
    const options = shown.flatMap(({ key, label }, index) => {
      const text = isRoomy ? (texts[index] ?? []) : [cutTo(label, columns - 7)]
      const paint = first + index === this.#at ? this.#colors.inverse : (line: string) => line
      return text.map((line, row) => ` ${row === 0 ? cyan(key.padStart(2)) : '  '}  ${paint(line)}`)
    })
    const view = whole === undefined ? [] : [` ${cyan(viewChoice.key.padStart(2))}  ${dim(viewChoice.label)}`]
    const left = rows - heading.length - options.length - view.length
    const above = left > 0 ? (about?.(columns, left) ?? []) : []
    return { lines: [...above, ...heading.map(bold), ...options, ...view] }
  }

  isAnswer(key: Key): boolean {
    return key.kind === 'text' && this.#indexFor(key.text) !== undefined
  }

  key(key: Key): void {
    const { choices, whole, title } = this.#question
    if (key.kind === 'text') {
      const at = this.#indexFor(key.text)
      if (at === choices.length && whole !== undefined) this.#open(title, whole)
      else if (at !== undefined) this.#done(at)
    } else if (key.kind === 'key') {
      const count = choices.length
      if (key.name === 'escape') this.#done(undefined)
      else if (key.name === 'return' && this.#at >= 0) this.#done(this.#at)
      else if (key.name === 'down' || key.name === 'tab') this.#at = (this.#at + 1) % count
      else if (key.name === 'up') this.#at = this.#at <= 0 ? count - 1 : this.#at - 1
    }
  }

  dismiss(): void {
    this.#done(undefined)
  }

  /** Returns the index of the choice with this key; the number of choices for the key that shows everything. */
  #indexFor(text: string): number | undefined {
    const { choices, whole } = this.#question
    const pressed = text.toLowerCase()
    const at = choices.findIndex(({ key }) => key === pressed)
    if (at >= 0) return at
    return whole !== undefined && pressed === viewChoice.key ? choices.length : undefined
  }
}

const maxLabelLines = 6
/** Longer than the repeat interval of a held key, and long enough for a user to notice a question. */
export const settleMs = 350
const maxTitleLines = 4

/** Fits a title into a number of lines. The middle of a longer title is cut, because its end lists the keys. */
function titleLines(title: string, columns: number, maxLines: number): string[] {
  const letters = lettersOf(title)
  for (let room = letters.length; ; room = Math.floor(room * 0.9)) {
    const tail = Math.floor(room / 2)
    const text =
      room >= letters.length
        ? title
        : `${letters.slice(0, room - tail).join('')} … ${tail === 0 ? '' : letters.slice(-tail).join('')}`
    const lines = wrapText(text, columns)
    if (lines.length <= maxLines || room < 8) return lines.slice(0, maxLines)
  }
}

/** A question that is answered with text. */
export class LinePane implements Pane {
  readonly direct: boolean
  // No single key is an answer, so it need not wait.
  readonly settleMs = 0
  readonly #title: string
  readonly #editor = new Editor()
  readonly #colors: Colors
  readonly #done: (text: string | undefined) => void

  constructor({ title, direct }: LineQuestion, colors: Colors, done: (text: string | undefined) => void) {
    this.direct = direct === true
    this.#title = title
    this.#colors = colors
    this.#done = done
  }

  view(columns: number, rows: number, isReady: boolean): Live {
    const { bold, cyan } = this.#colors
    const heading = bold(cutTo(this.#title, columns - 1))
    if (!isReady) return { lines: [heading] }
    const { lines, cursor } = this.#editor.view({ prompt: cyan('› '), columns, rows: Math.max(1, rows - 1) })
    return { lines: [heading, ...lines], cursor: { row: cursor.row + 1, column: cursor.column } }
  }

  isAnswer(): boolean {
    return false
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
