import { adviseRules, approvalKey, type RuleSuggestion, suggestRule } from '../authority/approval-key.js'
import { limitsOf } from '../authority/decide.js'
import { approvalNotes } from '../authority/protected-files.js'
import { formatRule, type Rule } from '../authority/rule.js'
import {
  decideApproval,
  evaluateApproval,
  type ToolApprovalPolicy,
  type ToolApprovalRequest,
  ToolApprovalRequiredError,
  type ToolApprovalsOptions,
} from '../tool/approval.js'
import type { AnyGovernedTool } from '../tool/contract.js'
import { serializeToolOutput } from '../tool/serialize.js'
import { type AskRequest, readAnswer, rejectionText } from './ask.js'
import type { CallState, Ready } from './gate.js'
import type { GateCall } from './gate-parts.js'
import { guarded, whileRunning } from './guarded.js'
import { copyOrStop } from './shown-arguments.js'
import { Stopped } from './stopped.js'

/**
 * Asks for the approvals that a call needs: for a verdict of the rules or the watchdog, and for the tool's own policy.
 * Without a user the call is refused, with the rules that would allow it. The arguments that were shown are the
 * arguments that run.
 */
export function seekApproval(
  state: CallState,
  tool: AnyGovernedTool,
  ready: Ready,
): undefined | Promise<void> {
  state.step = 'approval'
  // The host's own calls are privileged: no user is asked about them.
  if (state.request.origin === 'host') {
    if (state.insisted === undefined) return undefined
    throw new Stopped(`Refused: ${state.insisted}. No user is asked about calls of the host.`)
  }
  if (tool.mustAsk !== undefined) state.insisted ??= tool.mustAsk(ready.args)
  const hasPolicy = tool.pins !== undefined || tool.approval !== undefined || state.requested !== undefined
  if (!hasPolicy && state.insisted === undefined && verdictReasons(state).length === 0) return undefined
  return askWhoMustAgree(state, tool, ready)
}

async function askWhoMustAgree(state: CallState, tool: AnyGovernedTool, ready: Ready): Promise<void> {
  await pinFiles(state, tool, ready)
  const policy = await askPolicy(state, tool, ready)
  const reasons = [
    ...verdictReasons(state),
    ...(state.insisted === undefined ? [] : [state.insisted]),
    ...(policy === undefined ? [] : [policy.reason ?? `the tool "${tool.name}" asks for approval`]),
  ]
  if (reasons.length > 0) await askPerson(state, tool, ready, reasons, policy)
}

/**
 * Creates the approvals handler for an agent that runs inside this call. It asks the same handler or user. If the
 * handler fails or is missing, the run that it belongs to ends: a missing approval must not look like a failed tool.
 */
export function approvalsInside(state: CallState): ToolApprovalsOptions {
  return {
    async handler(asked) {
      const { parts } = state
      try {
        if (parts.approvals !== undefined) return await parts.approvals.handler(asked)
        if (parts.onAsk === undefined) throw new ToolApprovalRequiredError(asked)
        const request = await askFromInside(state, asked)
        const answer = readAnswer(await whileWaiting(state, parts.onAsk(request)))
        const { approved, message } = answer
        return (
          approved || { approved, ...(message !== undefined && { rejectMessage: rejectionText(answer) }) }
        )
      } catch (error) {
        state.fatal ??= { error }
        throw error
      }
    },
  }
}

async function askFromInside(state: CallState, asked: ToolApprovalRequest): Promise<AskRequest> {
  const { toolName, args, toolCallId, internalCallId, run } = asked
  return {
    id: internalCallId,
    key: await approvalKey({
      tool: toolName,
      args: serializeToolOutput(args),
      cwd: placeOf(state),
      session: run.sessionId ?? '',
      agent: run.agentId,
    }),
    toolName,
    args,
    subjects: [],
    reasons: [asked.reason ?? `the tool "${toolName}" asks for approval`],
    rules: [],
    notes: [`asked by the agent "${run.agentId}" inside a call of "${state.request.name}"`],
    run,
    toolCallId,
  }
}

/** Returns the id of a call as policies, middleware and tools see it. */
export function toolCallIdOf({ providerCallId, toolCallId }: GateCall): { toolCallId?: string } {
  const id = providerCallId ?? toolCallId
  return id === undefined ? {} : { toolCallId: id }
}

/**
 * Returns the open request of the tool's own policy or of a hook; undefined when neither asks, or its handler agreed.
 * When both ask, the handler is asked once, with the texts of the policy.
 */
async function askPolicy(
  state: CallState,
  tool: AnyGovernedTool,
  ready: Ready,
): Promise<ToolApprovalRequest | undefined> {
  const { parts, request } = state
  const policy = tool.approval as ToolApprovalPolicy<unknown> | undefined
  if (policy === undefined && state.requested === undefined) return undefined
  const context = {
    toolName: tool.name,
    args: copyOrStop(state, ready.args),
    rawArgs: state.text,
    internalCallId: state.id,
    run: state.run ?? { agentId: 'capstan', runId: state.id },
    ...toolCallIdOf(request),
  }
  const own = await evaluateApproval(policy, context)
  refuseChangedQuestion(state, context.args)
  const asked = state.requested === undefined ? own : { ...context, ...state.requested, ...own }
  if (asked === undefined || (parts.approvals === undefined && parts.onAsk !== undefined)) return asked
  if (parts.approvals === undefined) {
    const error = new ToolApprovalRequiredError(asked)
    refuse(state, tool, ready, [asked.reason ?? 'the tool asks for approval'], undefined)
    throw new Stopped(error.message, { fatal: { error } })
  }
  const outcome = await whileWaiting(state, decideApproval(asked, parts.approvals))
  if (!outcome.approved) throw new Stopped(outcome.message, { rejected: true })
  refuseChangedQuestion(state, context.args)
  state.approval = 'policy'
  return undefined
}

/**
 * Refuses a call if its question was changed: policies, hooks and handlers read it one after the other, and the last
 * one would approve arguments that do not run.
 */
function refuseChangedQuestion(state: CallState, args: unknown): void {
  if (serializeToolOutput(args) !== state.checked)
    throw new Stopped('Refused: the arguments changed while an approval was asked for.')
}

async function askPerson(
  state: CallState,
  tool: AnyGovernedTool,
  ready: Ready,
  reasons: readonly string[],
  policy: ToolApprovalRequest | undefined,
): Promise<void> {
  const { parts } = state
  const advice = policy === undefined ? adviceFor(state) : undefined
  if (parts.onAsk === undefined) {
    refuse(state, tool, ready, reasons, advice)
    throw new Stopped(noUser(reasons, advice))
  }
  const found = policy === undefined ? rulesFor(state, suggestRule) : undefined
  const suggestion = found !== undefined && 'rules' in found ? found : undefined
  const offered = suggestion === undefined ? {} : { suggestion: suggestion.rules }
  const diff = await guarded(state, 'the diff', parts.diffFor?.(tool, copyOrStop(state, ready.args)))
  const notes = [
    ...(state.expanded === undefined ? [] : approvalNotes(state.expanded)),
    ...serverNotes(tool),
    ...untrustedNotes(state),
    ...pinNotes(state),
  ]
  const request: AskRequest = {
    id: state.id,
    key: await keyFor(state, ready),
    toolName: tool.name,
    args: copyOrStop(state, ready.args),
    subjects: state.expanded?.call.subjects ?? [],
    reasons,
    ...uncoveredCommands(state),
    rules: rulesThatAsk(state),
    notes,
    ...(state.request.toolCallId === undefined ? {} : { toolCallId: state.request.toolCallId }),
    ...offered,
    ...(advice === undefined ? {} : { advice }),
    ...(diff === undefined ? {} : { diff }),
    ...(state.run === undefined ? {} : { run: state.run }),
    ...(state.insisted === undefined ? {} : { inPerson: true }),
  }
  const answer = readAnswer(await whileWaiting(state, parts.onAsk(request)))
  if (!answer.approved) {
    const own = answer.message === undefined ? policy?.rejectMessage : undefined
    throw new Stopped(own ?? rejectionText(answer))
  }
  refuseChangedQuestion(state, request.args)
  state.approval = 'once'
  if (answer.keep === undefined || suggestion === undefined || parts.keepRule === undefined) return
  const scope = answer.keep === 'always' ? 'project' : 'session'
  for (const rule of suggestion.rules) await parts.keepRule({ ...rule, source: scope }, scope)
  state.approval = answer.keep
}

/** Waits for a user, and reports the waiting to `watch`, which measures the time of the call. */
async function whileWaiting<Answer>(
  { request }: CallState,
  answer: Answer | Promise<Answer>,
): Promise<Answer> {
  request.watch?.waiting(true)
  try {
    return await whileRunning(request.signal, Promise.resolve(answer))
  } finally {
    request.watch?.waiting(false)
  }
}

/**
 * Computes digests of the files that the call depends on, because they can change while a user decides. The approval
 * covers their content at this time, and the tool checks it.
 */
async function pinFiles(state: CallState, tool: AnyGovernedTool, { args }: Ready): Promise<void> {
  const paths = tool.pins?.(args) ?? []
  const { fileDigest } = state.parts
  if (paths.length === 0 || fileDigest === undefined) return
  const pins = new Map<string, string>()
  for (const path of paths) pins.set(path, (await fileDigest(path)) ?? '')
  state.pins = pins
}

function pinNotes({ pins = new Map() }: CallState): string[] {
  return [...pins].map(([path, digest]) => `It runs ${path} as it is now (${digest || 'it cannot be read'})`)
}

/** The user who decides reads the whole description of a server's tool; a model reads only the beginning. */
function serverNotes({ mcp, description }: AnyGovernedTool): string[] {
  return mcp === undefined ? [] : [`The MCP server "${mcp.server}" describes it: ${description}`]
}

/** Returns a note that untrusted text may have caused this call (SEC-186). */
function untrustedNotes({ untrusted: { tool } }: CallState): string[] {
  return tool === undefined ? [] : [`The model has read untrusted text from "${tool}".`]
}

function refuse(
  { refused }: CallState,
  tool: AnyGovernedTool,
  { args }: Ready,
  reasons: readonly string[],
  advice: RuleSuggestion | undefined,
): void {
  refused.push({
    toolName: tool.name,
    args,
    reasons,
    ...(advice !== undefined && 'rules' in advice ? { suggestion: advice.rules } : {}),
  })
}

/** Returns the key of what is approved: this call of this agent, with these arguments. */
function keyFor(state: CallState, { args }: Ready): Promise<string> {
  const { request, run } = state
  const { agentId = '', sessionId = '' } = run ?? {}
  // As text, since arguments can contain values that JSON cannot represent, such as a date or a URL.
  return approvalKey({
    tool: request.name,
    args: serializeToolOutput(args),
    cwd: placeOf(state),
    session: sessionId,
    agent: agentId,
    ...(state.pins !== undefined && { files: Object.fromEntries(state.pins) }),
  })
}

function placeOf({ expanded }: CallState): string {
  return expanded?.scope.variables.workspace?.[0] ?? ''
}

/**
 * Returns the rules that would allow the call, for the message of a refusal; undefined when something other than rules
 * refuses it.
 */
export function adviceFor(state: CallState): RuleSuggestion | undefined {
  if (state.watchdog?.action === 'ask' || state.insisted !== undefined) return undefined
  return rulesFor(state, adviseRules)
}

/** Returns a sentence that says what to do about a refusal. */
export function howToAllow(advice: RuleSuggestion | undefined): string | undefined {
  if (advice === undefined) return undefined
  if ('refused' in advice) return `No rule can allow this call: ${advice.refused}.`
  const rules = advice.rules.map((rule) => JSON.stringify(formatRule(rule))).join(', ')
  return `To allow it, add ${rules} to the allow list of the policy.`
}

/**
 * Returns rules that satisfy the agent's rules and those of its parents, which can also require approval of a call.
 */
function rulesFor(
  { expanded, decision, authority }: CallState,
  find: typeof suggestRule,
): RuleSuggestion | undefined {
  if (expanded === undefined || decision === undefined || authority === undefined) return undefined
  const books = limitsOf(authority)
  const limits = decision.limits.flatMap((judgement, at) => {
    const book = books[at]
    return book === undefined || judgement.verdict.action !== 'ask' ? [] : [{ judgement, book }]
  })
  const own = { judgement: decision.rules, book: authority.book }
  const asking = limits.length > 0 && own.judgement.verdict.action === 'allow' ? limits : [own, ...limits]
  const rules = new Map<string, Rule>()
  let caution: { readonly caution?: string } = {}
  for (const { judgement, book } of asking) {
    const offer = find(expanded, judgement, book)
    if ('refused' in offer) return offer
    if (offer.caution !== undefined) caution = { caution: offer.caution }
    for (const rule of offer.rules) rules.set(formatRule(rule), rule)
  }
  return { rules: [...rules.values()], text: [...rules.keys()], ...caution }
}

function rulesThatAsk({ decision }: CallState): Rule[] {
  if (decision === undefined) return []
  const asking = [decision.rules, ...decision.limits].flatMap(({ subjects }) =>
    subjects.flatMap(({ rule, verdict }) => (rule !== undefined && verdict.action === 'ask' ? [rule] : [])),
  )
  return [...new Set(asking)]
}

/** Returns a reason for each subject that needs approval: a user decides on all of them at once. */
function verdictReasons({ decision, watchdog }: CallState): string[] {
  if (decision?.verdict.action !== 'ask' && watchdog?.action !== 'ask') return []
  const judged =
    decision === undefined
      ? []
      : [decision.rules, ...decision.limits].flatMap(({ subjects }) => subjects.map(({ verdict }) => verdict))
  const asking = [...judged, ...(watchdog === undefined ? [] : [watchdog])].filter(
    ({ action }) => action === 'ask',
  )
  const reasons = asking.map((verdict) => ('reason' in verdict && verdict.reason) || 'it must be asked about')
  // Approval is required even when the verdict has no reason.
  return reasons.length === 0 ? ['it must be asked about'] : [...new Set(reasons)]
}

function uncoveredCommands({ decision }: CallState): Pick<AskRequest, 'uncoveredCommands'> {
  const judged = decision === undefined ? [] : [decision.rules, ...decision.limits]
  const reasons = judged.flatMap(({ subjects }) =>
    subjects.flatMap(({ subject, decidedBy, verdict }) =>
      subject.kind === 'command' && decidedBy === 'default' && 'reason' in verdict ? [verdict.reason] : [],
    ),
  )
  return reasons.length === 0 ? {} : { uncoveredCommands: [...new Set(reasons)] }
}

function noUser(reasons: readonly string[], advice: RuleSuggestion | undefined): string {
  const how = howToAllow(advice)
  const person = 'set `onAsk` so that a user can decide.'
  const rules = advice !== undefined && 'rules' in advice
  const way = rules
    ? `${how?.slice(0, -1)}, or ${person}`
    : `${how === undefined ? '' : `${how} `}To run it, ${person}`
  return `Refused: ${reasons.join('; ')}. No user can be asked. ${way}`
}
