import { setMaxListeners } from 'node:events'
import type { ModeName } from '../authority/mode.js'
import type { ContextUsage } from '../feature/context-usage.js'
import type { Engine, FeatureContext } from '../feature/feature-context.js'
import { labelsOf, type SessionLabels } from '../feature/labels.js'
import type { SessionFeature } from '../feature/session-feature.js'
import type { SharedServices } from '../feature/shared-services.js'
import { type Budget, type BudgetGuard, createBudget } from '../loop/budget.js'
import type { Conversation } from '../loop/conversation.js'
import type { AgentEvent } from '../loop/events.js'
import { type Clock, type IdGenerator, randomIds, systemClock } from '../loop/host-env.js'
import type { RunParts } from '../loop/run-parts.js'
import { forgetHistory } from '../model/append-only.js'
import type { Model } from '../model/model.js'
import type { UserMessage } from '../tool/completion.js'
import type { AnyTool, RunIdentity } from '../tool/contract.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import type { ToolResult } from '../tool/tool-result.js'
import { isBackend, type WorkspaceBackend } from '../workspace/backend/backend.js'
import { hiddenTexts, valueNow } from '../workspace/egress/network-options.js'
import type { ActiveRun } from './active-run.js'
import { builtinTools, createToolRegistry } from './builtin-tools.js'
import { type CompactOptions, compactNow } from './compact.js'
import type { Confirmations } from './confirmations.js'
import { callTool } from './direct-tools.js'
import { type FoundRules, startEngine } from './engine.js'
import { SessionClosedError } from './errors.js'
import { FeatureStates } from './feature-states.js'
import { featuresWith } from './features-with.js'
import { type FileChanges, hostCalls } from './history/file-changes.js'
import { SeenFiles } from './history/seen-files.js'
import { hostTools } from './host-tools.js'
import { InterruptedCalls } from './interrupted-calls.js'
import type { RecordedConversation } from './journal/recorded-conversation.js'
import { type RestoredSession, restoredTodos } from './journal/restore.js'
import type { SessionRecorder } from './journal/session-recorder.js'
import { partsFor } from './loop-parts.js'
import { OpenQuestions } from './open-questions.js'
import type { SessionOptions } from './options.js'
import { OutsideDirectories } from './outside-directories.js'
import type { Passivation } from './passivate.js'
import { PlanProgress } from './plan-progress.js'
import { SessionPrompt } from './prompt/session-prompt.js'
import { createRedactor, type Redactor } from './redactor.js'
import { RunQueue } from './run-queue.js'
import { Runs } from './runs.js'
import { redactValue } from './security/index.js'
import { SessionModels } from './session-models.js'
import { createRecorder, openConfirmations, unsavedConversation, watchChanges } from './session-records.js'
import type { ParentLink, SessionSetup } from './setup.js'
import { type Ledger, SpendingAccount } from './spending.js'
import { SessionTitle } from './title.js'
import { withToolFacts } from './tool-facts.js'
import type { ToolRegistry } from './tool-registry.js'
import { Trace } from './trace.js'

/**
 * What a session consists of: its options, tools, conversation, log, queue of runs and life cycle. It calls the
 * features of `features.ts` at fixed points and knows nothing else of them. `Session` is what a host sees of it.
 */
export class SessionKernel implements FeatureContext<SessionOptions, SessionSetup> {
  readonly setup: SessionSetup
  readonly clock: Clock
  readonly ids: IdGenerator
  readonly models: SessionModels
  readonly conversation: RecordedConversation
  readonly plan: PlanProgress
  /** Writes the log; absent without a store. */
  readonly recorder: SessionRecorder | undefined
  /** What tools did to files, run by run. */
  readonly changes: FileChanges
  readonly queue: RunQueue
  /** The records of runs, also of those that have ended. */
  readonly runs: Runs
  readonly trace: Trace
  readonly account: SpendingAccount
  readonly confirmations: Confirmations
  readonly questions = new OpenQuestions(this)
  readonly redactor: Redactor
  readonly places: OutsideDirectories
  readonly title: SessionTitle
  readonly prompt: SessionPrompt
  readonly interrupted: InterruptedCalls
  /** Messages of the user for the active run. */
  readonly steering: UserMessage[] = []
  guard: BudgetGuard | undefined
  /** Set while the session is about to be suspended at the end of the round. */
  passivation: Passivation | undefined
  /** Made with the first use of `signal`: a run does not need it. */
  #closing: AbortController | undefined
  readonly #states = new FeatureStates()
  /** The rules that the session began with; absent until its engine was first opened. */
  rules: FoundRules | undefined
  /** What the model has seen of files. */
  readonly seen: SeenFiles
  #tools: ToolRegistry | undefined
  #engine: Promise<Engine> | undefined
  /** The engine once it is open. */
  #openEngine: Engine | undefined
  /** Whether more than runs uses the engine. It then stays open until the session is closed. */
  #holdsEngine = false
  #started = false
  #ending: Promise<void> | undefined
  #budget: Budget | undefined

  constructor(setup: SessionSetup) {
    const { options, sessionId, parent, restored } = setup
    this.setup = setup
    this.clock = options.hostEnv?.clock ?? systemClock
    this.ids = options.hostEnv?.idGenerator ?? randomIds
    this.guard = options.budgetGuard
    this.models = new SessionModels(setup)
    this.places = parent?.session.places ?? new OutsideDirectories(setup.root, options)
    // The host can change its list afterwards, which changes nothing here.
    if (options.tools !== undefined) this.#tools = createToolRegistry(this)
    this.queue = new RunQueue(sessionId)
    this.runs = new Runs(options.retentionLimits)
    this.account = new SpendingAccount(restored)
    this.plan = new PlanProgress(restoredTodos(restored))
    if (restored !== undefined) this.runs.restore(restored)
    this.trace = new Trace({ sessionId, ...labelsOf(options) }, options.retentionLimits?.maxTraceEvents)
    this.redactor = createRedactor(
      options.securityProvider,
      secretsOf(setup),
      this.emit,
      (options.network?.secrets ?? []).length > 0,
    )
    this.seen = new SeenFiles(restored)
    this.title = new SessionTitle(options.title ?? restored?.session?.title)
    this.recorder = options.sessionStore && createRecorder(this, options.sessionStore)
    if (restored === undefined && options.signal?.aborted !== true) this.recorder?.create()
    this.conversation = this.recorder?.conversation ?? unsavedConversation(this)
    const shared = parent?.isolated ? undefined : parent?.session.changes
    this.changes = shared ?? watchChanges(this)
    this.confirmations = openConfirmations(this)
    this.prompt = new SessionPrompt(this)
    this.interrupted = new InterruptedCalls(this)
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

  /** Where it works, if not in a directory of this machine. */
  get backend(): WorkspaceBackend | undefined {
    const { workspaceBackend } = this.setup.options
    return isBackend(workspaceBackend) && this.setup.parent?.isolated !== true ? workspaceBackend : undefined
  }

  get projectRoot(): string | undefined {
    const { backend } = this
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

  get active(): ActiveRun | undefined {
    return this.queue.active
  }

  get activeRunId(): string | undefined {
    return this.queue.active?.id
  }

  /** Made with its first use: a session that waits for its first prompt does without. */
  get tools(): ToolRegistry {
    this.#tools ??= createToolRegistry(this)
    return this.#tools
  }

  /** Has no state of its own, so that the next run can make it again. */
  get budget(): Budget {
    if (this.#budget === undefined) {
      // What a subagent spends its parent spends, all the way up.
      const budget = this.parent?.budget ?? createBudget(() => this.guard, this.sessionId, this.emit)
      this.#budget = this.account.counted(budget, () => this.active?.spending)
    }
    return this.#budget
  }

  get spending(): Ledger {
    return this.account.total
  }

  withoutKeys<Value>(value: Value): Value {
    const { keys } = this.redactor
    return keys === undefined ? value : redactValue(value, keys)
  }

  now(): number {
    return this.clock.now()
  }

  newId(): string {
    return this.ids.next()
  }

  // Events and features

  /** Emits an event of the active run, with facts about its tool; without a run only features see it. */
  readonly emit = (event: AgentEvent): void => {
    this.active?.emit(withToolFacts(event, this))
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

  isObserved(event: string): boolean {
    return featuresWith('observe').some((feature) => feature.observes?.(this, event) ?? true)
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
      // Every direct call listens, and many can be made at once.
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

  /** Changes the session itself: never while a run is active, and runs that come meanwhile wait for it. */
  async alone<T>(doing: string, work: () => Promise<T>): Promise<T> {
    this.assertOpen()
    return this.queue.alone(doing, work)
  }

  /** Once, before the first run or direct call. */
  async start(signal: AbortSignal): Promise<void> {
    if (this.#started) return
    this.#started = true
    for (const feature of featuresWith('started')) await feature.started(this, signal)
  }

  /** Closes the session and leaves the log: to another process this one looks killed, but for the lease. */
  suspend(): Promise<void> {
    if (this.#ending === undefined) this.recorder?.seal()
    return this.close()
  }

  /** The session takes nothing new from now on. Every call waits for the same end. */
  close(): Promise<void> {
    if (this.#ending === undefined) {
      this.#ending = this.#end()
      this.#closing?.abort(new SessionClosedError(this.sessionId))
      this.queue.cancelAll('the session was closed')
      this.confirmations.cancelAll('The session was closed.')
      this.setup.closed(this.#ending)
    }
    return this.#ending
  }

  async #end(): Promise<void> {
    await this.queue.settled
    for (const feature of featuresWith('ended')) await feature.ended(this, this.#started)
    try {
      await this.#states.close()
    } finally {
      const engine = await this.#engine?.catch(() => undefined)
      await engine?.workspace.close()
      // A log that cannot be written was reported before.
      await this.saveSpending().catch(() => undefined)
      const title = this.title.toRepeat
      if (title !== undefined && !this.conversation.isEmpty) this.recorder?.title(title)
      await this.recorder?.close()
    }
  }

  // Engine, models and runs

  /** Starts with the first call; a failed start is tried again at the next. */
  engine(): Promise<Engine> {
    this.#holdsEngine = true
    return this.engineForRun()
  }

  /** The same for a run, which keeps nothing of it beyond its end. */
  engineForRun(): Promise<Engine> {
    this.#engine ??= startEngine(this).then(
      (engine) => {
        this.#openEngine = engine
        return engine
      },
      (error: unknown) => {
        this.#engine = undefined
        throw error
      },
    )
    return this.#engine
  }

  /**
   * Drops what the next run makes again at little cost, since most sessions of a host wait for their users. Called when
   * a run has completed. An engine stays that more than runs uses, that something was started in, or whose rules or
   * mode have changed.
   */
  rest(): void {
    if (this.queue.hasOthers) return
    const { view } = this.conversation
    if (view.length <= maxForgottenMessages) forgetHistory(view)
    this.conversation.rest(maxForgottenMessages)
    this.recorder?.rest()
    this.trace.rest()
    this.#budget = undefined
    const engine = this.#openEngine
    if (this.#holdsEngine || engine === undefined) return
    const { workspace, authority, gate } = engine
    if (workspace.isUnused !== true || !authority.isUnchanged || !gate.isFresh) return
    this.#engine = undefined
    this.#openEngine = undefined
    // The gate of an engine has the states of features: those of an engine that stays must stay, too.
    this.#states.rest()
  }

  /** The mode at this moment. */
  async mode(): Promise<ModeName | undefined> {
    const engine = await this.#engine
    return engine === undefined ? this.options.mode : engine.authority.mode
  }

  identity(): RunIdentity {
    const { agentId, sessionId } = this
    const metadata = this.active?.metadata ?? this.options.metadata
    return {
      agentId,
      sessionId,
      runId: this.activeRunId ?? 'host',
      ...omitUndefined({ metadata }),
    }
  }

  callTool(name: string, args: unknown, signal?: AbortSignal): Promise<ToolResult> {
    return callTool(this, name, args, signal)
  }

  isHostTool(tool: AnyTool): boolean {
    return hostTools.get(tool.name) === tool
  }

  isBuiltinTool(name: string): boolean {
    return builtinTools(this.options, this.setup.agentTools?.() ?? []).some((tool) => tool.name === name)
  }

  model(): Model {
    return this.models.current()
  }

  setModel(model: string | Model): Promise<void> {
    return this.models.set(model, this.recorder)
  }

  instructions(): Promise<string> {
    return this.prompt.text()
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

  saveSpending(): Promise<void> {
    return this.account.save(this.recorder)
  }

  changesOwner(): string {
    return this.parent?.changesOf ?? this.activeRunId ?? hostCalls
  }

  cancelRun(runId: string, reason: string): boolean {
    return this.queue.cancel(runId, reason)
  }

  /** Names a session that has no messages yet after its first prompt. */
  titleAfter(prompt: string): void {
    if (this.title.current !== undefined || !this.conversation.isEmpty) return
    const title = this.title.takeFrom(this.withoutKeys(prompt))
    if (title !== undefined) this.recorder?.title(title)
  }
}

/** What must not be shown: the keys of the configuration, and what the proxy of the sandbox adds to requests. */
function secretsOf({ secrets = noSecrets, options }: SessionSetup): readonly string[] {
  const ofHosts = options.network?.secrets ?? []
  // The same list for every session that adds nothing: what finds secrets is made once for each list.
  return ofHosts.length === 0
    ? secrets
    : [...secrets, ...ofHosts.flatMap((secret) => hiddenTexts(valueNow(secret) ?? ''))]
}

const noSecrets: readonly string[] = []

/** Reading more messages again with each run would take longer than what is saved is worth. */
const maxForgottenMessages = 64
