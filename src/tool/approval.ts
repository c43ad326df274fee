import { CapstanError, markErrorClass } from './errors.js'
import type { JsonObject } from './json.js'

/** The run that makes a call. */
export type ToolApprovalRunContext = {
  agentId: string
  runId: string
  sessionId?: string
  metadata?: JsonObject
}

/** The input of an approval policy: the final arguments, and the run that makes the call. */
export type ToolApprovalContext<Args = unknown> = {
  toolName: string
  /** The checked arguments: the value that the tool will get. */
  args: Args
  /** The checked arguments as JSON text. */
  rawArgs: string
  /** The provider's id of the call, if it sent one. */
  toolCallId?: string
  internalCallId: string
  run: ToolApprovalRunContext
}

type TextFor<Args> = string | ((ctx: ToolApprovalContext<Args>) => string | Promise<string>)

/** When a call of a tool needs a user's approval, and the texts for the question and the rejection. */
export type ToolApprovalPolicy<Args = unknown> = {
  when(ctx: ToolApprovalContext<Args>): boolean | Promise<boolean>
  reason?: TextFor<Args>
  rejectMessage?: TextFor<Args>
}

/** The input of an approval handler. */
export type ToolApprovalRequest<Args = unknown> = ToolApprovalContext<Args> & {
  reason?: string
  rejectMessage?: string
}

/** The handler's answer. The reason of an approval is recorded; the reason of a rejection reaches the model. */
export type ToolApprovalDecision =
  | boolean
  | { approved: true; reason?: string }
  | { approved: false; reason?: string; rejectMessage?: string }

/** The host's handler for approval requests. */
export type ToolApprovalsOptions = {
  handler(request: ToolApprovalRequest): ToolApprovalDecision | Promise<ToolApprovalDecision>
}

/** The result of a request: the call runs, or the model gets `message` instead of a result. */
export type ToolApprovalOutcome =
  | { readonly approved: true; readonly reason?: string }
  | { readonly approved: false; readonly message: string }

const defaultRejection = 'Tool approval was rejected.'

/** Thrown when a call needs approval and the host set no approvals handler. */
export class ToolApprovalRequiredError extends CapstanError {
  readonly request: ToolApprovalRequest

  constructor(request: ToolApprovalRequest) {
    const why = request.reason === undefined ? '' : ` (${request.reason})`
    super(
      'tool_approval_required',
      `Tool "${request.toolName}" needs approval${why}, and no approvals handler is set.`,
    )
    this.request = request
  }
}

markErrorClass(ToolApprovalRequiredError, 'ToolApprovalRequiredError')

/**
 * Asks a tool's policy about one call. Returns the request for the handler, or undefined when the call needs no
 * approval. The texts are computed only when they are needed. Errors of the policy are thrown.
 */
export async function evaluateApproval<Args>(
  policy: ToolApprovalPolicy<Args> | undefined,
  ctx: ToolApprovalContext<Args>,
): Promise<ToolApprovalRequest<Args> | undefined> {
  if (policy === undefined || !(await policy.when(ctx))) return undefined
  const reason = await textFor(policy.reason, ctx)
  const rejectMessage = await textFor(policy.rejectMessage, ctx)
  return {
    ...ctx,
    ...(reason === undefined ? {} : { reason }),
    ...(rejectMessage === undefined ? {} : { rejectMessage }),
  }
}

/**
 * Sends a request to the handler. Throws {@link ToolApprovalRequiredError} without a handler: an approval is never
 * assumed.
 */
export async function decideApproval(
  request: ToolApprovalRequest,
  approvals: ToolApprovalsOptions | undefined,
): Promise<ToolApprovalOutcome> {
  if (typeof approvals?.handler !== 'function') throw new ToolApprovalRequiredError(request)
  const decision = await approvals.handler(request)
  const answer = typeof decision === 'object' && decision !== null ? decision : undefined
  // Everything except an explicit approval is a rejection.
  if (decision === true) return { approved: true }
  if (answer?.approved === true)
    return { approved: true, ...(answer.reason === undefined ? {} : { reason: answer.reason }) }
  return {
    approved: false,
    message: answer?.rejectMessage ?? answer?.reason ?? request.rejectMessage ?? defaultRejection,
  }
}

async function textFor<Args>(
  text: TextFor<Args> | undefined,
  ctx: ToolApprovalContext<Args>,
): Promise<string | undefined> {
  return typeof text === 'function' ? await text(ctx) : text
}
