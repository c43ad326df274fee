import type { ModeName } from '../../authority/mode.js'
import type { AskAnswer, AskRequest } from '../../loop/ask.js'
import { messageOf } from '../../tool/errors.js'
import { type ExitCode, exitCodes } from '../exit-codes.js'
import type { Io } from '../io.js'
import type { Prepared } from '../setup/prepare.js'
import { type Colors, colorsFor } from '../terminal/colors.js'
import { safeLine } from '../terminal/safe-text.js'
import { wrapRow, wrapText } from '../terminal/wrap.js'
import { AskQueue } from './ask/ask-queue.js'
import type { Chat, UserHandlers } from './chat.js'
import type { History } from './editor/history.js'
import type { Guide } from './guide.js'
import { echoLines, failureLines, goodbye, recapLines, welcomeLines } from './messages.js'
import type { Prompter } from './prompter.js'
import type { EditDiffs } from './run/edit-diffs.js'
import type { RunView } from './run/run-view.js'
import { TerminalUi } from './screen/terminal-ui.js'
import { statusLine } from './status-line.js'

/** An interactive session in a terminal. */
export class TerminalChat {
  readonly #io: Io
  readonly #colors: Colors
  readonly #ui: TerminalUi
  readonly #guide: Guide | undefined
  readonly #waiting: string[] = []
  /** Messages for the current run that are not sent to it yet. */
  readonly #unsent: string[] = []
  /** Messages that were sent to the current run, and that the model has not read yet. */
  readonly #unread: string[] = []
  readonly #asks = new AskQueue()
  #edits: EditDiffs | undefined
  #history: History | undefined
  #commands: typeof import('./slash/slash-commands.js') | undefined
  #chat: Chat | undefined
  #view: RunView | undefined
  #isBusy = false
  /** Resolves when the history is written. */
  #historyWritten: Promise<void> = Promise.resolve()
  #leave: ((code: ExitCode) => void) | undefined
  readonly #left: Promise<ExitCode>

  constructor(io: Io, guide?: Guide) {
    this.#io = io
    this.#guide = guide
    this.#colors = colorsFor(io, 'stdout')
    this.#left = new Promise((resolve) => {
      this.#leave = resolve
    })
    this.#ui = new TerminalUi(io, {
      entries: () => this.#history?.entries ?? [],
      complete: (text) => this.#commands?.completeSlash(text, this.#chat) ?? [],
      suggestion: () => (this.#isBusy ? undefined : this.#guide?.suggestion()),
      submit: (text) => this.#submit(text),
      interrupt: (again) => this.#interrupt(again),
      escape: () => this.#cancel(),
      leave: () => this.#leave?.(exitCodes.done),
      nextMode: () => void this.#nextMode(),
      pull: (columns) => this.#view?.pull(columns) ?? [],
      live: (columns, rows) => this.#view?.live(columns, rows) ?? [],
      status: (columns) => statusLine(this.#chat, this.#isBusy, columns),
    })
  }

  /** Runs until the user exits. Prompts that are sent before the session is ready wait for it. */
  async run(prepare: () => Promise<Prepared>): Promise<ExitCode> {
    const onSignal = (): void =>
      this.#leave?.(this.#io.signal.reason === 'SIGINT' ? exitCodes.cancelled : exitCodes.terminated)
    this.#io.signal.addEventListener('abort', onSignal, { once: true })
    this.#ui.start()
    const begun = this.#begin(prepare)
    try {
      // The user can exit before the session is ready.
      await Promise.race([begun, this.#left])
      return await this.#left
    } finally {
      this.#io.signal.removeEventListener('abort', onSignal)
      this.#chat?.session.cancel()
      this.#ui.stop()
      if (this.#chat !== undefined && this.#guide === undefined)
        this.#io.stdout.write(goodbye(this.#chat, this.#colors))
      await this.#historyWritten
      await this.#chat?.stop()
      await begun.then(
        (prepared) => prepared.close(),
        // The error was reported where `begun` was awaited.
        () => undefined,
      )
    }
  }

  async #begin(prepare: () => Promise<Prepared>): Promise<Prepared> {
    const [prepared, { Chat: Opened }, { EditDiffs }, { openHistory }, { questionHandler }, commands] =
      await Promise.all([
        prepare(),
        import('./chat.js'),
        import('./run/edit-diffs.js'),
        import('./editor/history.js'),
        import('./questions.js'),
        import('./slash/slash-commands.js'),
      ])
    this.#commands = commands
    this.#history = await openHistory(prepared.userDir)
    for (const text of this.#waiting) this.#addToHistory(text)
    const edits = new EditDiffs(prepared.workspace, (diffs) => {
      this.#view?.edited(diffs, this.#io.columns())
      this.#ui.changed()
    })
    this.#edits = edits
    const handlers: UserHandlers = {
      middleware: [edits.middleware],
      onAsk: (request) => {
        edits.seen(request.id)
        return this.#ask(request)
      },
      onQuestion: questionHandler(this.#asks, this.#prompter, {
        colors: this.#colors,
        columns: () => this.#io.columns(),
      }),
    }
    const chat = await Opened.open(prepared, this.#io, handlers)
    this.#chat = chat
    this.#print(welcomeLines(chat, this.#guide, this.#colors))
    this.#print(recapLines(chat, this.#colors, this.#io.columns()))
    void this.#work()
    return prepared
  }

  #submit(text: string): void {
    this.#addToHistory(text)
    const isCommand = /^\/[a-z]/i.test(text)
    if (isCommand && /^\/(quit|exit)\s*$/.test(text)) this.#leave?.(exitCodes.done)
    else if (this.#view !== undefined && !isCommand) {
      this.#unsent.push(text)
      this.#steer()
    } else {
      this.#waiting.push(text)
      if (this.#isBusy) this.#ui.notice(`${this.#waiting.length} waiting for the current run`)
      void this.#work()
    }
  }

  #addToHistory(text: string): void {
    const written = this.#history?.add(text).catch((error: unknown) => {
      this.#ui.notice(`the history cannot be saved: ${safeLine(messageOf(error))}`)
    })
    if (written !== undefined) this.#historyWritten = written
  }

  /** Sends messages to the current run. A run that has just started does not accept them yet. */
  #steer(): void {
    for (const text of [...this.#unsent]) {
      if (this.#chat?.session.steer(text) !== true) return
      this.#unsent.shift()
      this.#unread.push(text)
      this.#echo(text, 'sent to the current run')
    }
  }

  /** Handles the waiting prompts, one after the other. */
  async #work(): Promise<void> {
    const chat = this.#chat
    if (this.#isBusy || chat === undefined) return
    this.#isBusy = true
    try {
      for (let text = this.#waiting.shift(); text !== undefined; text = this.#waiting.shift()) {
        this.#ui.notice('')
        this.#echo(text)
        await this.#take(text, chat)
        const next = this.#guide?.sent(text, this.#colors) ?? []
        if (next.length > 0) this.#print([...next, ''])
      }
    } catch (error) {
      this.#print(failureLines(error, this.#colors))
    } finally {
      this.#isBusy = false
      this.#ui.changed()
    }
    if (this.#waiting.length > 0) await this.#work()
  }

  async #take(text: string, chat: Chat): Promise<void> {
    const outcome = await this.#commands?.runSlash(text, {
      chat,
      colors: this.#colors,
      columns: this.#io.columns(),
      page: (title, lines) => this.#ui.page(title, lines),
      choose: (title, labels) =>
        this.#ui.choose({
          title,
          choices: labels.map((label, at) => ({ key: keyFor(at), label })),
          direct: true,
        }),
    })
    if (outcome === undefined) return this.#send(text, chat)
    if (outcome.text !== undefined)
      this.#print([...outcome.text.split('\n').flatMap((line) => wrapRow(line, this.#io.columns() - 1)), ''])
    if (outcome.lines !== undefined) this.#ui.print(outcome.lines)
    if (outcome.recap === true) this.#print(recapLines(chat, this.#colors, this.#io.columns()))
    if (outcome.draft !== undefined) this.#ui.editor.set(outcome.draft)
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
    this.#ui.animate(true)
    try {
      for await (const event of await chat.session.stream({ prompt: text, signal: this.#io.signal })) {
        if (event.type === 'steered') this.#unread.length = 0
        view.add(event, this.#io.columns())
        this.#steer()
        this.#ui.changed()
      }
    } finally {
      // The calls of the run have ended, so their questions are withdrawn.
      this.#asks.withdrawAll()
      this.#edits?.clear()
      this.#ui.dismiss()
      this.#ui.animate(false)
      this.#ui.print([])
      this.#view = undefined
    }
    // The run ended before the model read these messages.
    const late = [...this.#unread.splice(0), ...this.#unsent.splice(0)]
    if (late.length > 0) this.#waiting.unshift(late.join('\n'))
  }

  async #ask(request: AskRequest): Promise<AskAnswer> {
    const { askApproval, withdrawnAnswer } = await import('./ask/ask-approval.js')
    const root = this.#chat?.prepared.workspace ?? this.#io.cwd
    const isOpen = (): boolean => this.#chat?.isAsked(request) ?? true
    const ask = (signal: AbortSignal): Promise<AskAnswer> =>
      askApproval(request, this.#prompter, {
        root,
        colors: this.#colors,
        columns: this.#io.columns(),
        signal,
      })
    return this.#asks.put(isOpen, ask, withdrawnAnswer)
  }

  readonly #prompter: Prompter = {
    leavesQuestion: false,
    print: (lines) => this.#print(lines),
    choose: (question) => this.#ui.choose(question),
    askLine: (question) => this.#ui.askLine(question),
  }

  #interrupt(again: boolean): void {
    if (again) this.#leave?.(exitCodes.cancelled)
    else if (this.#cancel()) this.#ui.notice('cancelling; press Ctrl-C again to exit')
    else if (this.#ui.editor.text !== '') this.#ui.editor.set('')
    else this.#ui.notice('press Ctrl-C again to exit')
  }

  #cancel(): boolean {
    if (!this.#isBusy) return false
    this.#waiting.length = 0
    this.#unread.length = 0
    this.#unsent.length = 0
    const cancelled = this.#chat?.session.cancel() ?? false
    this.#asks.withdrawAll()
    this.#ui.dismiss()
    return cancelled || this.#view !== undefined
  }

  async #nextMode(): Promise<void> {
    const chat = this.#chat
    if (chat === undefined) return
    const at = cycle.indexOf(chat.mode)
    try {
      await chat.setMode(cycle[(at + 1) % cycle.length])
    } catch (error) {
      this.#print(failureLines(error, this.#colors))
    }
    this.#ui.changed()
  }

  #echo(text: string, more = ''): void {
    this.#print(echoLines(text, more, this.#colors, this.#io.columns()))
  }

  /** Prints lines after the output of the current run. */
  #print(lines: readonly string[]): void {
    const columns = this.#io.columns()
    const before = this.#view?.interrupt(columns) ?? []
    this.#ui.print([...before, ...lines.flatMap((line) => wrapText(line, columns))])
  }
}

const cycle: readonly (ModeName | undefined)[] = [undefined, 'accept-edits', 'plan']

function keyFor(at: number): string {
  return at < 9 ? String(at + 1) : String.fromCharCode(97 + at - 9)
}
