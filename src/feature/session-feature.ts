import type { AskHandler } from '../loop/ask.js'
import type { AgentEvent } from '../loop/events.js'
import type { CallRecord, GateParts, HookCall, HookVerdict, RuntimeRequest } from '../loop/gate-parts.js'
import type { RunOutcome } from '../loop/run.js'
import type { RequestWatch, RunParts } from '../loop/run-parts.js'
import type { Model } from '../model/model.js'
import type { RunRow } from '../store/records.js'
import type { CompletionRequest, UserMessage } from '../tool/completion.js'
import type { AnyTool } from '../tool/contract.js'
import type { Envelope } from '../tool/envelope.js'
import type { RuntimeSession, RuntimeTools } from '../tool/session-services.js'
import type { FeatureContext } from './feature-context.js'
import type { Check } from './option-check.js'
import type { RunRequest } from './run-request.js'
import type { EndedRun, RunEnd, SharedServices } from './shared-services.js'

/**
 * A part that plugs into a session: memory, MCP servers, skills. A feature is one folder and one line in the ordered
 * list of features (`session/features.ts`). The kernel calls the members below in the order of that list, and uses
 * nothing else of a feature. All members except `name` and `create` are optional. A feature that a session does not use
 * costs nothing: `create` runs at the first `session.use`.
 *
 * @example
 * export const countFeature: SessionFeature<{ rounds: number }> = {
 *   name: 'count',
 *   create: () => ({ rounds: 0 }),
 *   onEvent: (session, event) => {
 *     if (event.type === 'turn_end') session.use(countFeature).rounds += 1
 *   },
 * }
 */
export type SessionFeature<State = unknown, Options = object, Setup = object> = {
  readonly name: string
  /** Creates the feature's state for one session. */
  create(session: FeatureContext<Options, Setup>): State
  /** Called once when the session ends, after its runs; the last feature that was created is closed first. */
  close?(state: State): void | Promise<void>
  /**
   * Whether the state has nothing that a newly created state would not have. It is then dropped while the session waits
   * for its next run.
   */
  isUnused?(state: State): boolean

  // Options and tools

  /** The session options of the feature, each with its check. */
  readonly options?: { readonly [Name in keyof Options]?: Check }
  /** Returns warnings about combinations of options that are each valid. */
  optionWarnings?(options: Options): readonly string[]
  /** Returns the tools of the feature, which are among the built-in tools. */
  tools?(options: Options): readonly AnyTool[]
  /** Returns those of its tools that the model does not see until they are offered. */
  dormantTools?(): readonly AnyTool[]
  /**
   * Called when a host calls a tool that the session does not have: the feature can add it, such as by connecting a
   * server.
   */
  bringTool?(session: FeatureContext<Options, Setup>, name: string, signal: AbortSignal): void | Promise<void>
  /**
   * Returns a tool that the session does not have, by its name: one that will exist later, or whose call explains why
   * it does not exist.
   */
  resolveTool?(session: FeatureContext<Options, Setup>, name: string): AnyTool | undefined

  // The session

  /** Called when the session object was created. */
  opened?(session: FeatureContext<Options, Setup>): void
  /** Called before the first run or direct call. */
  started?(session: FeatureContext<Options, Setup>, signal: AbortSignal): void | Promise<void>
  /** Called when all runs of a closed session have ended. `wasStarted`: `started` was called. */
  ended?(session: FeatureContext<Options, Setup>, wasStarted: boolean): void | Promise<void>

  // The system prompt

  /** Starts to look up what `promptSection` needs; sessions that start at the same time share the lookup. */
  findPromptSources?(session: FeatureContext<Options, Setup>): void | Promise<void>
  /** Returns the context part that a text of a user message belongs to, if the feature added the text. */
  contextPart?(text: string): 'memory' | undefined
  /** Returns a section of the system prompt. Called once per session. */
  promptSection?(session: FeatureContext<Options, Setup>): string | undefined | Promise<string | undefined>

  // A run: the members in the order in which they are called

  /** Throws when a request is invalid. Nothing has been queued or written yet. */
  checkRequest?(request: RunRequest): void
  /** Returns fields for the row of a queued run in the log. */
  queuedRun?(request: RunRequest): Pick<RunRow, 'goal'> | undefined
  /** Called when a run is queued. Returns a receiver for the run's events, after redaction. */
  watchRun?(
    session: FeatureContext<Options, Setup>,
    runId: string,
    request: RunRequest,
  ): ((event: AgentEvent) => void) | undefined
  /** Called when the run begins. Returns fields for its row in the log. */
  startRun?(
    session: FeatureContext<Options, Setup>,
    runId: string,
    request: RunRequest,
  ): Pick<RunRow, 'traceparent' | 'goal'> | undefined
  /**
   * Whether the feature may wait for something before the prompt is in the conversation. The run is then saved first.
   */
  delaysPrompt?(session: FeatureContext<Options, Setup>): boolean
  /** Replaces a request. Returns undefined synchronously when the request is not for this feature. */
  expandRequest?(
    session: FeatureContext<Options, Setup>,
    request: RunRequest,
    signal: AbortSignal,
  ): Promise<RunRequest> | undefined
  /**
   * Answers a request instead of the model. Returns undefined synchronously when the request is not for this feature.
   */
  answerRequest?(
    session: FeatureContext<Options, Setup>,
    request: RunRequest,
    signal: AbortSignal,
  ): Promise<string | undefined> | undefined
  /** Called before any work on the prompt. Returns checks of the work before the run ends. */
  beforeRun?(session: FeatureContext<Options, Setup>, request: RunRequest): Promise<RunChecks> | undefined
  /** Replaces the text of the prompt, or throws to stop it. */
  rewritePrompt?(
    session: FeatureContext<Options, Setup>,
    prompt: string,
    request: RunRequest,
    signal: AbortSignal,
  ): string | Promise<string>
  /** `rewritePrompt` for side questions. */
  rewriteSideQuestion?(
    session: FeatureContext<Options, Setup>,
    question: string,
    signal: AbortSignal,
  ): string | Promise<string>
  /** Adds content to the message of the user. */
  extendPrompt?(
    session: FeatureContext<Options, Setup>,
    message: UserMessage,
    request: RunRequest,
    signal: AbortSignal,
  ): UserMessage | Promise<UserMessage>
  /** Called before the first request to the model, including side questions and generated objects. */
  beforeModel?(session: FeatureContext<Options, Setup>, signal: AbortSignal): void | Promise<void>
  /** Returns messages for the model that arrived in the meantime; called between rounds. */
  takeMessages?(session: FeatureContext<Options, Setup>): readonly UserMessage[]
  /** Called when the model has answered. */
  afterResponse?(
    session: FeatureContext<Options, Setup>,
    outcome: RunOutcome,
    startedAtMs: number,
    signal: AbortSignal,
  ): void | Promise<void>
  /** Called when a run was cancelled: ends the work that the feature started for it. */
  stopWork?(session: FeatureContext<Options, Setup>, reason: string): void | Promise<void>
  /** Called when the run has ended; its end is not in the log yet. */
  afterRun?(session: FeatureContext<Options, Setup>, run: EndedRun, end: RunEnd): void | Promise<void>
  /** Whether a run that is resumed after its last answer must check its work again. */
  checksAnswers?(session: FeatureContext<Options, Setup>, run: RunRow): boolean

  // Calls that an earlier process left without a result

  /** Whether the feature has the outcome of such a call, so that a resumed run can make the call again. */
  canResumeCall?(session: FeatureContext<Options, Setup>, messageId: string, callId: string): boolean
  /** Called when these calls were answered in another way and are not made again. */
  forgetCalls?(session: FeatureContext<Options, Setup>): void

  // Events, calls and services

  /** Called with every event of the session, as it is emitted. */
  onEvent?(session: FeatureContext<Options, Setup>, event: AgentEvent): void
  /** Whether `observe` has an effect for this event. Absent: it has one for every event. */
  observes?(session: FeatureContext<Options, Setup>, event: string): boolean
  /** Called at a point in the session's life (`session.observe`). Its errors reach the caller. */
  observe?(
    session: FeatureContext<Options, Setup>,
    event: string,
    payload: Readonly<Record<string, unknown>>,
    signal: AbortSignal | undefined,
  ): void | Promise<void>
  /** Called when a request to a model begins, in a run or outside of one. Returns an observer of its outcome. */
  watchRequest?(
    session: FeatureContext<Options, Setup>,
    model: Model,
    request: CompletionRequest,
  ): RequestWatch | undefined
  /** Called when a call has left the gate: it ran, failed or was refused. */
  callEnded?(session: FeatureContext<Options, Setup>, record: CallRecord): void
  /** Returns the feature's part of the gate; called once per session. */
  gate?(session: FeatureContext<Options, Setup>): GateFeature | undefined
  /** What a tool can use through its runtime, each created when a tool requests it. */
  readonly services?: {
    readonly [Name in keyof RuntimeSession]?: Factory<Options, Setup, RuntimeSession[Name]>
  }
  /** The services that other features can use. */
  readonly offers?: {
    readonly [Name in keyof SharedServices]?: Offer<Options, Setup, SharedServices[Name] | undefined>
  }
}

/** Declared as a method, because methods are bivariant: features with different options fit into one list. */
type Factory<Options, Setup, Made> = {
  create(session: FeatureContext<Options, Setup>, call: ServiceCall): Made
}['create']

type Offer<Options, Setup, Made> = {
  create(session: FeatureContext<Options, Setup>): Made
}['create']

/** The checks that a feature makes in a run, and its limits for the run. */
export type RunChecks = Pick<RunParts, 'beforeDone' | 'stopWhen'> & {
  /** Replaces the limit of the session for this run. */
  readonly maxToolRounds?: number | undefined
}

/** The part of a feature in the gate. */
export type GateFeature = {
  /** Called before a call; `verdict` is the verdict of the features before this one. An error blocks the call. */
  before?(call: HookCall, verdict: HookVerdict): HookVerdict | Promise<HookVerdict>
  /** Called after a call, for the last feature of the list first. */
  after?(call: HookCall & { readonly envelope: Envelope }): void | Promise<void>
  /** Wraps the question to the user; the first feature of the list is outermost. */
  ask?(next: AskHandler): AskHandler
  readonly lane?: GateParts['lane']
}

/** The call that a service is for. */
export type ServiceCall = {
  readonly request: RuntimeRequest
  /** The other tools of the session, with the authority of this call. */
  tools(): RuntimeTools
}
