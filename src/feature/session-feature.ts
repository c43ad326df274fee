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
 * Something that plugs into a session: memory, MCP servers, skills. A feature is one folder and one line in the ordered
 * list of features (`session/features.ts`); the kernel calls the members below, in the order of that list, and knows
 * nothing else of it. All members but `name` and `create` are optional. A feature that a session does not use costs it
 * nothing: `create` runs with the first `session.use`.
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
   * Whether nothing was done with the state that one created again would not have. It is then dropped while the session
   * waits for its next run.
   */
  isUnused?(state: State): boolean

  // Options and tools

  /** The session options of the feature, each with its check. */
  readonly options?: { readonly [Name in keyof Options]?: Check }
  /** Warnings about options that are correct one by one. */
  optionWarnings?(options: Options): readonly string[]
  /** The tools of the feature, among the built-in ones. */
  tools?(options: Options): readonly AnyTool[]
  /** Those of them that a model is not shown until they are offered. */
  dormantTools?(): readonly AnyTool[]
  /** A host calls a tool that the session does not have: the feature can bring it, such as by connecting a server. */
  bringTool?(session: FeatureContext<Options, Setup>, name: string, signal: AbortSignal): void | Promise<void>
  /** A tool that the session does not have, by its name: one that exists later, or whose call says why it does not. */
  resolveTool?(session: FeatureContext<Options, Setup>, name: string): AnyTool | undefined

  // The session

  /** The session object was created. */
  opened?(session: FeatureContext<Options, Setup>): void
  /** Before the first run or direct call. */
  started?(session: FeatureContext<Options, Setup>, signal: AbortSignal): void | Promise<void>
  /** All runs of a closed session have ended. `wasStarted`: there was one. */
  ended?(session: FeatureContext<Options, Setup>, wasStarted: boolean): void | Promise<void>

  // The system prompt

  /** Starts to look for what `promptSection` needs; many sessions that start at once look together. */
  findPromptSources?(session: FeatureContext<Options, Setup>): void | Promise<void>
  /** The part of the context that a text of a user message belongs to, when the feature added the text. */
  contextPart?(text: string): 'memory' | undefined
  /** A section of the system prompt. It is asked for once per session. */
  promptSection?(session: FeatureContext<Options, Setup>): string | undefined | Promise<string | undefined>

  // A run, in the order in which its members are called

  /** Throws when a request is not valid. Nothing has been queued or written yet. */
  checkRequest?(request: RunRequest): void
  /** Fields for the row of a queued run in the log. */
  queuedRun?(request: RunRequest): Pick<RunRow, 'goal'> | undefined
  /** Called when a run is queued. Gives what receives the run's events, after secrets were taken out. */
  watchRun?(
    session: FeatureContext<Options, Setup>,
    runId: string,
    request: RunRequest,
  ): ((event: AgentEvent) => void) | undefined
  /** The run begins. Gives what its row in the log says about it. */
  startRun?(
    session: FeatureContext<Options, Setup>,
    runId: string,
    request: RunRequest,
  ): Pick<RunRow, 'traceparent' | 'goal'> | undefined
  /** Whether the feature may wait for something before the prompt is in the conversation: the run is saved before. */
  delaysPrompt?(session: FeatureContext<Options, Setup>): boolean
  /** Replaces a request. Undefined at once where the feature has nothing to do with it. */
  expandRequest?(
    session: FeatureContext<Options, Setup>,
    request: RunRequest,
    signal: AbortSignal,
  ): Promise<RunRequest> | undefined
  /** Answers a request in place of the model. Undefined at once where the feature has nothing to do with it. */
  answerRequest?(
    session: FeatureContext<Options, Setup>,
    request: RunRequest,
    signal: AbortSignal,
  ): Promise<string | undefined> | undefined
  /** Before anything works on the prompt. Gives what looks at the work before the run ends. */
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
  /** Adds something to the message of the user. */
  extendPrompt?(
    session: FeatureContext<Options, Setup>,
    message: UserMessage,
    request: RunRequest,
    signal: AbortSignal,
  ): UserMessage | Promise<UserMessage>
  /** Before the first request to the model, also of side questions and generated objects. */
  beforeModel?(session: FeatureContext<Options, Setup>, signal: AbortSignal): void | Promise<void>
  /** Messages for the model that arrived meanwhile; taken between rounds. */
  takeMessages?(session: FeatureContext<Options, Setup>): readonly UserMessage[]
  /** The model has answered. */
  afterResponse?(
    session: FeatureContext<Options, Setup>,
    outcome: RunOutcome,
    startedAtMs: number,
    signal: AbortSignal,
  ): void | Promise<void>
  /** A run was cancelled: ends what the feature started for it. */
  stopWork?(session: FeatureContext<Options, Setup>, reason: string): void | Promise<void>
  /** The run has ended; its end is not in the log yet. */
  afterRun?(session: FeatureContext<Options, Setup>, run: EndedRun, end: RunEnd): void | Promise<void>
  /** Whether a run that is resumed after its last answer must look at its work again. */
  checksAnswers?(session: FeatureContext<Options, Setup>, run: RunRow): boolean

  // Calls that an earlier process left without a result

  /** Whether the feature knows the outcome of such a call, so that a resumed run can make it again. */
  canResumeCall?(session: FeatureContext<Options, Setup>, messageId: string, callId: string): boolean
  /** They have been answered in another way: they are not made again. */
  forgetCalls?(session: FeatureContext<Options, Setup>): void

  // Events, calls and services

  /** Every event of the session, as it is emitted. */
  onEvent?(session: FeatureContext<Options, Setup>, event: AgentEvent): void
  /** Whether `observe` has an effect for this event. Absent: for every one. */
  observes?(session: FeatureContext<Options, Setup>, event: string): boolean
  /** A point in the session's life (`session.observe`). What it throws reaches the caller. */
  observe?(
    session: FeatureContext<Options, Setup>,
    event: string,
    payload: Readonly<Record<string, unknown>>,
    signal: AbortSignal | undefined,
  ): void | Promise<void>
  /** A request to a model begins, of a run or outside of one. Gives what is called with its end. */
  watchRequest?(
    session: FeatureContext<Options, Setup>,
    model: Model,
    request: CompletionRequest,
  ): RequestWatch | undefined
  /** A call has left the gate: it ran, failed or was refused. */
  callEnded?(session: FeatureContext<Options, Setup>, record: CallRecord): void
  /** The feature's part of the gate; asked once per session. */
  gate?(session: FeatureContext<Options, Setup>): GateFeature | undefined
  /** What a tool can use of the session through its runtime, each created when a tool asks for it. */
  readonly services?: {
    readonly [Name in keyof RuntimeSession]?: Factory<Options, Setup, RuntimeSession[Name]>
  }
  /** What other features can use. */
  readonly offers?: {
    readonly [Name in keyof SharedServices]?: Offer<Options, Setup, SharedServices[Name] | undefined>
  }
}

/** Written as a method, so that features with options of their own fit into one list. */
type Factory<Options, Setup, Made> = {
  create(session: FeatureContext<Options, Setup>, call: ServiceCall): Made
}['create']

type Offer<Options, Setup, Made> = {
  create(session: FeatureContext<Options, Setup>): Made
}['create']

/** What a feature checks of a run, and limits that it has for it. */
export type RunChecks = Pick<RunParts, 'beforeDone' | 'stopWhen'> & {
  /** Replaces the limit of the session for this run. */
  readonly maxToolRounds?: number | undefined
}

/** The part of the gate that a feature takes. */
export type GateFeature = {
  /** Before a call; `verdict` is what the features before this one decided. What it throws blocks the call. */
  before?(call: HookCall, verdict: HookVerdict): HookVerdict | Promise<HookVerdict>
  /** After a call; the last feature of the list first. */
  after?(call: HookCall & { readonly envelope: Envelope }): void | Promise<void>
  /** Around the question to the user; the first feature of the list is asked first. */
  ask?(next: AskHandler): AskHandler
  readonly lane?: GateParts['lane']
}

/** The call that a service is for. */
export type ServiceCall = {
  readonly request: RuntimeRequest
  /** The other tools of the session, with the authority of this call. */
  tools(): RuntimeTools
}
