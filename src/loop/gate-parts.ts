import type { Call } from '../authority/call.js'
import type { FindBelow } from '../authority/contained-files.js'
import type { Authority } from '../authority/decide.js'
import type { PathLookup } from '../authority/expand-on-disk.js'
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
import type { CallWatch, ToolRuntime } from '../tool/runtime.js'
import type { Subject } from '../tool/subject.js'
import type { AskHandler } from './ask.js'
import type { Spill } from './bound-output.js'
import type { CallSlot } from './call-order.js'
import type { WriteOrder } from './write-order.js'

/** Who calls. It decides only which of the middle steps apply. */
export type CallOrigin = 'model' | 'host' | 'program' | 'child'

/** One tool call at the gate. */
export type GateCall = {
  readonly name: string
  /** What a model wrote, or a value from code. */
  readonly input: { readonly text: string } | { readonly value: unknown }
  readonly origin: CallOrigin
  readonly toolCallId?: string | undefined
  /** The provider's second id: policies and middleware are told this one in place of `toolCallId`. */
  readonly providerCallId?: string | undefined
  readonly turn?: number | undefined
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
  /** Its position among the calls that run with it. */
  readonly slot?: CallSlot | undefined
  /** The tool of this name in another form: judged, shown and recorded as the tool. */
  readonly form?: AnyGovernedTool | undefined
  /** Its id is that of a call inside another, which can be gone on with. */
  readonly inside?: boolean | undefined
  /** It is made inside a call that writes files, and does not wait for other writing calls. */
  readonly insideWriter?: boolean | undefined
  /** Told while the call waits for a yes. */
  readonly watch?: CallWatch | undefined
  /** Events of an agent that works inside the call, with the id that the gate gave the call. */
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

/** What was decided and what came of it: for the log, the trace and the events. */
export type CallRecord = {
  readonly callId: string
  readonly toolCallId?: string | undefined
  readonly toolName: string
  readonly origin: CallOrigin
  /** As JSON text. */
  readonly args: string
  /** The last step it reached; `done` when it went all the way. */
  readonly endedAt: Step
  /** When it began, by the host's clock. */
  readonly startedAtMs: number
  readonly durationMs: number
  /** Whose call it was: a run's id, or `host`. */
  readonly runId?: string | undefined
  /** The absolute paths that it touched, or would have touched. */
  readonly paths?: readonly string[] | undefined
  readonly verdict?: Verdict | undefined
  readonly rules?: readonly Rule[] | undefined
  readonly watchdog?: Verdict | undefined
  /** How it was approved: `once`, `session`, `always`, or by the tool's own policy. */
  readonly approval?: string | undefined
  readonly envelope: Envelope
  /** What went wrong around the call without stopping it, such as a hook that only watches. */
  readonly notices?: readonly string[] | undefined
}

export type GateOutcome = {
  readonly envelope: Envelope
  readonly record: CallRecord
  /** Set when the run must end as well. */
  readonly fatal?: { readonly error: unknown } | undefined
}

export type HookCall = {
  readonly toolName: string
  readonly args: unknown
  readonly origin: CallOrigin
  readonly callId: string
  /** The provider's id of the call, when it gave one. */
  readonly toolCallId?: string | undefined
  /** The arguments as JSON text. */
  readonly rawArgs?: string | undefined
  /** What it touches, also where links lead. */
  readonly subjects?: readonly Subject[] | undefined
  readonly signal?: AbortSignal | undefined
}
export type HookVerdict =
  /** `approval`: the handler for tools' own approval policies must agree, as if the tool's policy asked. */
  | { readonly action: 'continue'; readonly ask?: string; readonly approval?: ApprovalTexts }
  /** `by`: who blocks, when it is not a hook. */
  | { readonly action: 'block'; readonly reason: string; readonly by?: string }
  | { readonly action: 'skip'; readonly output: string }
  /** `ask`: why a person must decide, whatever the rules say. */
  | { readonly action: 'change'; readonly args: unknown; readonly ask?: string }

export type ApprovalTexts = Pick<ToolApprovalRequest, 'reason' | 'rejectMessage'>

/** What a gate is made of. Everything that can change during a session is asked for anew at each call. */
export type GateParts = {
  /** The tools that a caller of this origin may use: for a model, only those it was offered. */
  readonly tools: {
    get(name: string, origin: CallOrigin): AnyTool | undefined
    names(origin: CallOrigin): readonly string[]
  }
  /** What holds for a call of this tool: rules, limits, and a grant of the tool's own requirements inside the agent's. */
  authorityFor(tool: AnyGovernedTool): Authority
  /** Where a path that a tool names leads inside the workspace; undefined when it leads out or cannot be determined. */
  readonly realPath?: PathLookup['realPath'] | undefined
  /** Where a path that a command names leads, wherever that is. Absent: `realPath` is asked. */
  readonly followLinks?: PathLookup['followLinks'] | undefined
  /** Looks for a file below a directory that a command names. Absent: directories are not looked into. */
  readonly findBelow?: FindBelow | undefined
  /** The digest of a file's content; undefined when it cannot be read. */
  readonly fileDigest?: (path: string) => Promise<string | undefined>
  readonly manifest?: Manifest | undefined
  readonly watchdog?: Watchdog | undefined
  readonly watchdogTimeoutMs?: number | undefined
  /** Absent: nobody is there, and what must be asked is refused. */
  readonly onAsk?: AskHandler | undefined
  /** The handler for tools' own approval policies; without it `onAsk` is asked. */
  readonly approvals?: ToolApprovalsOptions | undefined
  /** Keeps a rule that a person agreed to. */
  readonly keepRule?: ((rule: Rule, scope: 'session' | 'project') => void | Promise<void>) | undefined
  /** What a call would change in files, for the person who decides. */
  readonly diffFor?: (tool: AnyGovernedTool, args: unknown) => Promise<string | undefined>
  readonly middleware?: readonly AgentMiddleware[] | undefined
  /** Gates: what it throws, or does not answer in time, blocks the call. */
  readonly before?: (call: HookCall) => HookVerdict | Promise<HookVerdict>
  /** Watches: what it throws is a notice in the record. */
  readonly after?: (call: HookCall & { readonly envelope: Envelope }) => void | Promise<void>
  /** How long hooks, budget and diff may take. */
  readonly guardTimeoutMs?: number | undefined
  /** Words when a call must not be made. */
  readonly budget?: (call: {
    readonly toolName: string
    readonly args: unknown
  }) => string | undefined | Promise<string | undefined>
  /** Told right before the work begins; what it throws keeps it from beginning. */
  readonly starting?: ((call: StartingCall) => void | Promise<void>) | undefined
  /** Absent: calls that write the same file may run at the same time. */
  readonly writes?: WriteOrder | undefined
  /** Queues a call, or sends it elsewhere. */
  readonly lane?: (
    call: LaneCall,
    /** Does the work here, within so many milliseconds when that is said. More than once only where the tool allows it. */
    run: (timeoutMs?: number) => Promise<Envelope>,
  ) => Promise<Envelope>
  /** The surface for one call; its signal is aborted when the call has ended, however it ended. */
  readonly runtimeFor?: (call: RuntimeRequest) => ToolRuntime | undefined | Promise<ToolRuntime | undefined>
  readonly spill: Spill
  /** For tools that name no limit of their own. */
  readonly outputLimits?: OutputLimits | undefined
  /** What it throws ends the run: a call that cannot be recorded must not be followed by more. */
  readonly record?: ((record: CallRecord) => void | Promise<void>) | undefined
  /** Whose calls they are; a function is asked at the beginning of each. */
  readonly run?: (RunIdentity | (() => RunIdentity)) | undefined
  readonly toolTimeoutMs?: number | undefined
  readonly stopGraceMs?: number | undefined
  now(): number
  newId(): string
}

/** A call that is about to begin, here or elsewhere. */
export type LaneCall = {
  readonly tool: AnyGovernedTool
  /** As JSON text. */
  readonly args: string
  readonly origin: CallOrigin
  readonly signal?: AbortSignal | undefined
  /** To be called before somebody else may begin with it; what it throws keeps them from it. */
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

export type RuntimeRequest = {
  readonly call: Call
  readonly authority: Authority
  readonly signal: AbortSignal
  readonly origin: CallOrigin
  /** The call that the runtime is for, so that calls made inside it can be told apart. */
  readonly request: GateCall
  /** The call, or one around it, writes files. */
  readonly writer: boolean
  /** For a call made inside this one that must end the run as well. */
  endRun(error: unknown): void
}
