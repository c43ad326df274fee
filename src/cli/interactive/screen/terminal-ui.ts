import { type Io, rowsOf } from '../../io.js'
import { type Colors, colorsFor } from '../../terminal/colors.js'
import { cutTo } from '../../terminal/width.js'
import { Editor, type EditorOptions } from '../editor/editor.js'
import type { ChoiceQuestion, LineQuestion } from '../prompter.js'
import { type Key, Keys } from './keys.js'
import { Pager } from './pager.js'
import { ChoicePane, LinePane, type Pane, settleMs } from './pane.js'
import { type Live, type LiveInput, Screen, type ScreenSize } from './screen.js'

/** The callbacks of the terminal UI: input that it reports, and content that it shows. */
export type UiCallbacks = EditorOptions & {
  /** The user sent a text. */
  submit(text: string): void
  /** Ctrl-C; `again` if no other key was pressed since the last Ctrl-C. */
  interrupt(again: boolean): void
  /** Escape, while no question is shown. */
  escape(): void
  /** Ctrl-D in an empty input, or the terminal was closed. */
  leave(): void
  /** Shift-Tab. */
  nextMode(): void
  /** The final lines that are not printed yet. */
  pull(columns: number): readonly string[]
  /** The lines above the input, at most `rows`. */
  live(columns: number, rows: number): readonly string[]
  /** The line below the input, at most `columns` wide. */
  status(columns: number): string
}

/** The terminal UI of an interactive session: printed lines, the state of the run, the input, and questions. */
export class TerminalUi {
  readonly editor: Editor
  readonly #io: Io
  readonly #callbacks: UiCallbacks
  readonly #screen: Screen
  readonly #keys: Keys
  readonly #colors: Colors
  readonly #size: ScreenSize
  readonly #panes: Pane[] = []
  /** The first pane, since when it is shown without a key press, and whether it accepts keys. */
  #focus: { readonly pane: Pane; quietSince: number; isReady: boolean } | undefined
  #settling: NodeJS.Timeout | undefined
  #pager: Pager | undefined
  /** Lines that were printed while the pager was open. */
  #pendingLines: string[] = []
  /** The key of the last answer. If it repeats, it is not text for the prompt. */
  #answered: { readonly text: string; readonly at: number } | undefined
  #notice = ''
  #interrupted = false
  /** Whether the last printed line is empty. */
  #endsEmpty = false
  #isOn = false
  #resized = false
  #paintTimer: NodeJS.Timeout | undefined
  #beat: NodeJS.Timeout | undefined

  constructor(io: Io, callbacks: UiCallbacks) {
    this.#io = io
    this.#callbacks = callbacks
    this.#colors = colorsFor(io, 'stdout')
    this.editor = new Editor(callbacks)
    this.#size = { columns: () => io.columns(), rows: () => this.#rows() }
    this.#screen = new Screen(io.stdout, this.#size)
    this.#keys = new Keys(io.stdin, io.stdout, this.#key)
  }

  start(): void {
    this.#isOn = true
    this.#keys.start()
    this.#io.stdout.on('resize', this.#resize)
    this.#io.stdin.once('end', this.#gone)
    this.#io.stdin.on('error', this.#gone)
    this.#paint()
  }

  /** Restores the terminal. Open questions end without an answer. */
  stop(): void {
    if (!this.#isOn) return
    this.dismiss()
    this.animate(false)
    clearTimeout(this.#paintTimer)
    clearTimeout(this.#settling)
    this.#screen.print(this.#callbacks.pull(this.#io.columns()), { lines: [] })
    this.#isOn = false
    this.#io.stdout.off('resize', this.#resize)
    this.#io.stdin.off('end', this.#gone)
    this.#screen.end()
    this.#keys.stop()
  }

  print(lines: readonly string[]): void {
    const all = [...this.#callbacks.pull(this.#io.columns()), ...lines]
    // The caller starts with an empty line, because it does not know the line above. Two empty lines become one.
    const isDouble = this.#endsEmpty && all[0] === ''
    this.#printed(isDouble ? all.slice(1) : all)
  }

  /** Schedules a redraw. Changes within a short time are drawn together. */
  readonly changed = (): void => {
    if (!this.#isOn || this.#paintTimer !== undefined) return
    this.#paintTimer = setTimeout(() => this.#paint(), 16)
  }

  readonly #resize = (): void => {
    this.#resized = true
    this.changed()
  }

  /** Shows a short message below the input until the next key press. */
  notice(text: string): void {
    this.#notice = text
    this.changed()
  }

  animate(on: boolean): void {
    clearInterval(this.#beat)
    this.#beat = on ? setInterval(this.changed, 100) : undefined
  }

  /** Resolves with the index of the choice; undefined when nothing was chosen. Questions are shown one at a time. */
  choose(question: ChoiceQuestion): Promise<number | undefined> {
    return this.#ask(
      question.signal,
      (done) => new ChoicePane(question, this.#colors, (title, lines) => this.page(title, lines), done),
    )
  }

  askLine(question: LineQuestion): Promise<string | undefined> {
    return this.#ask(question.signal, (done) => new LinePane(question, this.#colors, done))
  }

  /** Ends every open question without an answer. */
  dismiss(): void {
    for (const pane of [...this.#panes]) pane.dismiss()
  }

  /** Opens a pager. Lines that are printed while it is open appear when it is closed. */
  page(title: string, lines: (columns: number) => readonly string[]): void {
    this.#closePager()
    this.#pager = new Pager(this.#io.stdout, this.#size, { title, lines, closed: () => this.#paged() })
  }

  clear(): void {
    this.#screen.clear(this.#live())
  }

  #ask<Answer>(
    signal: AbortSignal | undefined,
    make: (done: (answer: Answer | undefined) => void) => Pane,
  ): Promise<Answer | undefined> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) return resolve(undefined)
      const withdrawn = (): void => pane.dismiss()
      const pane = make((answer) => {
        signal?.removeEventListener('abort', withdrawn)
        if (this.#panes[0] === pane) this.#closePager()
        this.#panes.splice(this.#panes.indexOf(pane), 1)
        resolve(answer)
        this.changed()
      })
      signal?.addEventListener('abort', withdrawn, { once: true })
      this.#panes.push(pane)
      this.changed()
    })
  }

  #closePager(): void {
    if (this.#pager === undefined) return
    this.#pager.close()
    this.#paged()
  }

  #paged(): void {
    this.#pager = undefined
    // Keys that were pressed to close the pager must not answer the question.
    if (this.#focus !== undefined) {
      this.#focus.isReady = this.#focus.pane.direct
      this.#focus.quietSince = performance.now()
    }
    this.print(this.#pendingLines.splice(0))
  }

  readonly #key = (key: Key): void => {
    const isInterrupt = key.kind === 'key' && key.ctrl && key.name === 'c'
    const again = this.#interrupted
    this.#interrupted = isInterrupt
    this.#notice = ''
    if (isInterrupt) this.#callbacks.interrupt(again)
    else if (key.kind === 'key' && key.ctrl && key.name === 'z') this.#suspend()
    else if (this.#pager !== undefined) this.#pager.key(key)
    else if (key.kind === 'key' && key.ctrl && key.name === 'l') this.clear()
    else if (this.#panes[0] !== undefined) this.#keyWhileAsked(key, this.#panes[0])
    else if (!this.#isRepeated(key)) this.#write(key)
    this.changed()
  }

  /**
   * Handles a key while a question is shown. A key answers a question only while the question lists its keys. Before
   * that, the key was meant for something else: text goes to the prompt, and a key that would be an answer is dropped.
   */
  #keyWhileAsked(key: Key, pane: Pane): void {
    const focus = this.#focus
    if (pane.direct || (focus?.pane === pane && focus.isReady)) {
      // Pasted text goes to the prompt.
      if (key.kind === 'paste' && !pane.direct) {
        this.editor.key(key)
        if (focus !== undefined) focus.isReady = false
        return
      }
      if (key.kind === 'text') this.#answered = { text: key.text, at: performance.now() }
      pane.key(key)
      return
    }
    if (focus !== undefined) focus.quietSince = performance.now()
    const isFocusKey = key.kind === 'key' && key.name === 'tab' && !key.shift
    if (isFocusKey && focus?.pane === pane && this.editor.text !== '') this.#setReady(focus)
    else if (this.editor.text === '' && (pane.isAnswer(key) || this.#isRepeated(key)))
      this.notice('key ignored: it came before you could read the question; press it again')
    else this.#write(key)
  }

  /** Whether this is the key of the last answer, held down or pressed twice. */
  #isRepeated(key: Key): boolean {
    const { text, at } = this.#answered ?? { text: undefined, at: 0 }
    const now = performance.now()
    const isSame = key.kind === 'text' && key.text === text && this.editor.text === '' && now - at < settleMs
    if (isSame) this.#answered = { text: key.text, at: now }
    return isSame
  }

  /** Makes the first pane accept keys once it was shown for a moment without a key press and the input is empty. */
  #settle(): void {
    const [pane] = this.#panes
    clearTimeout(this.#settling)
    this.#settling = undefined
    if (pane === undefined) {
      this.#focus = undefined
      return
    }
    const now = performance.now()
    if (this.#focus?.pane !== pane) this.#focus = { pane, quietSince: now, isReady: pane.direct }
    const focus = this.#focus
    if (focus.isReady || this.editor.text !== '' || this.#pager !== undefined) return
    const leftMs = focus.quietSince + pane.settleMs - now
    if (leftMs <= 0) this.#setReady(focus)
    else this.#settling = setTimeout(() => this.#paint(), Math.ceil(leftMs))
  }

  #setReady(focus: { isReady: boolean }): void {
    focus.isReady = true
    this.changed()
  }

  #write(key: Key): void {
    const { name, ctrl, shift } = key.kind === 'key' ? key : noKey
    if (ctrl && name === 'd' && this.editor.text === '') this.#callbacks.leave()
    else if (name === 'escape') this.#callbacks.escape()
    else if (name === 'tab' && shift) this.#callbacks.nextMode()
    else {
      const sent = this.editor.key(key)
      if (sent !== undefined && sent.trim() !== '') this.#callbacks.submit(sent)
    }
  }

  readonly #gone = (): void => this.#callbacks.leave()

  #suspend(): void {
    this.#closePager()
    this.#screen.end()
    this.#keys.stop()
    suspend(() => {
      if (!this.#isOn) return
      this.#keys.start()
      this.changed()
    })
  }

  #printed(lines: readonly string[]): void {
    if (this.#pager !== undefined) {
      this.#pendingLines.push(...lines)
      return
    }
    this.#endsEmpty = lines.length > 0 ? lines.at(-1) === '' : this.#endsEmpty
    this.#screen.print(lines, this.#live())
  }

  #paint(): void {
    clearTimeout(this.#paintTimer)
    this.#paintTimer = undefined
    if (!this.#isOn) return
    this.#settle()
    const printed = this.#callbacks.pull(this.#io.columns())
    if (printed.length > 0) this.#printed(printed)
    else if (this.#pager === undefined) this.#screen.show(this.#live())
    if (this.#resized) this.#pager?.paint()
    this.#resized = false
  }

  #live(): Live {
    if (!this.#isOn) return { lines: [] }
    const columns = this.#io.columns()
    const rows = this.#rows()
    const inputRows = Math.max(1, Math.min(10, Math.floor(rows / 2)))
    const { lines, cursor } = this.#bottom(columns, rows, inputRows)
    const { dim, yellow } = this.#colors
    const below =
      this.#notice === ''
        ? dim(cutTo(this.#callbacks.status(columns - 1), columns - 1))
        : yellow(cutTo(this.#notice, columns - 1))
    const above = this.#callbacks.live(columns, Math.max(0, rows - lines.length - 3))
    const all = [...above, ...(above.length > 0 ? [''] : []), ...lines, below]
    const row = (cursor?.row ?? 0) + all.length - 1 - lines.length
    return { lines: all, cursor: cursor && { row, column: cursor.column } }
  }

  /** The question, the input, or both while the input has text. */
  #bottom(columns: number, rows: number, inputRows: number): Live {
    const focus = this.#focus
    if (focus === undefined || this.#panes[0] !== focus.pane) return this.#input(columns, inputRows)
    const room = Math.max(4, rows - (rows < 20 ? 2 : 6))
    if (focus.isReady) return focus.pane.view(columns, room, true)
    const input = this.#input(columns, Math.min(3, inputRows))
    const hint = this.editor.text === '' ? [] : [this.#colors.yellow(cutTo(tabHint, columns - 1))]
    const above = [...focus.pane.view(columns, room - input.lines.length - 1, false).lines, ...hint]
    const { row, column } = input.cursor
    return { lines: [...above, ...input.lines], cursor: { row: row + above.length, column } }
  }

  #input(columns: number, rows: number): LiveInput {
    const { cyan, dim } = this.#colors
    const { lines, cursor } = this.editor.view({ prompt: cyan('› '), columns, rows })
    const suggestion = this.editor.text === '' ? this.#callbacks.suggestion?.() : undefined
    if (suggestion !== undefined)
      return { lines: [`${cyan('› ')}${dim(cutTo(`${suggestion}   (Enter)`, columns - 4))}`], cursor }
    const candidates = this.editor.candidates()
    const width = Math.max(0, ...candidates.map(({ value }) => value.length))
    const hints = candidates
      .slice(0, maxHints)
      .map(
        ({ value, description }) =>
          `  ${description === undefined ? value : `${value.padEnd(width)}  ${description}`}`,
      )
    const more = candidates.length - hints.length
    const shown = more > 0 ? [...hints, `  … ${more} more`] : hints
    return { lines: [...lines, ...shown.map((hint) => dim(cutTo(hint, columns - 2)))], cursor }
  }

  #rows(): number {
    return rowsOf(this.#io.stdout)
  }
}

const maxHints = 8
const tabHint = '  press Tab to answer the question; other keys go to your prompt'
const noKey = { name: '', ctrl: false, shift: false }

/** Suspends the process like Ctrl-Z in other programs, and calls `resumed` when it continues. */
function suspend(resumed: () => void): void {
  // Windows has no job control.
  if (process.platform === 'win32') resumed()
  else {
    process.once('SIGCONT', () => {
      // A background process is not notified when the size of the terminal changes.
      process.kill(process.pid, 'SIGWINCH')
      resumed()
    })
    // Signals the whole process group, as the terminal does, because the parent process waits for this one.
    process.kill(0, 'SIGTSTP')
  }
}
