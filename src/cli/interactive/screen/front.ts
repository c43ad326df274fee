import type { Io } from '../../io.js'
import { type Colors, colorsFor } from '../../terminal/colors.js'
import { cutTo } from '../../terminal/width.js'
import type { Choice } from '../asking.js'
import { Editor, type EditorOptions } from '../editor/editor.js'
import { type Key, Keys } from './keys.js'
import { ChoicePane, LinePane, type Pane } from './pane.js'
import { type Live, Screen } from './screen.js'
import { suspend } from './suspend.js'

/** What the front asks of whoever works behind it. */
export type Behind = EditorOptions & {
  /** Something was sent. */
  submit(text: string): void
  /** Ctrl-C; `again` when nothing but that was pressed since the last one. */
  interrupt(again: boolean): void
  /** Escape, while nothing is asked. */
  escape(): void
  /** Ctrl-D on an empty line, or the terminal is gone. */
  leave(): void
  /** Shift-Tab. */
  nextMode(): void
  /** Lines that are to be printed by now. */
  pull(columns: number): readonly string[]
  /** Lines above the input, in at most so many rows. */
  live(columns: number, rows: number): readonly string[]
  /** The line below the input, in at most so many columns. */
  status(columns: number): string
}

/** The terminal of an interactive session: what was printed, what goes on, the input, and what is asked in between. */
export class Front {
  readonly editor: Editor
  readonly #io: Io
  readonly #behind: Behind
  readonly #screen: Screen
  readonly #keys: Keys
  readonly #colors: Colors
  readonly #panes: Pane[] = []
  #notice = ''
  #interrupted = false
  /** What was printed last is an empty line. */
  #endsEmpty = false
  #isOn = false
  #paintTimer: NodeJS.Timeout | undefined
  #beat: NodeJS.Timeout | undefined

  constructor(io: Io, behind: Behind) {
    this.#io = io
    this.#behind = behind
    this.#colors = colorsFor(io, 'stdout')
    this.editor = new Editor(behind)
    this.#screen = new Screen(io.stdout, { columns: () => io.columns(), rows: () => this.#rows() })
    this.#keys = new Keys(io.stdin, io.stdout, this.#key)
  }

  start(): void {
    this.#isOn = true
    this.#keys.start()
    this.#io.stdout.on('resize', this.changed)
    this.#io.stdin.once('end', this.#gone)
    this.#io.stdin.on('error', this.#gone)
    this.#paint()
  }

  /** The terminal is as it was. What was not answered will not be. */
  stop(): void {
    if (!this.#isOn) return
    this.dismiss()
    this.animate(false)
    clearTimeout(this.#paintTimer)
    this.#screen.print(this.#behind.pull(this.#io.columns()), { lines: [] })
    this.#isOn = false
    this.#io.stdout.off('resize', this.changed)
    this.#io.stdin.off('end', this.#gone)
    this.#screen.end()
    this.#keys.stop()
  }

  print(lines: readonly string[]): void {
    const all = [...this.#behind.pull(this.#io.columns()), ...lines]
    // Whoever sets something off with an empty line does not know what stands above it.
    const isDouble = this.#endsEmpty && all[0] === ''
    this.#printed(isDouble ? all.slice(1) : all)
  }

  /** Something is different: it is painted soon, together with whatever else changes meanwhile. */
  readonly changed = (): void => {
    if (!this.#isOn || this.#paintTimer !== undefined) return
    this.#paintTimer = setTimeout(() => this.#paint(), 16)
  }

  /** A word about what to do next; the next key takes it away. */
  notice(text: string): void {
    this.#notice = text
    this.changed()
  }

  animate(on: boolean): void {
    clearInterval(this.#beat)
    this.#beat = on ? setInterval(this.changed, 100) : undefined
  }

  /** Undefined when nothing was chosen. Questions wait for each other. */
  choose(title: string, choices: readonly Choice[]): Promise<number | undefined> {
    const deafMs = this.editor.text === '' ? 0 : 800
    return this.#ask((done) => new ChoicePane(title, choices, this.#colors, deafMs, done))
  }

  askLine(title: string): Promise<string | undefined> {
    return this.#ask((done) => new LinePane(title, this.#colors, done))
  }

  /** Everything that is asked stays without an answer. */
  dismiss(): void {
    for (const pane of [...this.#panes]) pane.dismiss()
  }

  clear(): void {
    this.#screen.clear(this.#live())
  }

  #ask<Answer>(make: (done: (answer: Answer | undefined) => void) => Pane): Promise<Answer | undefined> {
    return new Promise((resolve) => {
      const pane = make((answer) => {
        this.#panes.splice(this.#panes.indexOf(pane), 1)
        resolve(answer)
        this.changed()
      })
      this.#panes.push(pane)
      this.changed()
    })
  }

  readonly #key = (key: Key): void => {
    const isInterrupt = key.kind === 'key' && key.ctrl && key.name === 'c'
    const again = this.#interrupted
    this.#interrupted = isInterrupt
    this.#notice = ''
    if (isInterrupt) this.#behind.interrupt(again)
    else if (key.kind === 'key' && key.ctrl && key.name === 'l') this.clear()
    else if (key.kind === 'key' && key.ctrl && key.name === 'z') this.#suspend()
    else if (this.#panes[0] !== undefined) this.#panes[0].key(key)
    else this.#write(key)
    this.changed()
  }

  #write(key: Key): void {
    const { name, ctrl, shift } = key.kind === 'key' ? key : noKey
    if (ctrl && name === 'd' && this.editor.text === '') this.#behind.leave()
    else if (name === 'escape') this.#behind.escape()
    else if (name === 'tab' && shift) this.#behind.nextMode()
    else {
      const sent = this.editor.key(key)
      if (sent !== undefined && sent.trim() !== '') this.#behind.submit(sent)
    }
  }

  readonly #gone = (): void => this.#behind.leave()

  #suspend(): void {
    this.#screen.end()
    this.#keys.stop()
    suspend(() => {
      if (!this.#isOn) return
      this.#keys.start()
      this.changed()
    })
  }

  #printed(lines: readonly string[]): void {
    this.#endsEmpty = lines.length > 0 ? lines.at(-1) === '' : this.#endsEmpty
    this.#screen.print(lines, this.#live())
  }

  #paint(): void {
    clearTimeout(this.#paintTimer)
    this.#paintTimer = undefined
    if (!this.#isOn) return
    const printed = this.#behind.pull(this.#io.columns())
    if (printed.length > 0) this.#printed(printed)
    else this.#screen.show(this.#live())
  }

  #live(): Live {
    if (!this.#isOn) return { lines: [] }
    const columns = this.#io.columns()
    const rows = this.#rows()
    const inputRows = Math.max(1, Math.min(10, Math.floor(rows / 2)))
    const [pane] = this.#panes
    const { lines, cursor } = pane?.view(columns, inputRows + 2) ?? this.#input(columns, inputRows)
    const { dim, yellow } = this.#colors
    const below =
      this.#notice === ''
        ? dim(cutTo(this.#behind.status(columns - 1), columns - 1))
        : yellow(cutTo(this.#notice, columns - 1))
    const above = this.#behind.live(columns, Math.max(0, rows - lines.length - 3))
    const all = [...above, ...(above.length > 0 ? [''] : []), ...lines, below]
    const row = (cursor?.row ?? 0) + all.length - 1 - lines.length
    return { lines: all, ...(cursor !== undefined && { cursor: { row, column: cursor.column } }) }
  }

  #input(columns: number, rows: number): Required<Live> {
    const { cyan, dim } = this.#colors
    const { lines, cursor } = this.editor.view({ prompt: cyan('› '), columns, rows })
    const suggestion = this.editor.text === '' ? this.#behind.suggestion?.() : undefined
    if (suggestion !== undefined)
      return { lines: [`${cyan('› ')}${dim(cutTo(`${suggestion}   (Enter)`, columns - 4))}`], cursor }
    const candidates = this.editor.candidates()
    const width = Math.max(0, ...candidates.map(({ value }) => value.length))
    const hints = candidates
      .slice(0, mostHints)
      .map(({ value, says }) => `  ${says === undefined ? value : `${value.padEnd(width)}  ${says}`}`)
    const more = candidates.length - hints.length
    const shown = more > 0 ? [...hints, `  … ${more} more`] : hints
    return { lines: [...lines, ...shown.map((hint) => dim(cutTo(hint, columns - 2)))], cursor }
  }

  #rows(): number {
    const { rows } = this.#io.stdout as { rows?: unknown }
    return typeof rows === 'number' && rows > 0 ? rows : 24
  }
}

const mostHints = 8
const noKey = { name: '', ctrl: false, shift: false }
