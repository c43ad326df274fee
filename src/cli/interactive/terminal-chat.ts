import type { ModeName } from '../../authority/mode.js'
import type { AskAnswer, AskRequest } from '../../loop/ask.js'
import { messageOf } from '../../tool/errors.js'
import { CommandLineError } from '../errors.js'
import { type ExitCode, exitCodes } from '../exit-codes.js'
import type { Io } from '../io.js'
import type { Prepared } from '../setup/prepare.js'
import { type Colors, colorsFor } from '../terminal/colors.js'
import { safeLine, safeText } from '../terminal/safe-text.js'
import { wrapText } from '../terminal/wrap.js'
import type { Asking } from './asking.js'
import { Chat, type Person } from './chat.js'
import { forgetfulHistory, type History, openHistory } from './editor/history.js'
import type { Guide } from './guide.js'
import { askQuestions } from './questions.js'
import type { RunView } from './run/run-view.js'
import { Front } from './screen/front.js'
import { completeSlash, runSlash } from './slash/slash-commands.js'
import { statusLine } from './status-line.js'

/** An interactive session in a terminal. */
export class TerminalChat {
  readonly #io: Io
  readonly #colors: Colors
  readonly #front: Front
  readonly #guide: Guide | undefined
  readonly #waiting: string[] = []
  /** For the run at work, and not said to it yet. */
  readonly #unsaid: string[] = []
  /** Said to the run at work, and not read by the model yet. */
  readonly #unread: string[] = []
  #history: History = forgetfulHistory()
  #chat: Chat | undefined
  #view: RunView | undefined
  #isBusy = false
  /** What was sent is in the history. */
  #kept: Promise<void> = Promise.resolve()
  #leave: ((code: ExitCode) => void) | undefined
  readonly #left: Promise<ExitCode>

  constructor(io: Io, guide?: Guide) {
    this.#io = io
    this.#guide = guide
    this.#colors = colorsFor(io, 'stdout')
    this.#left = new Promise((resolve) => {
      this.#leave = resolve
    })
    this.#front = new Front(io, {
      entries: () => this.#history.entries,
      complete: (text) => completeSlash(text, this.#chat),
      suggestion: () => (this.#isBusy ? undefined : this.#guide?.suggestion()),
      submit: (text) => this.#submit(text),
      interrupt: (again) => this.#interrupt(again),
      escape: () => this.#cancel(),
      leave: () => this.#leave?.(exitCodes.done),
      nextMode: () => void this.#nextMode(),
      pull: (columns) => this.#view?.pull(columns) ?? [],
      live: (columns, rows) => this.#view?.live(columns, rows) ?? [],
      status: () => statusLine(this.#chat, this.#isBusy),
    })
  }

  /** Until the person leaves. The prompt is there at once; what is typed before all is ready waits for it. */
  async run(prepare: () => Promise<Prepared>): Promise<ExitCode> {
    const onSignal = (): void =>
      this.#leave?.(this.#io.signal.reason === 'SIGINT' ? exitCodes.cancelled : exitCodes.terminated)
    this.#io.signal.addEventListener('abort', onSignal, { once: true })
    this.#front.start()
    let prepared: Prepared | undefined
    try {
      prepared = await prepare()
      await this.#begin(prepared)
      return await this.#left
    } finally {
      this.#io.signal.removeEventListener('abort', onSignal)
      this.#chat?.session.cancel()
      this.#front.stop()
      this.#sayGoodbye()
      await this.#kept
      await prepared?.close()
    }
  }

  async #begin(prepared: Prepared): Promise<void> {
    const { dim, yellow, bold } = this.#colors
    this.#history = await openHistory(prepared.userDir)
    const person: Person = {
      onAsk: (request) => this.#ask(request),
      onQuestion: (questions, from) =>
        askQuestions(questions, from, this.#asking, this.#colors, this.#io.columns()),
    }
    this.#chat = await Chat.open(prepared, this.#io, person)
    this.#tell([
      `${bold('capstan')} ${dim(`in ${safeLine(prepared.workspace, 300)}; /help says what can be typed`)}`,
      ...[...prepared.warnings, ...(this.#chat.session.initWarning?.split('\n') ?? [])].map((warning) =>
        yellow(`warning: ${safeLine(warning, 500)}`),
      ),
      ...(this.#guide === undefined ? prepared.notes.map((note) => dim(safeLine(note, 500))) : []),
      ...(this.#guide?.welcome(this.#colors) ?? []),
      '',
    ])
    if (this.#chat.session.messages().length > 0) this.#recap()
    void this.#work()
  }

  #submit(text: string): void {
    this.#kept = this.#history
      .add(text)
      .catch((error: unknown) => this.#front.notice(`the history is not kept: ${safeLine(messageOf(error))}`))
    const isCommand = /^\/[a-z]/i.test(text)
    if (isCommand && /^\/(quit|exit)\s*$/.test(text)) this.#leave?.(exitCodes.done)
    else if (this.#view !== undefined && !isCommand) {
      this.#unsaid.push(text)
      this.#say()
    } else {
      this.#waiting.push(text)
      if (this.#isBusy) this.#front.notice(`${this.#waiting.length} waiting until this is done`)
      void this.#work()
    }
  }

  /** Says to the run at work what was sent meanwhile. At its very beginning it does not listen yet. */
  #say(): void {
    for (const text of [...this.#unsaid]) {
      if (this.#chat?.session.steer(text) !== true) return
      this.#unsaid.shift()
      this.#unread.push(text)
      this.#echo(text, ' (said to the run at work)')
    }
  }

  /** Takes what was sent, one after the other. */
  async #work(): Promise<void> {
    const chat = this.#chat
    if (this.#isBusy || chat === undefined) return
    this.#isBusy = true
    try {
      for (let text = this.#waiting.shift(); text !== undefined; text = this.#waiting.shift()) {
        this.#front.notice('')
        this.#echo(text)
        await this.#take(text, chat)
        const told = this.#guide?.sent(text, this.#colors) ?? []
        if (told.length > 0) this.#tell([...told, ''])
      }
    } catch (error) {
      this.#fail(error)
    } finally {
      this.#isBusy = false
      this.#front.changed()
    }
    if (this.#waiting.length > 0) await this.#work()
  }

  async #take(text: string, chat: Chat): Promise<void> {
    const outcome = await runSlash(text, {
      chat,
      choose: (title, labels) =>
        this.#front.choose(
          title,
          labels.map((label, at) => ({ key: keyFor(at), label })),
        ),
    })
    if (outcome === undefined) return this.#send(text, chat)
    if (outcome.says !== undefined)
      this.#tell([
        ...outcome.says.split('\n').flatMap((line) => wrapText(line, this.#io.columns() - 1, '    ')),
        '',
      ])
    if (outcome.recap === true) this.#recap()
    if (outcome.draft !== undefined) this.#front.editor.set(outcome.draft)
    if (outcome.later !== undefined) this.#waiting.push(outcome.later)
    if (outcome.leave === true) this.#leave?.(exitCodes.done)
  }

  async #send(text: string, chat: Chat): Promise<void> {
    const [{ RunView: View }, { MarkdownStream }] = await Promise.all([
      import('./run/run-view.js'),
      import('./markdown/markdown-stream.js'),
    ])
    const view = new View(new MarkdownStream(this.#colors), this.#colors)
    this.#view = view
    this.#front.animate(true)
    try {
      for await (const event of await chat.session.stream({ prompt: text, signal: this.#io.signal })) {
        if (event.type === 'steered') this.#unread.length = 0
        if (event.type === 'agent_end') chat.count(event.result)
        view.tell(event, this.#io.columns())
        this.#say()
        this.#front.changed()
      }
    } finally {
      // Whoever asked something is gone.
      this.#front.dismiss()
      this.#front.animate(false)
      this.#front.print([])
      this.#view = undefined
    }
    // The run ended before the model came to read it.
    const late = [...this.#unread.splice(0), ...this.#unsaid.splice(0)]
    if (late.length > 0) this.#waiting.unshift(late.join('\n'))
  }

  async #ask(request: AskRequest): Promise<AskAnswer> {
    const { askPerson } = await import('./ask/ask-person.js')
    const root = this.#chat?.prepared.workspace ?? this.#io.cwd
    return askPerson(request, this.#asking, { root, colors: this.#colors, columns: this.#io.columns() })
  }

  readonly #asking: Asking = {
    print: (lines) => this.#tell(lines),
    choose: (title, choices) => this.#front.choose(title, choices),
    askLine: (title) => this.#front.askLine(title),
  }

  #interrupt(again: boolean): void {
    if (again) this.#leave?.(exitCodes.cancelled)
    else if (this.#cancel()) this.#front.notice('cancelling; Ctrl-C again leaves')
    else if (this.#front.editor.text !== '') this.#front.editor.set('')
    else this.#front.notice('Ctrl-C again leaves')
  }

  #cancel(): boolean {
    if (!this.#isBusy) return false
    this.#waiting.length = 0
    this.#unread.length = 0
    this.#unsaid.length = 0
    const cancelled = this.#chat?.session.cancel() ?? false
    this.#front.dismiss()
    return cancelled || this.#view !== undefined
  }

  async #nextMode(): Promise<void> {
    const chat = this.#chat
    if (chat === undefined) return
    const at = cycle.indexOf(chat.mode)
    try {
      await chat.setMode(cycle[(at + 1) % cycle.length])
    } catch (error) {
      this.#fail(error)
    }
    this.#front.changed()
  }

  #echo(text: string, more = ''): void {
    const { cyan, bold, dim } = this.#colors
    const lines = wrapText(safeText(text).replaceAll('\t', '  '), this.#io.columns() - 3)
    this.#tell([
      ...lines.map(
        (line, at) =>
          `${at === 0 ? cyan('› ') : '  '}${bold(line)}${at === lines.length - 1 ? dim(more) : ''}`,
      ),
      '',
    ])
  }

  /** What was said last, for whoever comes back. */
  #recap(): void {
    const messages =
      this.#chat?.session.messages().filter(({ role }) => role === 'user' || role === 'assistant') ?? []
    const { dim } = this.#colors
    this.#tell([
      dim(`going on with a session of ${messages.length} messages:`),
      ...messages
        .slice(-4)
        .map(({ role, text }) =>
          dim(`  ${role === 'user' ? '›' : ' '} ${safeLine(text, this.#io.columns() - 6)}`),
        ),
      '',
    ])
  }

  /** Behind what the run at work has to say so far. */
  #tell(lines: readonly string[]): void {
    const columns = this.#io.columns()
    const before = this.#view?.interrupt(columns) ?? []
    this.#front.print([...before, ...lines.flatMap((line) => wrapText(line, columns))])
  }

  #fail(error: unknown): void {
    const { red, dim } = this.#colors
    const hint = error instanceof CommandLineError ? error.hint : undefined
    this.#tell([
      red(`capstan: ${safeLine(messageOf(error), 1_000)}`),
      ...(hint === undefined ? [] : [dim(`hint: ${safeLine(hint, 500)}`)]),
      '',
    ])
  }

  #sayGoodbye(): void {
    const chat = this.#chat
    if (
      chat === undefined ||
      chat.session.messages().length === 0 ||
      chat.prepared.store === undefined ||
      this.#guide !== undefined
    )
      return
    const { dim } = this.#colors
    this.#io.stdout.write(
      `${dim(`go on with it: capstan --session ${safeLine(chat.session.sessionId, 100)}`)}\n`,
    )
  }
}

const cycle: readonly (ModeName | undefined)[] = [undefined, 'accept-edits', 'plan']

function keyFor(at: number): string {
  return at < 9 ? String(at + 1) : String.fromCharCode(97 + at - 9)
}
