import { createInterface } from 'node:readline'
import type { AskAnswer, AskRequest } from '../../loop/ask.js'
import { messageOf } from '../../tool/errors.js'
import { type ExitCode, exitCodes } from '../exit-codes.js'
import { exitCodeOf } from '../failure.js'
import { RefusedAsks } from '../headless/refused-asks.js'
import { type Io, write } from '../io.js'
import { type Prepared, warningsOf } from '../setup/prepare.js'
import { type Colors, colorsFor } from '../terminal/colors.js'
import { safeLine } from '../terminal/safe-text.js'
import { askApproval, withdrawnAnswer } from './ask/ask-approval.js'
import { AskQueue } from './ask/ask-queue.js'
import { Chat, type UserHandlers } from './chat.js'
import { PlainStream } from './markdown/markdown-stream.js'
import { type Prompter, viewChoice } from './prompter.js'
import { questionHandler } from './questions.js'
import { EditDiffs } from './run/edit-diffs.js'
import { RunView } from './run/run-view.js'
import { runSlash } from './slash/slash-commands.js'
import { TypedLines } from './typed-lines.js'

/**
 * An interactive session without terminal features: one prompt per line, the answer as plain text. If the lines come
 * from a pipe, calls that need an approval are rejected and listed at the end.
 */
export class PlainChat {
  readonly #io: Io
  readonly #colors: Colors
  readonly #refused = new RefusedAsks()
  readonly #asks = new AskQueue()
  /** The lines that a user types; undefined if the lines come from a pipe or a script. */
  readonly #typed: TypedLines | undefined
  readonly #lines: AsyncIterator<string> | undefined
  readonly #agrees: boolean
  #chat: Chat | undefined
  #view: RunView | undefined

  /** `lines`: prompts to send instead of the lines of the input. `agrees`: every question is answered with yes. */
  constructor(io: Io, given: { readonly lines?: AsyncIterable<string>; readonly agrees?: true } = {}) {
    this.#io = io
    this.#colors = colorsFor(io, 'stdout')
    this.#agrees = given.agrees === true
    if (given.lines === undefined && io.isTTY.stdin) this.#typed = new TypedLines(io.stdin)
    else
      this.#lines = (given.lines ??
        createInterface({ input: io.stdin, crlfDelay: Number.POSITIVE_INFINITY, terminal: false }))[
        Symbol.asyncIterator
      ]()
  }

  async run(prepare: () => Promise<Prepared>): Promise<ExitCode> {
    const prepared = await prepare()
    try {
      const chat = await Chat.open(prepared, this.#io, this.#handlers(prepared))
      this.#chat = chat
      for (const warning of warningsOf(prepared, chat.session))
        await write(this.#io.stderr, `warning: ${safeLine(warning, 500)}\n`)
      for (const note of !this.#agrees ? prepared.notes : [])
        await write(this.#io.stderr, `${safeLine(note, 500)}\n`)
      if (chat.interrupted !== undefined)
        await write(
          this.#io.stderr,
          `note: The last run was interrupted: "${safeLine(chat.interrupted, 120)}".\n`,
        )
      return await this.#talk(chat)
    } finally {
      this.#typed?.close()
      await this.#lines?.return?.()
      await this.#chat?.stop()
      await prepared.close()
    }
  }

  async #talk(chat: Chat): Promise<ExitCode> {
    let code: ExitCode = exitCodes.done
    for (let text = await this.#prompt(); text !== undefined; text = await this.#prompt()) {
      if (text.trim() === '') continue
      try {
        const outcome = await runSlash(text.trim(), {
          chat,
          colors: this.#colors,
          columns: Math.max(40, this.#io.columns()),
        })
        if (outcome?.leave === true || /^\/exit\s*$/.test(text)) break
        if (outcome === undefined) code = await this.#send(text, chat)
        else if (outcome.text !== undefined) await this.#print(outcome.text.split('\n'))
        if (outcome?.lines !== undefined) await this.#print(outcome.lines)
        if (outcome?.later !== undefined) code = await this.#send(outcome.later, chat)
      } catch (error) {
        await this.#print([`capstan: ${safeLine(messageOf(error), 1_000)}`])
        code = exitCodeOf(error)
      }
      if (this.#io.signal.aborted)
        return this.#io.signal.reason === 'SIGINT' ? exitCodes.cancelled : exitCodes.terminated
    }
    const report = this.#refused.report()
    if (report === '') return code
    await write(this.#io.stderr, `${report}\n`)
    return code === exitCodes.done ? exitCodes.incomplete : code
  }

  async #send(text: string, chat: Chat): Promise<ExitCode> {
    let code: ExitCode = exitCodes.done
    const columns = (): number => Math.max(40, this.#io.columns())
    const view = new RunView(new PlainStream(), this.#colors)
    this.#view = view
    try {
      for await (const event of await chat.session.stream({ prompt: text, signal: this.#io.signal })) {
        view.add(event, columns())
        await this.#print(view.pull(columns()))
        if (event.type === 'error') code = exitCodes.failed
        if (event.type === 'agent_cancelled') code = exitCodes.cancelled
      }
    } finally {
      // The calls of the run have ended, so their questions are withdrawn.
      this.#asks.withdrawAll()
      this.#view = undefined
    }
    return code
  }

  /** Reads a prompt. A line that ends with a backslash continues on the next line. */
  async #prompt(): Promise<string | undefined> {
    const parts: string[] = []
    for (;;) {
      if (this.#io.isTTY.stdin && !this.#agrees)
        await write(this.#io.stdout, parts.length === 0 ? '> ' : '  ')
      const line = await this.#next()
      if (line === undefined) return parts.length === 0 ? undefined : parts.join('\n')
      if (!line.endsWith('\\')) return [...parts, line].join('\n')
      parts.push(line.slice(0, -1))
    }
  }

  async #next(): Promise<string | undefined> {
    const { signal } = this.#io
    if (signal.aborted) return undefined
    const stopped = new Promise<undefined>((resolve) => {
      signal.addEventListener('abort', () => resolve(undefined), { once: true })
    })
    if (this.#typed !== undefined) return Promise.race([this.#typed.next(), stopped])
    const taken = await Promise.race([this.#lines?.next(), stopped])
    return taken?.done === true ? undefined : taken?.value
  }

  #handlers(prepared: Prepared): UserHandlers {
    const edits = new EditDiffs(prepared.workspace, (diffs) => this.#view?.edited(diffs, this.#io.columns()))
    if (!this.#io.isTTY.stdin && !this.#agrees)
      return { middleware: [edits.middleware], onAsk: this.#refused.handler }
    return {
      middleware: [edits.middleware],
      onAsk: (request) => {
        edits.seen(request.id)
        return this.#ask(request, prepared.workspace)
      },
      onQuestion: questionHandler(this.#asks, this.#prompter, {
        colors: this.#colors,
        columns: () => this.#io.columns(),
      }),
    }
  }

  #ask(request: AskRequest, root: string): Promise<AskAnswer> {
    const isOpen = (): boolean => this.#chat?.isAsked(request) ?? true
    const place = { root, colors: this.#colors, columns: this.#io.columns() }
    return this.#asks.put(
      isOpen,
      (signal) => askApproval(request, this.#prompter, { ...place, signal }),
      withdrawnAnswer,
    )
  }

  readonly #prompter: Prompter = {
    leavesQuestion: true,
    print: (lines) => this.#print([...(this.#view?.interrupt(this.#io.columns()) ?? []), ...lines]),
    choose: async ({ title, choices, about, whole, signal }) => {
      const columns = this.#io.columns()
      await this.#prompter.print(about === undefined ? [] : ['', ...about(columns, maxAboutLines)])
      if (this.#agrees) return 0
      for (;;) {
        const listed = whole === undefined ? choices : [...choices, viewChoice]
        await this.#print(listed.map(({ key, label }) => `  ${key}  ${label}`))
        const answer = (await this.#prompter.askLine({ title, signal }))?.trim().toLowerCase()
        if (whole === undefined || answer !== viewChoice.key) {
          const chosen = choices.findIndex(({ key }) => key === answer)
          return chosen < 0 ? undefined : chosen
        }
        await this.#print(whole(columns))
      }
    },
    askLine: async ({ title, signal }) => {
      if (this.#agrees) return undefined
      await write(this.#io.stdout, `${title} `)
      return this.#typed?.answer(signal)
    },
  }

  async #print(lines: readonly string[]): Promise<void> {
    if (lines.length > 0) await write(this.#io.stdout, `${lines.join('\n')}\n`)
  }
}

const maxAboutLines = 80
