import { setMaxListeners } from 'node:events'
import type { ModeName } from '../authority/mode.js'
import { type Commands, createCommands } from '../commands/index.js'
import { createHooks, type HookHandler, type Hooks } from '../hooks/index.js'
import { type Budget, type BudgetGuard, createBudget } from '../loop/budget.js'
import type { AgentEvent } from '../loop/events.js'
import { type Clock, type IdGenerator, randomIds, systemClock } from '../loop/host-env.js'
import type { UnfinishedRound } from '../loop/run-parts.js'
import type { Usage } from '../loop/usage.js'
import type { Circuits } from '../model/circuits.js'
import type { Model } from '../model/model.js'
import { type Lane, laneOfKind } from '../queue/lane.js'
import type { SessionStore } from '../store/session-store.js'
import type { UserMessage } from '../tool/completion.js'
import type { AnyTool, RunIdentity } from '../tool/contract.js'
import { toolSearchTool } from '../toolbox/tool-search.js'
import type { InstructionOptions } from '../workspace/instructions/read-instructions.js'
import { withTimeout } from '../workspace/shell/with-timeout.js'
import type { ActiveRun } from './active-run.js'
import { asleepTools, builtinTools, isBuiltinName, ownTools } from './builtin-tools.js'
import { type ChildMaker, childRow, type ParentLink } from './child.js'
import { type Confirmations, createConfirmations, type SavedQuestions } from './confirmations.js'
import { type Engine, startEngine } from './engine.js'
import { SessionBusyError, SessionClosedError } from './errors.js'
import { FileChanges } from './history/file-changes.js'
import { canGoOn } from './journal/call-steps.js'
import { interruptedResults, type OpenCalls, unfinishedRound } from './journal/interrupted.js'
import { waitingQuestions } from './journal/questions.js'
import {
  createRecordedConversation,
  type RecordedConversation,
  type RecordedConversationOptions,
} from './journal/recorded-conversation.js'
import { optionsToKeep, type RestoredSession, restoredRules, restoredTodos } from './journal/restore.js'
import { SessionRecorder } from './journal/session-recorder.js'
import { labelsOf, type SessionOptions } from './options.js'
import { OutsideDirectories } from './outside-directories.js'
import { MadeParts, type SessionPart } from './part.js'
import { type KnownServers, mcpPart } from './parts/mcp.js'
import { createPlanProgress, type PlanProgress } from './plan-progress.js'
import { type FoundInstructions, lookForPrompt, makePrompt } from './prompt/make-prompt.js'
import { createRedactor, type Redactor } from './redactor.js'
import { Runs } from './runs.js'
import { redactValue } from './security/index.js'
import { shownLimits } from './shown-limits.js'
import { Ledger, restoredSpending, spendingRow } from './spending.js'
import { maxTitleLength, oneLine, titleFrom } from './title.js'
import { withToolFacts } from './tool-facts.js'
import { ToolRegistry } from './tool-registry.js'
import { Trace } from './trace.js'

/** What an agent hands to each of its sessions. */
export type SessionParts = {
  readonly sessionId: string
  readonly agentId: string
  /** The real path of the workspace. */
  readonly root: string
  /** The user's own directory: rules and instructions for every project. */
  readonly userDir: string
  readonly options: SessionOptions
  readonly warnings: readonly string[]
  /** Where instruction files are looked for, and how much of them is read. */
  readonly instructions?: Pick<InstructionOptions, 'fileNames' | 'maxBytes' | 'userDir'>
  /** Values that nobody outside may see: keys of the configuration. */
  readonly secrets?: readonly string[]
  /** What the store has of this session from before. */
  readonly restored?: RestoredSession
  /** Built-in tools beside those of the toolbox, which hold something of the agent's. */
  readonly agentTools?: readonly AnyTool[]
  /** The MCP servers of the configuration; those of the options stand in front of them. */
  readonly mcpServers?: readonly object[]
  /** What those servers offered when the agent last asked them. */
  readonly knownServers?: KnownServers
  /** Makes the sessions of subagents; absent: there are none. */
  readonly children?: ChildMaker
  /** For the session of a subagent. */
  readonly parent?: ParentLink
  /** The model of this name, or the default one. */
  resolveModel(name?: string): Model
  /** The circuit breakers of the agent's models. */
  readonly circuits?: Circuits
  /** It takes no more calls; `ended` settles when nothing of it is left. */
  closed(ended: Promise<void>): void
}

/** What a session consists of. `Session` is what a host sees of it; each file around it does one thing with it. */
export class SessionCore {
  readonly parts: SessionParts
  readonly clock: Clock
  readonly ids: IdGenerator
  readonly shelf: ToolRegistry
  readonly hooks: Hooks
  readonly commands: Commands = createCommands()
  readonly conversation: RecordedConversation
  readonly plan: PlanProgress
  /** Writes down what happens; absent without a store. */
  readonly keeper: SessionRecorder | undefined
  /** What tools did to files, run by run. */
  readonly changes: FileChanges
  readonly runs: Runs
  readonly trace: Trace
  readonly budget: Budget
  readonly confirmations: Confirmations
  readonly screen: Redactor
  readonly places: OutsideDirectories
  /** Aborted when the session is closed. */
  readonly closing = new AbortController()
  readonly steering: UserMessage[] = []
  guard: BudgetGuard | undefined
  active: ActiveRun | undefined
  /** Runs that wait or are at work, by id. */
  readonly open = new Map<string, ActiveRun>()
  /** Settles when all runs so far have ended, and never fails. */
  queue: Promise<unknown> = Promise.resolve()
  /** All that the session has spent, in earlier processes too. */
  readonly spending = new Ledger()
  /** The part of it that belongs to no run. */
  readonly outside = new Ledger()
  #outsideSaved = 0
  #model: Model | undefined
  #engine: Promise<Engine> | undefined
  #prompt: Promise<string> | undefined
  /** What the prompt will be made of. */
  #ahead: Promise<FoundInstructions> | undefined
  #started = false
  #ending: Promise<void> | undefined
  #mended = false
  #alone = false
  #title: string | undefined
  /** A title that was set while the session was open: a list may read only the beginning and the end of a log. */
  #titleSet = false
  readonly #made = new MadeParts()

  constructor(parts: SessionParts) {
    const { options, sessionId } = parts
    this.parts = parts
    // Every direct call listens, and many may be made at once.
    setMaxListeners(0, this.closing.signal)
    this.clock = options.hostEnv?.clock ?? systemClock
    this.ids = options.hostEnv?.idGenerator ?? randomIds
    this.guard = options.budgetGuard
    this.places = parts.parent?.places ?? new OutsideDirectories(parts.root, options)
    const builtin = builtinTools(options, parts.agentTools ?? [])
    const asleep = asleepTools(options, builtin)
    const limits = shownLimits(options.toolSearch ?? 'auto', isBuiltinName, () => this.model().facts)
    this.shelf = new ToolRegistry([...builtin, ...ownTools(options)], toolSearchTool, asleep, limits)
    this.runs = new Runs(options.retentionLimits)
    this.#restoreSpending()
    this.plan = createPlanProgress(restoredTodos(parts.restored))
    if (parts.restored !== undefined) this.runs.restore(parts.restored)
    this.trace = new Trace({ sessionId, ...labelsOf(options) }, options.retentionLimits?.maxTraceEvents)
    this.screen = createRedactor(options.securityProvider, parts.secrets ?? [], this.emit)
    const title = options.title ?? parts.restored?.session?.title
    this.#title = title === undefined ? undefined : oneLine(title).slice(0, maxTitleLength)
    this.keeper = options.sessionStore && this.#startRecorder(options.sessionStore)
    if (parts.restored === undefined && options.signal?.aborted !== true) this.keeper?.create()
    this.conversation = this.keeper?.conversation ?? this.#unsaved()
    this.changes = parts.parent?.changes ?? this.#watchChanges(this.keeper)
    const hooked = { sessionId, workspace: parts.root, ...labelsOf(options) }
    this.hooks =
      parts.parent?.hooks.forSession(hooked) ??
      createHooks({
        session: hooked,
        now: this.now,
        clean: (payload) => this.withoutKeys(payload),
        onNotice: ({ hookId, message }) => this.emit({ type: 'notice', source: `hook ${hookId}`, message }),
      })
    // What a subagent spends its parent spends, all the way up.
    const budget = parts.parent?.budget ?? createBudget(() => this.guard, sessionId, this.emit)
    this.budget = this.#counted(budget)
    this.confirmations = createConfirmations({
      policy: options.confirmationPolicy ?? {},
      ...(options.onAsk !== undefined && { onAsk: options.onAsk }),
      laneOf: (toolName) => this.#laneOf(toolName),
      root: parts.root,
      ...(this.keeper !== undefined && { kept: this.#savedQuestions(this.keeper) }),
      emit: this.emit,
      now: this.now,
    })
    for (const { id, event, matcher, config, handler } of options.hooks ?? [])
      this.hooks.register(id, event, matcher, config, handler as HookHandler)
    for (const { name, description, handler } of options.commands ?? [])
      this.commands.register(name, description, handler)
    // The tools that are known already are there from the start.
    if (parts.knownServers !== undefined) this.part(mcpPart)
  }

  /** The same value without the keys of the configuration: for the conversation and for hooks. */
  withoutKeys<Value>(value: Value): Value {
    const { keys } = this.screen
    return keys === undefined ? value : redactValue(value, keys)
  }

  readonly now = (): number => this.clock.now()
  readonly newId = (): string => this.ids.next()

  /** Emits an event of the active run, with what is known of its tool. Outside of runs it is dropped. */
  readonly emit = (event: AgentEvent): void => {
    this.active?.emit(withToolFacts(event, this))
    if (event.type === 'planning_end' && this.hooks.has('post_planning'))
      void this.hooks.run('post_planning', { plan: event.plan, estimated_steps: event.estimatedSteps })
    if (event.type === 'budget_threshold_hit' && this.hooks.has('budget_threshold_hit'))
      void this.hooks.run('budget_threshold_hit', {
        resource: event.resource,
        kind: event.kind,
        consumed: event.consumed ?? 0,
        limit: event.limit ?? 0,
        ...(event.message !== undefined && { message: event.message }),
      })
  }

  /** What one concern keeps for this session, made with its first use. */
  part<T>(part: SessionPart<T>): T {
    return this.#made.get(part, this)
  }

  /** The same, if anybody has used it. */
  peekPart<T>(part: SessionPart<T>): T | undefined {
    return this.#made.peek(part)
  }

  /** The tokens of everything that the session has asked of models. */
  get usage(): Usage {
    return this.spending.usage
  }

  /** Whether a tool of this name is ours. */
  isBuiltinTool(name: string): boolean {
    return builtinTools(this.parts.options, this.parts.agentTools ?? []).some((tool) => tool.name === name)
  }

  get title(): string | undefined {
    return this.#title
  }

  async setTitle(title: string): Promise<void> {
    this.#title = title
    this.#titleSet = true
    await this.keeper?.session({ title })
  }

  /** Names a session in which nothing was said yet after its first prompt. */
  titleAfter(prompt: string): void {
    if (this.#title !== undefined || this.conversation.order.length > 0) return
    this.#title = titleFrom(this.withoutKeys(prompt))
    if (this.#title !== undefined) this.keeper?.title(this.#title)
  }

  get isClosed(): boolean {
    return this.closing.signal.aborted
  }

  assertOpen(): void {
    if (this.isClosed) throw new SessionClosedError(this.parts.sessionId)
  }

  model(): Model {
    const { model } = this.parts.options
    this.#model ??= typeof model === 'object' ? model : this.parts.resolveModel(model)
    return this.#model
  }

  /** The models that are asked when that one cannot answer. */
  fallbackModels(): readonly Model[] {
    const { fallbackModels = [] } = this.parts.options
    const model = this.model()
    return fallbackModels
      .map((given) => (typeof given === 'object' ? given : this.parts.resolveModel(given)))
      .filter((fallback) => fallback !== model)
  }

  async setModel(name: string): Promise<void> {
    this.#model = this.parts.resolveModel(name)
    const { provider, id } = this.#model
    await this.keeper?.session({
      model: { provider, id },
      options: optionsToKeep({ ...this.parts.options, model: name }),
    })
  }

  /** Whether a run is at work or waits, or the session itself is being changed. */
  get isBusy(): boolean {
    return this.open.size > 0 || this.#alone
  }

  /** Changes the session itself: never beside a run, and runs that come meanwhile wait for it. */
  async alone<T>(doing: string, work: () => Promise<T>): Promise<T> {
    this.assertOpen()
    if (this.isBusy) throw new SessionBusyError(this.parts.sessionId, doing)
    this.#alone = true
    const ended = work().finally(() => {
      this.#alone = false
    })
    this.queue = Promise.allSettled([this.queue, ended]).then(() => undefined)
    return ended
  }

  /** The mode that holds now. */
  async mode(): Promise<ModeName | undefined> {
    const engine = await this.#engine
    return engine === undefined ? this.parts.options.mode : engine.authority.mode
  }

  identity(): RunIdentity {
    const { agentId, sessionId } = this.parts
    const metadata = this.active?.metadata ?? this.parts.options.metadata
    return {
      agentId,
      sessionId,
      runId: this.active?.id ?? 'host',
      ...(metadata !== undefined && { metadata }),
    }
  }

  /** Starts with the first call; a failed start is tried again at the next. */
  engine(): Promise<Engine> {
    this.#engine ??= startEngine({
      ...this.parts,
      shelf: this.shelf,
      hooks: this.hooks,
      budget: this.budget,
      confirmations: this.confirmations,
      plan: this.plan,
      changes: this.changes,
      places: this.places,
      middleware: [...(this.parts.options.middleware ?? []), ...this.screen.middleware],
      watchdogs: this.screen.watchdogs,
      identity: () => this.identity(),
      emit: this.emit,
      sessionRules: restoredRules(this.parts.restored, this.parts.options),
      ...(this.keeper !== undefined && { keeper: this.keeper }),
      record: (record) => this.trace.add(record),
      part: (part) => this.part(part),
      now: this.now,
      newId: this.newId,
    }).catch((error: unknown) => {
      this.#engine = undefined
      throw error
    })
    return this.#engine
  }

  /** The instructions of the model: made once, the same from then on. */
  instructions(): Promise<string> {
    this.#prompt ??= this.#makePrompt().catch((error: unknown) => {
      this.#prompt = undefined
      throw error
    })
    return this.#prompt
  }

  async #makePrompt(): Promise<string> {
    const found = this.#ahead ?? lookForPrompt(this)
    this.#ahead = undefined
    return makePrompt(this, await found)
  }

  /** Begins to look for what the prompt will be made of, unless there is one; what a run before did not come to use is old. */
  lookAhead(): void {
    if (this.#prompt !== undefined) return
    this.#ahead = lookForPrompt(this)
    // Whoever asks for the prompt learns of it.
    this.#ahead.catch(() => undefined)
  }

  /** What happens once, before the first run. */
  async start(signal: AbortSignal): Promise<void> {
    if (this.#started) return
    this.#started = true
    if (!this.hooks.has('session_start')) return
    const payload = { working_directory: this.parts.root, resumed: this.parts.restored !== undefined }
    await this.hooks.run('session_start', payload, { signal })
  }

  /** The same, with the log left as it stands: to another process it looks as if this one had been killed, but for the lease. */
  suspend(): Promise<void> {
    if (this.#ending === undefined) this.keeper?.seal()
    return this.close()
  }

  /** Nothing new is taken from now on. Whoever calls it, however often, waits for the same end. */
  close(): Promise<void> {
    if (this.#ending === undefined) {
      this.#ending = this.#end()
      this.closing.abort(new SessionClosedError(this.parts.sessionId))
      for (const run of [...this.open.values()]) run.cancel('the session was closed')
      this.confirmations.cancelAll('The session was closed.')
      this.parts.closed(this.#ending)
    }
    return this.#ending
  }

  async #end(): Promise<void> {
    await this.queue
    if (this.#started && this.hooks.has('session_end'))
      await this.hooks.run('session_end', { reason: 'closed' })
    await withTimeout(this.hooks.settled(), hookGraceMs)
    try {
      await this.#made.close()
    } finally {
      const engine = await this.#engine?.catch(() => undefined)
      await engine?.workspace.close()
      // A log that cannot be written has said so before.
      await this.keepSpending().catch(() => undefined)
      if (this.#titleSet && this.#title !== undefined && this.conversation.order.length > 0)
        this.keeper?.title(this.#title)
      await this.keeper?.close()
    }
  }

  /** What is known of calls that an earlier process left without a result, until somebody answers them. */
  get leftOpen(): OpenCalls {
    const { restored } = this.parts
    return restored === undefined || this.#mended ? { openIntents: [] } : restored
  }

  /** Calls that an earlier process did not live to answer, answered as they are: before anything else is said. */
  async closeInterrupted(): Promise<void> {
    const { restored } = this.parts
    if (restored === undefined || this.#mended) return
    this.#mended = true
    this.confirmations.forgetSaved()
    const results = interruptedResults(this.conversation.messages, restored, this.now())
    if (results !== undefined) await this.conversation.append(results.message, results)
  }

  /** The last answer of these runs, when calls of it can be made now that an earlier process did not live to make. */
  unfinishedRound(family: ReadonlySet<string>): UnfinishedRound | undefined {
    const { restored } = this.parts
    if (restored === undefined || this.#mended) return undefined
    const last = this.conversation.kept.at(-1)
    const own = last?.row.runId !== undefined && family.has(last.row.runId)
    const goesOn = (_: string, callId: string): boolean => own && canGoOn(restored, last.id, callId)
    return unfinishedRound(this.conversation.messages, restored, { family, now: this.now(), goesOn })
  }

  /** The same, to be finished now: nobody else will. */
  takeUnfinishedRound(family: ReadonlySet<string>): UnfinishedRound | undefined {
    const unfinished = this.unfinishedRound(family)
    if (unfinished !== undefined) this.#mended = true
    return unfinished
  }

  #savedQuestions(keeper: SessionRecorder): SavedQuestions {
    const { restored } = this.parts
    return {
      waiting: restored === undefined ? [] : waitingQuestions(restored, keeper.conversation),
      asked: (request, expiresAtMs) => keeper.asked(request, expiresAtMs),
      refused: (callId, message) => keeper.refused(callId, message),
      isSame: (kept, request) => keeper.isSame(kept, request),
    }
  }

  #watchChanges(keeper: SessionRecorder | undefined): FileChanges {
    const redact = this.screen.record
    const { restored } = this.parts
    return new FileChanges({
      ...(restored !== undefined && { restored: restored.changes }),
      ...(keeper !== undefined && {
        keep: {
          note: (note) => keeper.change(note),
          writeImage: (bytes) => keeper.writeImage(bytes),
          readImage: (digest) => keeper.readImage(digest),
        },
      }),
      // A file can only be put back as it was; one with a secret in it is not written down at all.
      ...(redact !== undefined && {
        mayKeep: (bytes) => {
          const text = new TextDecoder().decode(bytes)
          return redact(text) === text
        },
      }),
      now: this.now,
    })
  }

  /** Without a store ids count the messages: those of the host are for what others see. */
  #unsaved(): RecordedConversation {
    const { sessionId, restored } = this.parts
    let count = restored?.order.length ?? 0
    return createRecordedConversation({
      sessionId,
      ...(restored !== undefined && { start: restored }),
      ...this.#hiding(),
      runId: () => this.active?.id,
      newId: () => `message-${++count}`,
      now: this.now,
    })
  }

  #hiding(): Pick<RecordedConversationOptions, 'hide'> {
    return this.screen.keys === undefined ? {} : { hide: (value) => this.withoutKeys(value) }
  }

  #startRecorder(store: SessionStore): SessionRecorder {
    const { options, sessionId, agentId, root, restored } = this.parts
    const redact = this.screen.record
    return new SessionRecorder({
      store,
      sessionId,
      holder: `a session of the agent '${agentId}'`,
      ...(options.durability !== undefined && { durability: options.durability }),
      ...(restored !== undefined && { restored }),
      ...(redact !== undefined && { redact }),
      ...this.#hiding(),
      row: () => ({
        agent: agentId,
        workspaceRoot: root,
        labels: { ...labelsOf(options) },
        ...(this.#title !== undefined && { title: this.#title }),
        options: optionsToKeep({ ...options, ...this.parts.parent?.kept }),
        ...childRow(this.parts.parent),
      }),
      runId: () => this.active?.id,
      onDamage: (message) => this.emit({ type: 'notice', source: 'store', message }),
      now: this.now,
      newId: this.newId,
    })
  }

  /**
   * Every answer passes here: of runs that fail, of subagents, side questions, summaries and generated objects. It is counted for the
   * session, and for the run that is active at this moment.
   */
  #counted(budget: Budget): Budget {
    return {
      ...budget,
      afterModel: (usage, costUsd, model) => {
        const spent = { model, usage, ...(costUsd !== undefined && { costUsd }) }
        this.spending.add(spent)
        const ledger = this.active?.spending ?? this.outside
        ledger.add(spent)
        return budget.afterModel(usage, costUsd, model)
      },
    }
  }

  #restoreSpending(): void {
    const { inRuns, outside } = restoredSpending(this.parts.restored)
    for (const spent of [...inRuns, ...outside]) this.spending.add(spent)
    for (const spent of outside) this.outside.add(spent)
    this.#outsideSaved = this.outside.usage.totalTokens
  }

  /** Writes down what was spent outside of runs: nothing else in the log says it. */
  async keepSpending(): Promise<void> {
    const { totalTokens } = this.outside.usage
    if (totalTokens === this.#outsideSaved || !this.keeper?.isOpen) return
    this.#outsideSaved = totalTokens
    await this.keeper.session({ spending: spendingRow(this.outside) })
  }

  /** Cancels a run that waits or is at work. */
  cancelRun(runId: string): boolean {
    return this.open.get(runId)?.cancel('cancelRun() was called') ?? false
  }

  #laneOf(toolName: string): Lane {
    return laneOfKind(this.shelf.get(toolName)?.kind ?? 'other')
  }
}

/** Hooks that nobody waits for have this long once the session is closed. */
const hookGraceMs = 2_000
