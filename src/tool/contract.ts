import type { ToolApprovalPolicy, ToolApprovalRunContext, ToolApprovalsOptions } from './approval.js'
import type { ToolDefinition } from './definition.js'
import type { Envelope, ErrorEnvelope } from './envelope.js'
import type { JsonSchema } from './json.js'
import type { RequirementSet } from './requirement.js'
import type { ToolRuntime } from './runtime.js'
import type { Subject } from './subject.js'

/** The kind of a tool, in the categories of the Agent Client Protocol. Clients choose icons and views by it. */
export type ToolKind = (typeof toolKinds)[number]
/** The kinds of tools. */
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

/** How much output reaches the model; longer output is saved to a file. */
export type OutputLimits = {
  readonly maxBytes?: number
  /** Extra space for text that the tool adds to its output, such as line numbers. Default: 0. */
  readonly extraBytes?: number
  readonly maxItems?: number
}

/** An event of an agent that runs inside a tool, forwarded to the stream of the run that called the tool. */
export type ToolCallStreamEvent = { agentId: string; agentName?: string; event: unknown }

/** The agent, run and session that make a call. */
export type RunIdentity = ToolApprovalRunContext

/** Where a tool of an MCP server comes from. The digest shows whether the server has changed the tool. */
export type ServerToolIdentity = {
  readonly server: string
  /** Its name in rules: `mcp:<server>:<tool>`. */
  readonly tool: string
  /** Digests of its description, its parameters and the server it comes from, joined by `-`. */
  readonly digest?: string
  /** What changed since the server first offered it, as a sentence; absent when nothing changed. */
  readonly changed?: string | undefined
}

/** The context that a tool gets with each call. Every field is optional: a tool that only computes can ignore it. */
export type ToolCallContext = {
  /** Aborted when the run stops: the tool should stop too. */
  signal?: AbortSignal
  runtime?: ToolRuntime
  run?: RunIdentity
  toolCallId?: string
  /** The host's clock, in milliseconds; replay needs it fixed. */
  now?(): number
  /** Emits a partial result to readers of the run's events. */
  progress?(partial: unknown): void
  emitStreamEvent?(event: ToolCallStreamEvent): void | Promise<void>
  /**
   * Digests of the files that the tool {@link Tool.pins}, by path, when the call was judged. The approval covers only
   * these contents.
   */
  pins?: ReadonlyMap<string, string>
  /** For an agent that runs inside the tool: decides about its calls that need approval. */
  approvals?: ToolApprovalsOptions
}

/**
 * The minimal interface of a tool. Write one by hand, or create a {@link GovernedTool} with `createTool` or
 * `createJsonTool`.
 */
export interface Tool<Args = unknown, Output = unknown> {
  readonly name: string
  readonly approval?: ToolApprovalPolicy<Args>
  /** The access that the tool needs. Absent: none. */
  readonly requires?: RequirementSet
  readonly kind?: ToolKind
  /** The name shown to users. Absent: the tool's name in words. Models do not see it. */
  readonly title?: string
  readonly limits?: OutputLimits
  /** Running it twice has the same effect as running it once, so a run may repeat it after a crash. */
  readonly idempotent?: boolean
  /** The tool limits the time of each call itself: a host's limit for tools applies only to the calls that it makes. */
  readonly ownTime?: boolean
  /** Files whose content decides what a call does, such as a script. An approval covers only their present content. */
  pins?(args: Args): readonly string[]
  /** Why a user must approve each call, regardless of the rules. Without a user the call is denied. */
  mustAsk?(args: Args): string
  /** The identity of a tool that an MCP server offers. */
  readonly mcp?: ServerToolIdentity
  /** The tool as its server offers it now, for a tool that can change; undefined when it is no longer offered. */
  current?(): AnyGovernedTool | undefined | Promise<AnyGovernedTool | undefined>
  definition(prompt: string): ToolDefinition | Promise<ToolDefinition>
  call(args: Args, context?: ToolCallContext): Output | Promise<Output>
  /** The subjects (paths, hosts, commands) that a call with these arguments touches. */
  touches?(args: Args): readonly Subject[]
  /** Parses the arguments into the form that approval policies see. */
  parseApprovalArgs?(args: unknown): Args
}

/** A tool with any arguments. `approval` is `unknown` because a policy accepts only the arguments of its own tool. */
export type AnyTool = Omit<Tool<unknown, unknown>, 'approval'> & { readonly approval?: unknown }

/**
 * A tool with the full contract: it publishes its definition when it is registered, checks arguments before it runs,
 * and returns an envelope. The object is also a {@link Tool}.
 */
export interface GovernedTool<Args = unknown, Output = unknown> extends Tool<Args, Output> {
  /** The stable identifier; equal to `name`. */
  readonly id: string
  readonly description: string
  readonly parameters: JsonSchema
  readonly requires: RequirementSet
  readonly kind: ToolKind
  readonly idempotent: boolean
  /** Why its arguments are not checked: the validator does not support the schema of this hand-written tool. */
  readonly unchecked?: string
  definition(prompt?: string): ToolDefinition
  /** The definition for a model that also sees these tools, for a tool that calls them. Requested once per session. */
  definitionAmong?(others: readonly ToolDefinition[]): ToolDefinition
  call(args: Args, context?: ToolCallContext): Promise<Output>
  touches(args: Args): readonly Subject[]
  parseApprovalArgs(args: unknown): Args
  /**
   * Checks the arguments once. Returns either the value that is then judged, approved and run, or the error envelope
   * to answer with. Never throws. Asynchronous only when the schema is.
   */
  prepare(args: unknown): Preparation<Args, Output> | Promise<Preparation<Args, Output>>
  /** Calls `prepare` and then `run`, for callers that have nothing to check in between. Never throws. */
  execute(args: unknown, context?: ToolCallContext): Promise<Envelope<Output>>
}

/** The result of checking arguments: a checked call, or the error envelope. */
export type Preparation<Args = unknown, Output = unknown> =
  | {
      readonly ok: true
      readonly args: Args
      readonly subjects: readonly Subject[]
      run(context?: ToolCallContext): Promise<Envelope<Output>>
    }
  | { readonly ok: false; readonly envelope: ErrorEnvelope }

/** A governed tool with any arguments. */
export type AnyGovernedTool = Omit<GovernedTool<unknown, unknown>, 'approval'> & {
  readonly approval?: unknown
}

/** Returns whether a tool already implements the full contract. */
export function isGovernedTool(tool: AnyTool): tool is AnyGovernedTool {
  const candidate = tool as Partial<AnyGovernedTool>
  return (
    typeof candidate.prepare === 'function' &&
    typeof candidate.execute === 'function' &&
    candidate.parameters !== undefined
  )
}
