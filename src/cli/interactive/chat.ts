import type { ModeName } from '../../authority/mode.js'
import type { AskRequest } from '../../loop/ask.js'
import { randomIds } from '../../loop/host-env.js'
import { load } from '../../session/journal/restore.js'
import { restrictingMode } from '../../session/journal/restored-authority.js'
import type { SessionOptions } from '../../session/options.js'
import type { Session } from '../../session/session.js'
import type { SessionInfo } from '../../store/session-store.js'
import { CommandLineError } from '../errors.js'
import type { Io } from '../io.js'
import { interruptedRun } from '../sessions/interrupted-run.js'
import { mainSessions } from '../sessions/main-sessions.js'
import { type ChosenModel, chooseModel } from '../setup/choose-model.js'
import type { Prepared } from '../setup/prepare.js'

/** How a session reaches its user. */
export type Person = Pick<SessionOptions, 'onAsk' | 'onQuestion' | 'middleware'>

/** What an interactive session talks to: one session at a time, which can be changed for another. */
export class Chat {
  readonly prepared: Prepared
  readonly #io: Io
  readonly #person: Person
  #session: Session
  #model: ChosenModel
  #mode: ModeName | undefined
  #interrupted: string | undefined

  private constructor(
    prepared: Prepared,
    io: Io,
    person: Person,
    session: Session,
    { mode, interrupted }: Left,
  ) {
    this.prepared = prepared
    this.#io = io
    this.#person = person
    this.#session = session
    this.#model = prepared.model
    this.#mode = mode
    this.#interrupted = interrupted
  }

  static async open(prepared: Prepared, io: Io, person: Person): Promise<Chat> {
    const session = await prepared.open(person)
    const left = await leftAs(prepared, session.sessionId)
    return new Chat(prepared, io, person, session, { ...left, mode: prepared.options.mode ?? left.mode })
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

  /** What the user said in a run; undefined when that is not stored. */
  async promptOf(runId: string): Promise<string | undefined> {
    const { store } = this.prepared
    if (store === undefined) return undefined
    return (await load(store, this.#session.sessionId))?.runs.get(runId)?.prompt
  }

  /** The prompt of the run that was interrupted when this session was used last. */
  get interrupted(): string | undefined {
    return this.#interrupted
  }

  /** The sessions of this directory, newest first, without those of subagents. */
  async sessions(): Promise<SessionInfo[]> {
    const { store, workspace } = this.prepared
    const found: SessionInfo[] = []
    if (store === undefined) return found
    for await (const info of mainSessions(store, ({ workspaceRoot }) => workspaceRoot === workspace))
      found.push(info)
    return found
  }

  /** Whether a call still waits for an answer: not when its run has ended, or it was answered in another way. */
  isAsked({ id, toolCallId = id }: AskRequest): boolean {
    return this.#session
      .pendingConfirmations()
      .some(({ request }) => (request.toolCallId ?? request.id) === toolCallId)
  }

  /** Goes on with another session as it was left, or with a new one. */
  async switchTo(sessionId: string | undefined): Promise<void> {
    const { prepared } = this
    const left = sessionId === undefined ? {} : await leftAs(prepared, sessionId)
    const mode = prepared.options.mode ?? left.mode
    await this.#reopen(sessionId ?? randomIds.next(), this.#model, mode)
    this.#interrupted = left.interrupted
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

/** How a session was left: its mode, and the prompt of the run that was interrupted. */
type Left = { readonly mode?: ModeName | undefined; readonly interrupted?: string | undefined }

async function leftAs({ store }: Pick<Prepared, 'store'>, sessionId: string): Promise<Left> {
  const state = store === undefined ? undefined : await load(store, sessionId)
  const session = state?.session
  const named = session?.mode === undefined ? session?.options?.['mode'] : session.mode
  return {
    // A log that tools could have written must not bring a mode that allows more.
    mode: restrictingMode(named),
    interrupted: interruptedRun(state?.runs.values() ?? [])?.prompt,
  }
}
