import { type ModeName, modeNames } from '../../authority/mode.js'
import { randomIds } from '../../loop/host-env.js'
import { load } from '../../session/journal/restore.js'
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
  #mode: ModeName | undefined

  private constructor(
    prepared: Prepared,
    io: Io,
    person: Person,
    session: Session,
    mode: ModeName | undefined,
  ) {
    this.prepared = prepared
    this.#io = io
    this.#person = person
    this.#session = session
    this.#model = prepared.model
    this.#mode = mode
  }

  static async open(prepared: Prepared, io: Io, person: Person): Promise<Chat> {
    const session = await prepared.open(person)
    const mode = prepared.options.mode ?? (await keptMode(prepared, session.sessionId))
    return new Chat(prepared, io, person, session, mode)
  }

  get session(): Session {
    return this.#session
  }

  get modelName(): string {
    return this.#model.name
  }

  /** Undefined: the default. */
  get mode(): ModeName | undefined {
    return this.#mode
  }

  /** What this session has used, with its subagents, side questions and earlier models. */
  get totals(): { readonly tokens: number; readonly costUsd: number | undefined } {
    const { usage, costUsd } = this.#session.spending()
    return { tokens: usage.totalTokens, costUsd }
  }

  /** The sessions of this directory, the newest first. */
  async sessions(): Promise<SessionInfo[]> {
    const { store, workspace } = this.prepared
    return ((await store?.list()) ?? []).filter(({ workspaceRoot }) => workspaceRoot === workspace)
  }

  /** Goes on with another session as it was left, or with a new one. */
  async switchTo(sessionId: string | undefined): Promise<void> {
    const { prepared } = this
    const kept = sessionId === undefined ? undefined : await keptMode(prepared, sessionId)
    const mode = prepared.options.mode ?? kept
    await this.#reopen(sessionId ?? randomIds.next(), this.#model, mode)
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
    await this.#reopen(this.#session.sessionId, chosen, this.#mode)
  }

  async setMode(mode: ModeName | undefined): Promise<void> {
    await this.#session.setMode(mode)
    this.#mode = mode
  }

  async #reopen(sessionId: string, model: ChosenModel, mode: ModeName | undefined): Promise<void> {
    // A session is one holder's at a time: the old one is let go of first.
    await this.#session.close()
    const options = { ...this.#person, sessionId, model: model.model }
    this.#session = await this.prepared.open({ ...options, ...(mode !== undefined && { mode }) })
    // The flag would have it otherwise.
    if (mode === undefined && this.prepared.options.mode !== undefined) await this.#session.setMode(undefined)
    this.#model = model
    this.#mode = mode
  }
}

/** A session goes on in the mode it was left in, and that must be seen. */
async function keptMode(
  { store }: Pick<Prepared, 'store'>,
  sessionId: string,
): Promise<ModeName | undefined> {
  const session = store === undefined ? undefined : (await load(store, sessionId))?.session
  const mode = session?.mode === undefined ? session?.options?.['mode'] : session.mode
  return modeNames.find((name) => name === mode)
}
