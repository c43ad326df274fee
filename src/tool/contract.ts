import type { ToolApprovalPolicy, ToolApprovalRunContext, ToolApprovalsOptions } from './approval.js'
import type { ToolDefinition } from './definition.js'
import type { Envelope, ErrorEnvelope } from './envelope.js'
import type { JsonSchema } from './json.js'
import type { RequirementSet } from './requirement.js'
import type { ToolRuntime } from './runtime.js'
import type { Subject } from './subject.js'

/** What sort of thing a tool does, in the words of the Agent Client Protocol; clients choose icons and views by it. */
export type ToolKind = (typeof toolKinds)[number]
export const toolKinds = [
  'read',
  'edit',
  'delete',
  'move',
  'search',
  'execute',
  'think',
  'fetch',
  'switch_mode',
  'other',
] as const

/** How much output reaches the model before the rest goes to a file. */
export type OutputLimits = {
  readonly maxBytes?: number
  /** Room for what the tool adds to its output, such as line numbers. Default: 0. */
  readonly extraBytes?: number
  readonly maxItems?: number
}

/** An event of an agent that works inside a tool, on its way to the stream of the run that called it. */
export type ToolCallStreamEvent = { agentId: string; agentName?: string; event: unknown }

/** Who is calling: the agent, the run, and the session it belongs to. */
export type RunIdentity = ToolApprovalRunContext

/** A tool that a server offers is what the server says it is, and may be something else tomorrow. */
export type ServerToolIdentity = {
  readonly server: string
  /** Its name in rules: `mcp:<server>:<tool>`. */
  readonly tool: string
  /** Digests of its description, its parameters and the server it comes from, joined by `-`. */
  readonly digest?: string
  /** What has changed since the server first offered it, in words; absent when nothing has. */
  readonly changed?: string
}

/** What a call hands to a tool. Everything is optional: a tool that only computes ignores it. */
export type ToolCallContext = {
  /** Aborted when the run stops: the tool should stop too. */
  signal?: AbortSignal
  runtime?: ToolRuntime
  run?: RunIdentity
  toolCallId?: string
  /** The host's clock, in milliseconds; replay needs it fixed. */
  now?(): number
  /** A partial result for whoever watches the run. */
  progress?(partial: unknown): void
  emitStreamEvent?(event: ToolCallStreamEvent): void | Promise<void>
  /** What the files that the tool {@link Tool.pins} were when the call was judged, by path: it is for these contents alone. */
  pins?: ReadonlyMap<string, string>
  /** For an agent that works inside the tool: who decides about its calls that need a yes. */
  approvals?: ToolApprovalsOptions
}

/** The smallest thing that is a tool. Write one by hand, or have `createTool` or `createJsonTool` make a {@link GovernedTool}. */
export interface Tool<Args = unknown, Output = unknown> {
  readonly name: string
  readonly approval?: ToolApprovalPolicy<Args>
  /** What it asks for. Absent: nothing. */
  readonly requires?: RequirementSet
  readonly kind?: ToolKind
  /** What people call it; its name in words when left out. Models are not told. */
  readonly title?: string
  readonly limits?: OutputLimits
  /** Running it twice does what running it once does, so a run may repeat it after a crash. */
  readonly idempotent?: boolean
  /** It holds each call to a time limit of its own, so that a host's limit for tools counts for the calls inside it alone. */
  readonly ownTime?: boolean
  /** Files whose content decides what a call does, such as a script: what is agreed to is agreed to for that content. */
  pins?(args: Args): readonly string[]
  /** Why a person must approve each call, whatever the rules say. Without a person the call is refused. */
  mustAsk?(args: Args): string
  /** For a tool that a server offers. */
  readonly mcp?: ServerToolIdentity
  /** The tool as its server offers it now, for one that can change; undefined when it is no longer offered. */
  current?(): Promise<AnyGovernedTool | undefined>
  definition(prompt: string): ToolDefinition | Promise<ToolDefinition>
  call(args: Args, context?: ToolCallContext): Output | Promise<Output>
  /** What a call with these arguments would touch. */
  touches?(args: Args): readonly Subject[]
  /** The arguments as approval policies see them. */
  parseApprovalArgs?(args: unknown): Args
}

/** Any tool, whatever its arguments; `approval` is widened because a policy takes the arguments it was written for. */
export type AnyTool = Omit<Tool<unknown, unknown>, 'approval'> & { readonly approval?: unknown }

/**
 * A tool with the whole contract: it publishes what it is when it is registered, checks arguments before it runs, and answers
 * with an envelope. The same object is a {@link Tool}.
 */
export interface GovernedTool<Args = unknown, Output = unknown> extends Tool<Args, Output> {
  /** The stable identifier; the same as `name`. */
  readonly id: string
  readonly description: string
  readonly parameters: JsonSchema
  readonly requires: RequirementSet
  readonly kind: ToolKind
  readonly idempotent: boolean
  /** Why its arguments are not checked: the schema of a tool written by hand that the validator does not understand. */
  readonly unchecked?: string
  definition(prompt?: string): ToolDefinition
  /** The same for a model that is shown these tools beside it: for a tool that makes calls of them. Asked for once in a session. */
  definitionAmong?(others: readonly ToolDefinition[]): ToolDefinition
  call(args: Args, context?: ToolCallContext): Promise<Output>
  touches(args: Args): readonly Subject[]
  parseApprovalArgs(args: unknown): Args
  /**
   * Checks the arguments, once. What comes back holds the one value that is then judged, approved and run; or the error
   * envelope to answer with. Never throws. Asynchronous only when the schema is.
   */
  prepare(args: unknown): Preparation<Args, Output> | Promise<Preparation<Args, Output>>
  /** `prepare` and `run` in one: for callers that have nothing to judge in between. Never throws. */
  execute(args: unknown, context?: ToolCallContext): Promise<Envelope<Output>>
}

export type Preparation<Args = unknown, Output = unknown> =
  | {
      readonly ok: true
      readonly args: Args
      readonly subjects: readonly Subject[]
      run(context?: ToolCallContext): Promise<Envelope<Output>>
    }
  | { readonly ok: false; readonly envelope: ErrorEnvelope }

/** Any governed tool, whatever its arguments. */
export type AnyGovernedTool = Omit<GovernedTool<unknown, unknown>, 'approval'> & {
  readonly approval?: unknown
}

/** Whether a tool already carries the whole contract. */
export function isGovernedTool(tool: AnyTool): tool is AnyGovernedTool {
  const candidate = tool as Partial<AnyGovernedTool>
  return (
    typeof candidate.prepare === 'function' &&
    typeof candidate.execute === 'function' &&
    candidate.parameters !== undefined
  )
}
