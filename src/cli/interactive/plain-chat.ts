import { createInterface } from 'node:readline'
import { messageOf } from '../../tool/errors.js'
import { type ExitCode, exitCodes } from '../exit-codes.js'
import { exitCodeOf } from '../failure.js'
import { RefusedAsks } from '../headless/refused-asks.js'
import { type Io, write } from '../io.js'
import { type Prepared, warningsOf } from '../setup/prepare.js'
import { type Colors, colorsFor } from '../terminal/colors.js'
import { safeLine } from '../terminal/safe-text.js'
import { askPerson } from './ask/ask-person.js'
import type { Asking } from './asking.js'
import { Chat, type Person } from './chat.js'
import { PlainStream } from './markdown/markdown-stream.js'
import { askQuestions } from './questions.js'
import { RunView } from './run/run-view.js'
import { runSlash } from './slash/slash-commands.js'

/**
 * An interactive session without the powers of a terminal: a prompt a line, the answer as it is. Where the lines come from a pipe nobody
 * is asked anything: what needs a person is refused, and told at the end.
 */
export class PlainChat {
  readonly #io: Io
  readonly #colors: Colors
  readonly #refused = new RefusedAsks()
  readonly #lines: AsyncIterator<string>
  readonly #agrees: boolean
  #view: RunView | undefined

  /** `lines`: what is sent, instead of what comes in. `agrees`: everything that may be asked about is agreed to. */
  constructor(io: Io, given: { readonly lines?: AsyncIterable<string>; readonly agrees?: true } = {}) {
    this.#io = io
    this.#colors = colorsFor(io, 'stdout')
    this.#agrees = given.agrees === true
    this.#lines = (given.lines ??
      createInterface({ input: io.stdin, crlfDelay: Number.POSITIVE_INFINITY, terminal: false }))[
      Symbol.asyncIterator
    ]()
  }

  async run(prepare: () => Promise<Prepared>): Promise<ExitCode> {
    const prepared = await prepare()
    try {
      const chat = await Chat.open(prepared, this.#io, this.#person(prepared))
      for (const warning of warningsOf(prepared, chat.session))
        await write(this.#io.stderr, `warning: ${safeLine(warning, 500)}\n`)
      for (const note of !this.#agrees ? prepared.notes : [])
        await write(this.#io.stderr, `${safeLine(note, 500)}\n`)
      return await this.#talk(chat)
    } finally {
      await this.#lines.return?.()
      await prepared.close()
    }
  }

  async #talk(chat: Chat): Promise<ExitCode> {
    let code: ExitCode = exitCodes.done
    for (let text = await this.#prompt(); text !== undefined; text = await this.#prompt()) {
      if (text.trim() === '') continue
      try {
        const outcome = await runSlash(text.trim(), { chat })
        if (outcome?.leave === true || /^\/exit\s*$/.test(text)) break
        if (outcome === undefined) code = await this.#send(text, chat)
        else if (outcome.says !== undefined) await this.#tell(outcome.says.split('\n'))
        if (outcome?.later !== undefined) code = await this.#send(outcome.later, chat)
      } catch (error) {
        await this.#tell([`capstan: ${safeLine(messageOf(error), 1_000)}`])
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
        view.tell(event, columns())
        await this.#tell(view.pull(columns()))
        if (event.type === 'error') code = exitCodes.failed
        if (event.type === 'agent_cancelled') code = exitCodes.cancelled
      }
    } finally {
      this.#view = undefined
    }
    return code
  }

  /** One of them may go over several lines, each but the last with a backslash at its end. */
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
    const taken = await Promise.race([this.#lines.next(), stopped])
    return taken?.done === true ? undefined : taken?.value
  }

  #person(prepared: Prepared): Person {
    if (!this.#io.isTTY.stdin && !this.#agrees) return { onAsk: this.#refused.handlerFor(prepared.workspace) }
    return {
      onAsk: (request) =>
        askPerson(request, this.#asking, {
          root: prepared.workspace,
          colors: this.#colors,
          columns: this.#io.columns(),
        }),
      onQuestion: (questions, from) =>
        askQuestions(questions, from, this.#asking, this.#colors, this.#io.columns()),
    }
  }

  readonly #asking: Asking = {
    print: (lines) => this.#tell([...(this.#view?.interrupt(this.#io.columns()) ?? []), ...lines]),
    choose: async (title, choices) => {
      if (this.#agrees) return 0
      await this.#tell(choices.map(({ key, label }) => `  ${key}  ${label}`))
      const said = (await this.#asking.askLine(title))?.trim().toLowerCase()
      const chosen = choices.findIndex(({ key }) => key === said)
      return chosen < 0 ? undefined : chosen
    },
    askLine: async (title) => {
      if (this.#agrees) return undefined
      await write(this.#io.stdout, `${title} `)
      return this.#next()
    },
  }

  async #tell(lines: readonly string[]): Promise<void> {
    if (lines.length > 0) await write(this.#io.stdout, `${lines.join('\n')}\n`)
  }
}
