import type { ModeName } from '../../authority/mode.js'
import type { AskRequest } from '../../loop/ask.js'
import { randomIds } from '../../loop/host-env.js'
import { load } from '../../session/journal/restore.js'
import { restrictingMode } from '../../session/journal/restored-authority.js'
import type { SessionOptions } from '../../session/options.js'
import type { Session } from '../../session/session.js'
import type { SessionInfo } from '../../store/session-store.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { CommandLineError } from '../errors.js'
import type { ServedInspector } from '../inspector/start-inspector.js'
import type { Io } from '../io.js'
import { type ListedModel, usableModels } from '../models/model-list.js'
import { interruptedRun } from '../sessions/interrupted-run.js'
import { mainSessions } from '../sessions/main-sessions.js'
import { type ChosenModel, chooseModel } from '../setup/choose-model.js'
import type { Prepared } from '../setup/prepare.js'

/** The handlers through which a session asks its user. */
export type UserHandlers = Pick<SessionOptions, 'onAsk' | 'onQuestion' | 'middleware'>

/** The current session of the interactive command. It can be replaced by another one. */
export class Chat {
  readonly prepared: Prepared
  readonly #io: Io
  readonly #handlers: UserHandlers
  #session: Session
  #model: ChosenModel
  #mode: ModeName | undefined
  #interrupted: string | undefined
  #inspector: Promise<ServedInspector> | undefined

  private constructor(
    prepared: Prepared,
    io: Io,
    handlers: UserHandlers,
    session: Session,
    { mode, interrupted }: SavedState,
  ) {
    this.prepared = prepared
    this.#io = io
    this.#handlers = handlers
    this.#session = session
    this.#model = prepared.model
    this.#mode = mode
    this.#interrupted = interrupted
  }

  static async open(prepared: Prepared, io: Io, handlers: UserHandlers): Promise<Chat> {
    const session = await prepared.open(handlers)
    const saved = await readSavedState(prepared, session.sessionId)
    return new Chat(prepared, io, handlers, session, { ...saved, mode: prepared.options.mode ?? saved.mode })
  }

  get session(): Session {
    return this.#session
  }

  get modelName(): string {
    return this.#model.name
  }

  /** The permission mode; undefined for the default. */
  get mode(): ModeName | undefined {
    return this.#mode
  }

  /** The tokens and cost of this session, including subagents, side questions and earlier models. */
  get totals(): { readonly tokens: number; readonly costUsd: number | undefined } {
    const { usage, costUsd } = this.#session.spending()
    return { tokens: usage.totalTokens, costUsd }
  }

  /** The prompt of a run; undefined when it is not stored. */
  async promptOf(runId: string): Promise<string | undefined> {
    const { store } = this.prepared
    if (store === undefined) return undefined
    return (await load(store, this.#session.sessionId))?.runs.get(runId)?.prompt
  }

  /** The prompt of the session's last run, if that run was interrupted. */
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

  /** Whether a call still waits for an answer: false when its run has ended, or it was answered in another way. */
  isAsked({ id, toolCallId = id }: AskRequest): boolean {
    return this.#session
      .pendingConfirmations()
      .some(({ request }) => (request.toolCallId ?? request.id) === toolCallId)
  }

  /** Resumes another session with its saved mode, or starts a new one. */
  async switchTo(sessionId: string | undefined): Promise<void> {
    const { prepared } = this
    const saved = sessionId === undefined ? {} : await readSavedState(prepared, sessionId)
    const mode = prepared.options.mode ?? saved.mode
    await this.#reopen(sessionId ?? randomIds.next(), this.#model, mode)
    this.#interrupted = saved.interrupted
  }

  /** Changes the model. Messages are preserved if the session is stored. */
  async useModel(named: string): Promise<void> {
    const { config, store } = this.prepared
    const chosen = await chooseModel({ env: this.#io.env, config, named })
    if (store === undefined && this.#session.messages().length > 0)
      throw new CommandLineError(
        'The model of a session that is not stored cannot be changed.',
        'Start again with --model, or remove --store none.',
      )
    await this.#reopen(this.#session.sessionId, chosen, this.#mode)
  }

  /** The models that can be used without another key or configuration. */
  usableModels(): ListedModel[] {
    return usableModels(this.prepared.config, this.#io.env)
  }

  /**
   * Returns a link to this session in the inspector, which this process serves from the first call on. An approval is
   * answered there or here, whichever is first.
   */
  async inspect(): Promise<string> {
    const { store, agent, options, workspace } = this.prepared
    if (store === undefined)
      throw new CommandLineError('The inspector needs a session store.', 'Remove --store none.')
    const { sessionStore: _, ...session } = options
    this.#inspector ??= import('../inspector/start-inspector.js').then(({ serveInspector }) =>
      serveInspector(this.#io, {
        ...{ port: 0, agent, store, session, workspaces: [workspace] },
        hostSessions: () => [this.#session],
      }),
    )
    // After a failure, the next call tries again.
    this.#inspector.catch(() => {
      this.#inspector = undefined
    })
    return (await this.#inspector).newLink()
  }

  /** Stops what the chat itself started. Its session stays open. */
  async stop(): Promise<void> {
    // A failure to start was already reported by `inspect`.
    const inspector = await this.#inspector?.catch(() => undefined)
    await inspector?.close()
  }

  async setMode(mode: ModeName | undefined): Promise<void> {
    await this.#session.setMode(mode)
    this.#mode = mode
  }

  async #reopen(sessionId: string, model: ChosenModel, mode: ModeName | undefined): Promise<void> {
    // Only one process and object can hold a session, so the old one is closed first.
    await this.#session.close()
    const options = { ...this.#handlers, sessionId, model: model.model }
    this.#session = await this.prepared.open({ ...options, ...omitUndefined({ mode }) })
    // Overrides --mode, which `open` applies.
    if (mode === undefined && this.prepared.options.mode !== undefined) await this.#session.setMode(undefined)
    this.#model = model
    this.#mode = mode
  }
}

/** The saved mode of a session, and the prompt of its interrupted run. */
type SavedState = { readonly mode?: ModeName | undefined; readonly interrupted?: string | undefined }

async function readSavedState({ store }: Pick<Prepared, 'store'>, sessionId: string): Promise<SavedState> {
  const state = store === undefined ? undefined : await load(store, sessionId)
  const session = state?.session
  const named = session?.mode === undefined ? session?.options?.['mode'] : session.mode
  return {
    // Tools could have written the log, so only a restrictive mode is restored from it.
    mode: restrictingMode(named),
    interrupted: interruptedRun(state?.runs.values() ?? [])?.prompt,
  }
}
