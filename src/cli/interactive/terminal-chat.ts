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
import type { Asking } from './asking.js'
import type { Chat, Person } from './chat.js'
import type { History } from './editor/history.js'
import type { Guide } from './guide.js'
import { echoLines, failureLines, goodbye, recapLines, welcomeLines } from './messages.js'
import type { EditDiffs } from './run/edit-diffs.js'
import type { RunView } from './run/run-view.js'
import { Front } from './screen/front.js'
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
  readonly #asks = new AskQueue()
  /** Subagents that have ended: their questions are withdrawn. */
  readonly #endedTasks = new Set<string>()
  #edits: EditDiffs | undefined
  #history: History | undefined
  #commands: typeof import('./slash/slash-commands.js') | undefined
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

  /** Until the person leaves. The prompt is there at once; what is typed before all is ready waits for it. */
  async run(prepare: () => Promise<Prepared>): Promise<ExitCode> {
    const onSignal = (): void =>
      this.#leave?.(this.#io.signal.reason === 'SIGINT' ? exitCodes.cancelled : exitCodes.terminated)
    this.#io.signal.addEventListener('abort', onSignal, { once: true })
    this.#front.start()
    const begun = this.#begin(prepare)
    try {
      // Whoever leaves before all is ready does not wait for it.
      await Promise.race([begun, this.#left])
      return await this.#left
    } finally {
      this.#io.signal.removeEventListener('abort', onSignal)
      this.#chat?.session.cancel()
      this.#front.stop()
      if (this.#chat !== undefined && this.#guide === undefined)
        this.#io.stdout.write(goodbye(this.#chat, this.#colors))
      await this.#kept
      await begun.then(
        (prepared) => prepared.close(),
        // It was told where it was waited for.
        () => undefined,
      )
    }
  }

  async #begin(prepare: () => Promise<Prepared>): Promise<Prepared> {
    const [prepared, { Chat: Opened }, { EditDiffs }, { openHistory }, { askQuestions }, commands] =
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
    for (const text of this.#waiting) this.#keep(text)
    const edits = new EditDiffs(prepared.workspace, (diffs) => {
      this.#view?.edited(diffs, this.#io.columns())
      this.#front.changed()
    })
    this.#edits = edits
    const person: Person = {
      middleware: [edits.middleware],
      onAsk: (request) => {
        edits.seen(request.id)
        return this.#ask(request)
      },
      onQuestion: (questions, from) =>
        this.#asks.put(
          () => from === undefined || !this.#endedTasks.has(from.taskId),
          (signal) =>
            askQuestions(questions, from, this.#asking, {
              colors: this.#colors,
              columns: this.#io.columns(),
              signal,
            }),
          { answers: questions.map(() => []) },
        ),
    }
    const chat = await Opened.open(prepared, this.#io, person)
    this.#chat = chat
    this.#tell(welcomeLines(chat, this.#guide, this.#colors))
    this.#tell(recapLines(chat, this.#colors, this.#io.columns()))
    void this.#work()
    return prepared
  }

  #submit(text: string): void {
    this.#keep(text)
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

  #keep(text: string): void {
    const kept = this.#history?.add(text).catch((error: unknown) => {
      this.#front.notice(`the history is not kept: ${safeLine(messageOf(error))}`)
    })
    if (kept !== undefined) this.#kept = kept
  }

  /** Says to the run at work what was sent meanwhile. At its very beginning it does not listen yet. */
  #say(): void {
    for (const text of [...this.#unsaid]) {
      if (this.#chat?.session.steer(text) !== true) return
      this.#unsaid.shift()
      this.#unread.push(text)
      this.#echo(text, 'said to the run at work')
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
      this.#tell(failureLines(error, this.#colors))
    } finally {
      this.#isBusy = false
      this.#front.changed()
    }
    if (this.#waiting.length > 0) await this.#work()
  }

  async #take(text: string, chat: Chat): Promise<void> {
    const outcome = await this.#commands?.runSlash(text, {
      chat,
      colors: this.#colors,
      columns: this.#io.columns(),
      page: (title, lines) => this.#front.page(title, lines),
      choose: (title, labels) =>
        this.#front.choose({
          title,
          choices: labels.map((label, at) => ({ key: keyFor(at), label })),
          direct: true,
        }),
    })
    if (outcome === undefined) return this.#send(text, chat)
    if (outcome.says !== undefined)
      this.#tell([...outcome.says.split('\n').flatMap((line) => wrapRow(line, this.#io.columns() - 1)), ''])
    if (outcome.lines !== undefined) this.#front.print(outcome.lines)
    if (outcome.recap === true) this.#tell(recapLines(chat, this.#colors, this.#io.columns()))
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
        if (event.type === 'subagent_end') this.#endedTasks.add(event.taskId)
        if (event.type === 'steered') this.#unread.length = 0
        view.tell(event, this.#io.columns())
        this.#say()
        this.#front.changed()
      }
    } finally {
      // The calls of the run have ended, and their questions with them.
      this.#asks.withdrawAll()
      this.#edits?.clear()
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
    const { askPerson, withdrawnAnswer } = await import('./ask/ask-person.js')
    const root = this.#chat?.prepared.workspace ?? this.#io.cwd
    const isOpen = (): boolean => this.#chat?.isAsked(request) ?? true
    const ask = (signal: AbortSignal): Promise<AskAnswer> =>
      askPerson(request, this.#asking, {
        root,
        colors: this.#colors,
        columns: this.#io.columns(),
        signal,
      })
    return this.#asks.put(isOpen, ask, withdrawnAnswer)
  }

  readonly #asking: Asking = {
    leavesQuestion: false,
    print: (lines) => this.#tell(lines),
    choose: (question) => this.#front.choose(question),
    askLine: (question) => this.#front.askLine(question),
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
    this.#asks.withdrawAll()
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
      this.#tell(failureLines(error, this.#colors))
    }
    this.#front.changed()
  }

  #echo(text: string, more = ''): void {
    this.#tell(echoLines(text, more, this.#colors, this.#io.columns()))
  }

  /** Behind what the run at work has to say so far. */
  #tell(lines: readonly string[]): void {
    const columns = this.#io.columns()
    const before = this.#view?.interrupt(columns) ?? []
    this.#front.print([...before, ...lines.flatMap((line) => wrapText(line, columns))])
  }
}

const cycle: readonly (ModeName | undefined)[] = [undefined, 'accept-edits', 'plan']

function keyFor(at: number): string {
  return at < 9 ? String(at + 1) : String.fromCharCode(97 + at - 9)
}
