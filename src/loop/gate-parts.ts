import type { Call } from '../authority/call.js'
import type { FindBelow } from '../authority/contained-files.js'
import type { Authority } from '../authority/decide.js'
import type { PathLookup } from '../authority/expand-on-disk.js'
import type { JudgedCall } from '../authority/judged-call.js'
import type { Manifest } from '../authority/manifest.js'
import type { Rule } from '../authority/rule.js'
import type { Verdict } from '../authority/verdict.js'
import type { Watchdog } from '../authority/watchdog.js'
import type { ToolApprovalRequest, ToolApprovalsOptions } from '../tool/approval.js'
import type {
  AnyGovernedTool,
  AnyTool,
  OutputLimits,
  RunIdentity,
  ToolCallContext,
  ToolCallStreamEvent,
} from '../tool/contract.js'
import type { Envelope } from '../tool/envelope.js'
import type { AgentMiddleware } from '../tool/middleware.js'
import type { ToolRuntime } from '../tool/runtime.js'
import type { CallWatch } from '../tool/session-services.js'
import type { Subject } from '../tool/subject.js'
import type { AskHandler } from './ask.js'
import type { Spill } from './bound-output.js'
import type { CallSlot } from './call-order.js'
import type { WriteOrder } from './write-order.js'

/** The origin of a call. It only decides which of the middle steps of the gate apply. */
export type CallOrigin = 'model' | 'host' | 'program' | 'child'

/** One tool call at the gate. */
export type GateCall = {
  readonly name: string
  /** The JSON text that a model wrote, or a value from code. */
  readonly input: { readonly text: string } | { readonly value: unknown }
  readonly origin: CallOrigin
  readonly toolCallId?: string | undefined
  /** The provider's second id: policies and middleware get this one in place of `toolCallId`. */
  readonly providerCallId?: string | undefined
  readonly turn?: number | undefined
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
  /** Its position among the calls that run with it. */
  readonly slot?: CallSlot | undefined
  /** The tool of this name in another form: judged, shown and recorded as the tool. */
  readonly form?: AnyGovernedTool | undefined
  /** Whether `toolCallId` is the id of a call inside another call, which can be resumed. */
  readonly inside?: boolean | undefined
  /** Whether it is made inside a call that writes files, and so does not wait for other writing calls. */
  readonly insideWriter?: boolean | undefined
  /** Called when the call starts and stops waiting for an approval. */
  readonly watch?: CallWatch | undefined
  /** Emits events of an agent that runs inside the call, with the id that the gate gave the call. */
  emitStreamEvent?(event: ToolCallStreamEvent, callId: string): void | Promise<void>
} & Pick<ToolCallContext, 'progress'>

/** The steps of the gate, in order. */
export type Step =
  | 'resolve'
  | 'parse'
  | 'input'
  | 'validate'
  | 'capability'
  | 'rules'
  | 'watchdog'
  | 'hooks'
  | 'approval'
  | 'budget'
  | 'execute'
  | 'bound'
  | 'output'
  | 'done'

/** The decision about a call and its result: for the log, the trace and the events. */
export type CallRecord = {
  readonly callId: string
  readonly toolCallId?: string | undefined
  readonly toolName: string
  readonly origin: CallOrigin
  /** The arguments as JSON text. */
  readonly args: string
  /** The last step it reached; `done` when it ran. */
  readonly endedAt: Step
  /** When it started, by the host's clock. */
  readonly startedAtMs: number
  readonly durationMs: number
  /** The caller: a run's id, or `host`. */
  readonly runId?: string | undefined
  /** The absolute paths that it touched, or would have touched. */
  readonly paths?: readonly string[] | undefined
  readonly verdict?: Verdict | undefined
  readonly rules?: readonly Rule[] | undefined
  /** The answers of the grant, the rules, the mode and the parents, as plain data. */
  readonly judged?: JudgedCall | undefined
  readonly watchdog?: Verdict | undefined
  /** The decisions of hooks before the call; absent without hooks. */
  readonly hooks?: HookVerdict['action'] | 'ask' | undefined
  /** How it was approved: `once`, `session`, `always`, or `policy` for the tool's own policy. */
  readonly approval?: string | undefined
  readonly envelope: Envelope
  /** Failures around the call that did not stop it, such as of a hook that only observes. */
  readonly notices?: readonly string[] | undefined
}

/** How the gate decided about a call, for the event at its end and so for the log. */
export type CallDecision = Pick<
  CallRecord,
  'endedAt' | 'durationMs' | 'judged' | 'watchdog' | 'hooks' | 'approval'
>

/** The result of a call at the gate, and its record. */
export type GateOutcome = {
  readonly envelope: Envelope
  readonly record: CallRecord
  /** Set when the run must end too. */
  readonly fatal?: { readonly error: unknown } | undefined
}

/** A call in the form that hooks get. */
export type HookCall = {
  readonly toolName: string
  readonly args: unknown
  readonly origin: CallOrigin
  readonly callId: string
  /** The provider's id of the call, if it has one. */
  readonly toolCallId?: string | undefined
  /** The arguments as JSON text. */
  readonly rawArgs?: string | undefined
  /** The subjects that it touches, with the targets of links. */
  readonly subjects?: readonly Subject[] | undefined
  readonly signal?: AbortSignal | undefined
}
/** The decision of a hook before a call. */
export type HookVerdict =
  /** `approval`: the handler for tools' own approval policies must agree, as if the tool's policy asked. */
  | { readonly action: 'continue'; readonly ask?: string; readonly approval?: ApprovalTexts }
  /** `by`: what blocks, when it is not a hook. */
  | { readonly action: 'block'; readonly reason: string; readonly by?: string }
  | { readonly action: 'skip'; readonly output: string }
  /** `ask`: why a user must decide, regardless of the rules. */
  | { readonly action: 'change'; readonly args: unknown; readonly ask?: string }

export type ApprovalTexts = Pick<ToolApprovalRequest, 'reason' | 'rejectMessage'>

/**
 * The parts of a gate. Functions are called again for each call, because their results can change during a session.
 */
export type GateParts = {
  /** Returns the tools that a caller of this origin can use: for a model, only those it was offered. */
  readonly tools: {
    get(name: string, origin: CallOrigin): AnyTool | undefined
    names(origin: CallOrigin): readonly string[]
  }
  /**
   * Returns the authority for a call of this tool: rules, limits, and a grant of the tool's own requirements inside the
   * agent's.
   */
  authorityFor(tool: AnyGovernedTool): Authority
  /**
   * Resolves a path that a tool names inside the workspace; undefined when it leads outside or cannot be determined.
   */
  readonly realPath?: PathLookup['realPath'] | undefined
  /** Resolves a path that a command names, wherever it leads. Absent: `realPath` is used. */
  readonly followLinks?: PathLookup['followLinks'] | undefined
  /** Searches for a file below a directory that a command names. Absent: directories are not searched. */
  readonly findBelow?: FindBelow | undefined
  /** Returns the digest of a file's content; undefined when it cannot be read. */
  readonly fileDigest?: (path: string) => Promise<string | undefined>
  readonly manifest?: Manifest | undefined
  readonly watchdog?: Watchdog | undefined
  readonly watchdogTimeoutMs?: number | undefined
  /** Asks the user. Absent: no user can be asked, and calls that need an approval are refused. */
  readonly onAsk?: AskHandler | undefined
  /** The handler for tools' own approval policies; without it `onAsk` is called. */
  readonly approvals?: ToolApprovalsOptions | undefined
  /** Saves a rule that a user approved. */
  readonly keepRule?: ((rule: Rule, scope: 'session' | 'project') => void | Promise<void>) | undefined
  /** Returns the changes to files that a call would make, for the user who decides. */
  readonly diffFor?: (tool: AnyGovernedTool, args: unknown) => Promise<string | undefined>
  readonly middleware?: readonly AgentMiddleware[] | undefined
  /** Called before the call. An error or a timeout blocks the call. */
  readonly before?: (call: HookCall) => HookVerdict | Promise<HookVerdict>
  /** Called after the call. An error is a notice in the record. */
  readonly after?: (call: HookCall & { readonly envelope: Envelope }) => void | Promise<void>
  /** The time limit of hooks, budget and diff, in milliseconds. */
  readonly guardTimeoutMs?: number | undefined
  /** Returns the reason when a call must not be made. */
  readonly budget?: (call: {
    readonly toolName: string
    readonly args: unknown
  }) => string | undefined | Promise<string | undefined>
  /** Called right before the tool runs. An error prevents that. */
  readonly starting?: ((call: StartingCall) => void | Promise<void>) | undefined
  /** Orders calls that write the same file. Absent: they can run at the same time. */
  readonly writes?: WriteOrder | undefined
  /** Queues a call, or sends it to a worker. */
  readonly lane?:
    | ((
        call: LaneCall,
        /**
         * Runs the tool in this process, within this many milliseconds if given. More than once only where the tool
         * allows it.
         */
        run: (timeoutMs?: number) => Promise<Envelope>,
      ) => Promise<Envelope>)
    | undefined
  /** Creates the runtime for one call. Its signal is aborted when the call has ended in any way. */
  readonly runtimeFor?: (call: RuntimeRequest) => ToolRuntime | undefined | Promise<ToolRuntime | undefined>
  readonly spill: Spill
  /** The default limits of tools without their own. */
  readonly outputLimits?: OutputLimits | undefined
  /** Records the call. An error ends the run: no call may follow one that cannot be recorded. */
  readonly record?: ((record: CallRecord) => void | Promise<void>) | undefined
  /** The run that the calls belong to; a function is called at the start of each call. */
  readonly run?: (RunIdentity | (() => RunIdentity)) | undefined
  readonly toolTimeoutMs?: number | undefined
  readonly stopGraceMs?: number | undefined
  now(): number
  newId(): string
}

/** A call that is about to begin, here or elsewhere. */
export type LaneCall = {
  readonly tool: AnyGovernedTool
  /** The model's id of the call. */
  readonly toolCallId?: string | undefined
  /** As JSON text. */
  readonly args: string
  readonly origin: CallOrigin
  readonly signal?: AbortSignal | undefined
  /** Must be called each time before another process can run the tool. An error prevents that. */
  starting(): void | Promise<void>
}

export type StartingCall = {
  readonly callId: string
  readonly toolCallId?: string | undefined
  readonly toolName: string
  readonly origin: CallOrigin
  /** As JSON text. */
  readonly args: string
  readonly idempotent: boolean
  readonly inside?: boolean | undefined
}

/** The call that a runtime is created for. */
export type RuntimeRequest = {
  /** The id that the gate gave the call. */
  readonly callId: string
  readonly call: Call
  readonly authority: Authority
  readonly signal: AbortSignal
  /** Whether the call has ended: nothing of its runtime can be used any more. */
  readonly hasEnded: boolean
  readonly origin: CallOrigin
  /** The call that the runtime is for. */
  readonly request: GateCall
  /** Whether the call, or one around it, writes files. */
  readonly writer: boolean
  /** Ends the run because of an error in a call made inside this one. */
  endRun(error: unknown): void
}
