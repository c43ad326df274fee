import { CapstanError, markErrorClass } from './errors.js'
import type { JsonObject } from './json.js'

/** Who is calling. */
export type ToolApprovalRunContext = {
  agentId: string
  runId: string
  sessionId?: string
  metadata?: JsonObject
}

/** What an approval policy judges: the arguments that will run, and who asks. */
export type ToolApprovalContext<Args = unknown> = {
  toolName: string
  /** The checked arguments: the very value the tool will get. */
  args: Args
  /** The same arguments as JSON text. */
  rawArgs: string
  /** The provider's id of the call, when it gave one. */
  toolCallId?: string
  internalCallId: string
  run: ToolApprovalRunContext
}

type TextFor<Args> = string | ((ctx: ToolApprovalContext<Args>) => string | Promise<string>)

/** When a call of a tool needs a person's yes, and the words to ask and to refuse with. */
export type ToolApprovalPolicy<Args = unknown> = {
  when(ctx: ToolApprovalContext<Args>): boolean | Promise<boolean>
  reason?: TextFor<Args>
  rejectMessage?: TextFor<Args>
}

/** What the handler decides on. */
export type ToolApprovalRequest<Args = unknown> = ToolApprovalContext<Args> & {
  reason?: string
  rejectMessage?: string
}

/** The handler's answer. A reason given with an approval is for the record; with a rejection it reaches the model. */
export type ToolApprovalDecision =
  | boolean
  | { approved: true; reason?: string }
  | { approved: false; reason?: string; rejectMessage?: string }

export type ToolApprovalsOptions = {
  handler(request: ToolApprovalRequest): ToolApprovalDecision | Promise<ToolApprovalDecision>
}

/** What became of a request: the call runs, or the model gets `message` instead of a result. */
export type ToolApprovalOutcome =
  | { readonly approved: true; readonly reason?: string }
  | { readonly approved: false; readonly message: string }

const defaultRejection = 'Tool approval was rejected.'

/** A call needs approval and nobody is there to give it. */
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
 * Asks a tool's policy about one call. Gives the request to put to a handler, or undefined when the call may run as it is.
 * The texts are made only when they are needed. What the policy throws is thrown.
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

/** Puts a request to the handler. Without one it throws {@link ToolApprovalRequiredError}: an approval is never assumed. */
export async function decideApproval(
  request: ToolApprovalRequest,
  approvals: ToolApprovalsOptions | undefined,
): Promise<ToolApprovalOutcome> {
  if (typeof approvals?.handler !== 'function') throw new ToolApprovalRequiredError(request)
  const decision = await approvals.handler(request)
  const told = typeof decision === 'object' && decision !== null ? decision : undefined
  // Anything but a clear yes is a no.
  if (decision === true) return { approved: true }
  if (told?.approved === true)
    return { approved: true, ...(told.reason === undefined ? {} : { reason: told.reason }) }
  return {
    approved: false,
    message: told?.rejectMessage ?? told?.reason ?? request.rejectMessage ?? defaultRejection,
  }
}

async function textFor<Args>(
  text: TextFor<Args> | undefined,
  ctx: ToolApprovalContext<Args>,
): Promise<string | undefined> {
  return typeof text === 'function' ? await text(ctx) : text
}
