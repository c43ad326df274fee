import { setMaxListeners } from 'node:events'
import type { ContextUsage } from '../feature/context-usage.js'
import type { FeatureContext } from '../feature/feature-context.js'
import { labelsOf, type SessionLabels } from '../feature/labels.js'
import type { SessionFeature } from '../feature/session-feature.js'
import type { SharedServices } from '../feature/shared-services.js'
import type { Conversation } from '../loop/conversation.js'
import type { AgentEvent } from '../loop/events.js'
import { randomIds, systemClock } from '../loop/host-env.js'
import type { RunParts } from '../loop/run-parts.js'
import { Turns } from '../store/turns.js'
import type { ToolResult } from '../tool/tool-result.js'
import { attemptAll } from './attempt-all.js'
import { builtinTools, createToolRegistry } from './builtin-tools.js'
import { type CompactOptions, compactNow } from './compact.js'
import { type Confirmations, openConfirmations } from './confirmations.js'
import { callTool } from './direct-tools.js'
import { SessionClosedError } from './errors.js'
import { FeatureStates } from './feature-states.js'
import { featuresWith } from './features-with.js'
import { type RestoredSession, restoredTodos } from './journal/restore.js'
import { partsFor } from './loop-parts.js'
import { OpenQuestions } from './open-questions.js'
import type { SessionOptions } from './options.js'
import type { Passivation } from './passivate.js'
import { PlanProgress } from './plan-progress.js'
import { SessionPrompt } from './prompt/session-prompt.js'
import { createRedactor, type Redactor } from './redactor.js'
import { RunQueue } from './run-queue.js'
import { Runs } from './runs.js'
import { SessionEngine } from './session-engine.js'
import { SessionLog } from './session-log.js'
import { SessionModels } from './session-models.js'
import { backendOf, type ParentLink, type SessionSetup } from './setup.js'
import { SpendingAccount } from './spending.js'
import { withToolFacts } from './tool-facts.js'
import type { ToolRegistry } from './tool-registry.js'
import { Trace } from './trace.js'

/** Calls `takeTurn` of sessions that have been idle for a second. */
const resting = new Turns(1_000, { maxAtOnce: 20 })

/**
 * The core of a session: its queue of runs, its life cycle and its events. Everything else is a separate part. It calls
 * the features of `features.ts` at fixed points and uses nothing else of them. `Session` is its interface for hosts.
 */
export class SessionKernel implements FeatureContext<SessionOptions, SessionSetup> {
  readonly setup: SessionSetup
  readonly queue: RunQueue
  /** The records of all runs, including those that have ended. */
  readonly runs: Runs
  /** Set while the session waits to be suspended at the end of the round. */
  passivation: Passivation | undefined
  readonly log: SessionLog
  readonly engine: SessionEngine
  readonly models: SessionModels
  readonly prompt: SessionPrompt
  readonly plan: PlanProgress
  readonly spending: SpendingAccount
  readonly trace: Trace
  readonly redactor: Redactor
  readonly confirmations: Confirmations
  readonly questions: OpenQuestions
  #tools: ToolRegistry | undefined
  readonly #states = new FeatureStates()
  /** Created at the first use of `signal`: a run does not need it. */
  #closing: AbortController | undefined
  #started = false
  #ending: Promise<void> | undefined

  constructor(setup: SessionSetup) {
    const { options, sessionId, restored } = setup
    this.setup = setup
    this.models = new SessionModels(this)
    this.engine = new SessionEngine(this)
    // Copies the list: later changes by the host have no effect.
    if (options.tools !== undefined) this.#tools = createToolRegistry(this)
    this.queue = new RunQueue(sessionId)
    this.runs = new Runs(options.retentionLimits, restored)
    this.spending = new SpendingAccount(this)
    this.plan = new PlanProgress(restoredTodos(restored))
    this.trace = new Trace({ sessionId, ...this.labels }, options.retentionLimits?.maxTraceEvents)
    this.redactor = createRedactor(setup, this.emit)
    this.log = new SessionLog(this)
    this.confirmations = openConfirmations(this)
    this.questions = new OpenQuestions(this)
    this.prompt = new SessionPrompt(this)
    for (const feature of featuresWith('opened')) feature.opened(this)
  }

  get sessionId(): string {
    return this.setup.sessionId
  }

  get agentId(): string {
    return this.setup.agentId
  }

  get root(): string {
    return this.setup.root
  }

  get projectRoot(): string | undefined {
    const backend = backendOf(this.setup)
    return backend !== undefined && backend.localRoot === undefined ? undefined : this.setup.root
  }

  get userDir(): string {
    return this.setup.userDir
  }

  get options(): SessionOptions {
    return this.setup.options
  }

  get labels(): SessionLabels {
    return labelsOf(this.setup.options)
  }

  get restored(): RestoredSession | undefined {
    return this.setup.restored
  }

  get parent(): ParentLink | undefined {
    return this.setup.parent
  }

  get activeRunId(): string | undefined {
    return this.queue.active?.id
  }

  /** Created at the first use: a session that waits for its first prompt does not need it. */
  get tools(): ToolRegistry {
    this.#tools ??= createToolRegistry(this)
    return this.#tools
  }

  readonly now = (): number => (this.options.hostEnv?.clock ?? systemClock).now()

  newId(): string {
    return (this.options.hostEnv?.idGenerator ?? randomIds).next()
  }

  // Events and features

  /** Emits an event of the active run, with facts about its tool; without a run only features receive it. */
  readonly emit = (event: AgentEvent): void => {
    this.queue.active?.emit(withToolFacts(event, this))
    for (const feature of featuresWith('onEvent')) feature.onEvent(this, event)
  }

  use<State>(feature: SessionFeature<State>): State {
    return this.#states.use(feature, this)
  }

  peek<State>(feature: SessionFeature<State>): State | undefined {
    return this.#states.peek(feature)
  }

  service<Name extends keyof SharedServices>(name: Name): SharedServices[Name] | undefined {
    for (const { offers } of featuresWith('offers')) {
      const offered = offers[name]?.(this)
      if (offered !== undefined) return offered
    }
    return undefined
  }

  async observe(
    event: string,
    payload: Readonly<Record<string, unknown>>,
    signal?: AbortSignal,
  ): Promise<void> {
    for (const feature of featuresWith('observe')) await feature.observe(this, event, payload, signal)
  }

  // Life cycle

  /** Aborted when the session is closed. */
  get signal(): AbortSignal {
    if (this.#closing === undefined) {
      this.#closing = new AbortController()
      // Every direct call adds a listener, and many can be active at the same time.
      setMaxListeners(0, this.#closing.signal)
      if (this.isClosed) this.#closing.abort(new SessionClosedError(this.sessionId))
    }
    return this.#closing.signal
  }

  get isClosed(): boolean {
    return this.#ending !== undefined
  }

  assertOpen(): void {
    if (this.isClosed) throw new SessionClosedError(this.sessionId)
  }

  /** Changes the session itself: never while a run is active, and runs that arrive during the change wait for it. */
  async alone<T>(doing: string, work: () => Promise<T>): Promise<T> {
    this.assertOpen()
    return this.queue.alone(doing, work)
  }

  /** Runs once, before the first run or direct call. */
  async start(signal: AbortSignal): Promise<void> {
    if (this.#started) return
    this.#started = true
    for (const feature of featuresWith('started')) await feature.started(this, signal)
  }

  /**
   * Closes the session and leaves the log: to another process it looks as if this one was killed, except that the lease
   * is released.
   */
  suspend(): Promise<void> {
    if (this.#ending === undefined) this.log.recorder?.seal()
    return this.close()
  }

  /** Closes the session: new calls are refused from now on. Every call of `close` waits for the same end. */
  close(): Promise<void> {
    if (this.#ending === undefined) {
      this.#ending = this.#end()
      resting.remove(this)
      this.#closing?.abort(new SessionClosedError(this.sessionId))
      this.queue.cancelAll('the session was closed')
      this.confirmations.cancelAll('The session was closed.')
      this.setup.closed(this.#ending)
    }
    return this.#ending
  }

  /** Takes every step, also after one that failed: the log must be closed and its lease released. */
  async #end(): Promise<void> {
    await this.queue.settled
    await attemptAll([
      ...featuresWith('ended').map((feature) => () => feature.ended(this, this.#started)),
      () => this.#states.close(),
      () => this.engine.close(),
      () => this.spending.saveLast(),
      () => this.log.close(),
    ])
  }

  /** Reduces the memory of the session unless a run begins within a second. Called when a run has completed. */
  restSoon(): void {
    resting.add(this)
  }

  /** Drops what the next run can create again at low cost, because most sessions of a host are idle. */
  takeTurn(): void {
    if (this.queue.isBusy || this.isClosed) return
    try {
      this.log.rest()
      this.runs.rest()
      this.trace.rest()
    } catch {
      // Values of the host that cannot be read are left as they are.
    }
    this.spending.rest()
    // The gate of an engine references the states of features: if the engine is not dropped, neither are they.
    if (this.engine.rest()) this.#states.rest()
  }

  // Members for features

  callTool(name: string, args: unknown, signal?: AbortSignal): Promise<ToolResult> {
    return callTool(this, name, args, signal)
  }

  isBuiltinTool(name: string): boolean {
    return builtinTools(this.options, this.setup.agentTools?.() ?? []).some((tool) => tool.name === name)
  }

  loopParts(signal: AbortSignal, conversation: Conversation): Promise<RunParts> {
    return partsFor(this, signal, conversation)
  }

  compact(signal: AbortSignal, options?: CompactOptions): ReturnType<typeof compactNow> {
    return compactNow(this, signal, options)
  }

  async contextUsage(signal: AbortSignal): Promise<ContextUsage> {
    const { contextUsage } = await import('./context-usage.js')
    return contextUsage(this, signal)
  }
}
