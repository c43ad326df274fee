import type { Key } from '../screen/keys.js'
import type { LiveInput } from '../screen/screen.js'
import { layout } from './layout.js'
import {
  bufferOf,
  cut,
  down,
  emptyBuffer,
  insert,
  left,
  lineEnd,
  lineStart,
  right,
  type TextBuffer,
  up,
  wordLeft,
  wordRight,
} from './text-buffer.js'

export type Candidate = { readonly value: string; readonly description?: string }

export type EditorOptions = {
  /** Texts that were sent before, newest last. */
  entries?(): readonly string[]
  /** Completions of the text. */
  complete?(text: string): readonly Candidate[]
  /** The text that is sent for an empty input; Tab inserts it. */
  suggestion?(): string | undefined
}

/** A multi-line text editor. It handles keys and text, and does not depend on a terminal. */
export class Editor {
  readonly #options: EditorOptions
  #buffer: TextBuffer = emptyBuffer
  #removed = ''
  /** The position in the history, counted from the end; 0 is the current text. */
  #back = 0
  #draft = ''

  constructor(options: EditorOptions = {}) {
    this.#options = options
  }

  get text(): string {
    return this.#buffer.text
  }

  set(text: string): void {
    this.#buffer = bufferOf(text)
    this.#back = 0
  }

  candidates(): readonly Candidate[] {
    const { text, cursor } = this.#buffer
    return cursor === text.length ? (this.#options.complete?.(text) ?? []) : []
  }

  view(place: { readonly prompt: string; readonly columns: number; readonly rows: number }): LiveInput {
    return layout(this.#buffer, place)
  }

  /** Handles a key. Returns the text when it is sent; the editor is then empty. */
  key(key: Key): string | undefined {
    if (key.kind === 'text') this.#change(insert(this.#buffer, key.text))
    else if (key.kind === 'paste') this.#change(insert(this.#buffer, key.text))
    else if (key.name === 'return' && !key.meta && !key.shift) return this.#enter()
    else this.#steer(key)
    return undefined
  }

  #enter(): string | undefined {
    const { text, cursor } = this.#buffer
    // A backslash at the end of a line starts a new line.
    if (text.slice(0, cursor).endsWith('\\')) {
      this.#change(insert(cut(this.#buffer, left(this.#buffer)).buffer, '\n'))
      return undefined
    }
    const sent = text.trim() === '' ? (this.#options.suggestion?.() ?? text) : text
    this.set('')
    return sent
  }

  #steer(key: Key & { kind: 'key' }): void {
    const buffer = this.#buffer
    const step = key.ctrl ? withControl[key.name] : key.meta ? withAlt[key.name] : plain[key.name]
    if (step !== undefined) {
      this.#buffer = step(buffer)
      return
    }
    const removal = key.ctrl
      ? removalWithControl[key.name]
      : key.meta
        ? removalWithAlt[key.name]
        : removals[key.name]
    if (removal !== undefined) {
      const { buffer: rest, removed } = cut(buffer, removal(buffer))
      // A single deleted character is not saved for Ctrl-Y.
      if (key.ctrl || key.meta) this.#removed = removed || this.#removed
      this.#change(rest)
    } else if (key.name === 'up' || (key.ctrl && key.name === 'p')) this.#upwards()
    else if (key.name === 'down' || (key.ctrl && key.name === 'n')) this.#downwards()
    else if (key.name === 'enter' || key.name === 'return') this.#change(insert(buffer, '\n'))
    else if (key.ctrl && key.name === 'y') this.#change(insert(buffer, this.#removed))
    else if (key.name === 'tab' && !key.shift) this.#complete()
  }

  #change(buffer: TextBuffer): void {
    this.#buffer = buffer
    this.#back = 0
  }

  #upwards(): void {
    const moved = up(this.#buffer)
    if (moved !== undefined) {
      this.#buffer = moved
      return
    }
    const entries = this.#options.entries?.() ?? []
    const entry = entries.at(-this.#back - 1)
    if (entry === undefined || this.#back >= entries.length) return
    if (this.#back === 0) this.#draft = this.#buffer.text
    this.#back++
    this.#buffer = bufferOf(entry)
  }

  #downwards(): void {
    const moved = down(this.#buffer)
    if (moved !== undefined) this.#buffer = moved
    else if (this.#back > 0) {
      this.#back--
      const entry = this.#back === 0 ? this.#draft : this.#options.entries?.().at(-this.#back)
      this.#buffer = bufferOf(entry ?? '')
    }
  }

  #complete(): void {
    const { text } = this.#buffer
    const suggestion = text === '' ? this.#options.suggestion?.() : undefined
    const values = suggestion === undefined ? this.candidates().map(({ value }) => value) : [suggestion]
    const [first] = values
    if (first === undefined) return
    const common = commonStart(values)
    // The common prefix of the completions is not longer than the text, so the first one is used.
    const next = common.length > text.length ? common : first
    this.#change(bufferOf(values.length === 1 || next === first ? `${next.trimEnd()} ` : next))
  }
}

type Step = (buffer: TextBuffer) => TextBuffer

const plain: Readonly<Record<string, Step>> = { left, right, home: lineStart, end: lineEnd }
const withControl: Readonly<Record<string, Step>> = {
  a: lineStart,
  e: lineEnd,
  b: left,
  f: right,
  left: wordLeft,
  right: wordRight,
}
const withAlt: Readonly<Record<string, Step>> = {
  b: wordLeft,
  f: wordRight,
  left: wordLeft,
  right: wordRight,
}
const removals: Readonly<Record<string, Step>> = { backspace: left, delete: right }
const removalWithControl: Readonly<Record<string, Step>> = {
  h: left,
  d: right,
  w: wordLeft,
  u: lineStart,
  k: lineEnd,
  backspace: wordLeft,
  delete: wordRight,
}
const removalWithAlt: Readonly<Record<string, Step>> = {
  d: wordRight,
  backspace: wordLeft,
  delete: wordRight,
}

function commonStart(values: readonly string[]): string {
  const [first = '', ...others] = values
  let length = first.length
  for (const other of others) while (!other.startsWith(first.slice(0, length))) length--
  return first.slice(0, length)
}
