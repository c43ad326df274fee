import type { ModeName } from '../../authority/mode.js'
import type { RunSummary } from '../../loop/events.js'
import type { SessionOptions } from '../../session/options.js'
import type { Session } from '../../session/session.js'
import type { SessionInfo } from '../../store/session-store.js'
import { CommandLineError } from '../errors.js'
import type { Io } from '../io.js'
import { type ChosenModel, chooseModel } from '../setup/choose-model.js'
import type { Prepared } from '../setup/prepare.js'

/** The person in front of a session, as far as a session needs them. */
export type Person = Pick<SessionOptions, 'onAsk' | 'onQuestion'>

/** What an interactive session talks to: one session at a time, which can be changed for another. */
export class Chat {
  readonly prepared: Prepared
  readonly #io: Io
  readonly #person: Person
  #session: Session
  #model: ChosenModel
  mode: ModeName | undefined
  totals = { tokens: 0, costUsd: undefined as number | undefined, runs: 0 }

  private constructor(prepared: Prepared, io: Io, person: Person, session: Session, mode: ModeName | undefined) {
    this.prepared = prepared
    this.#io = io
    this.#person = person
    this.#session = session
    this.#model = prepared.model
    this.mode = mode
  }

  static async open(prepared: Prepared, io: Io, person: Person, mode: ModeName | undefined): Promise<Chat> {
    return new Chat(prepared, io, person, await prepared.open(person), mode)
  }

  get session(): Session {
    return this.#session
  }

  get modelName(): string {
    return this.#model.name
  }

  count({ totalTokens, costUsd }: RunSummary): void {
    const { totals } = this
    totals.runs++
    totals.tokens += totalTokens
    if (costUsd !== undefined) totals.costUsd = (totals.costUsd ?? 0) + costUsd
  }

  /** The sessions of this directory, the newest first. */
  async sessions(): Promise<SessionInfo[]> {
    const { store, workspace } = this.prepared
    return ((await store?.list()) ?? []).filter(({ workspaceRoot }) => workspaceRoot === workspace)
  }

  /** Goes on with another session, or with a new one. */
  async switchTo(sessionId: string | undefined): Promise<void> {
    await this.#reopen({ ...(sessionId !== undefined && { sessionId }) })
    this.totals = { tokens: 0, costUsd: undefined, runs: 0 }
  }

  /** Asks another model from now on. What was said stays, where the session is kept. */
  async useModel(named: string): Promise<void> {
    const { config, store } = this.prepared
    const chosen = await chooseModel({ env: this.#io.env, config, named })
    if (store === undefined && this.#session.messages().length > 0)
      throw new CommandLineError(
        'This session is not kept anywhere, so it cannot go on with another model.',
        'Begin anew with --model, or leave out --store none.',
      )
    await this.#reopen({ sessionId: this.#session.sessionId, model: chosen.model })
    this.#model = chosen
  }

  async setMode(mode: ModeName | undefined): Promise<void> {
    await this.#session.setMode(mode)
    this.mode = mode
  }

  async #reopen(more: SessionOptions): Promise<void> {
    const before = this.#session
    // A session is one process's at a time: the old one is let go of first.
    await before.close()
    const given = { ...this.#person, model: this.#model.model, sessionId: newSession(), ...more }
    this.#session = await this.prepared.open({ ...given, ...(this.mode !== undefined && { mode: this.mode }) })
  }
}

/** An id of its own, whatever id the flags named. */
function newSession(): string {
  return crypto.randomUUID()
}
