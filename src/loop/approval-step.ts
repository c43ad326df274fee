import { type RuleSuggestion, suggestRule } from '../authority/approval-key.js'
import { canonicalJson } from '../authority/canonical-json.js'
import { formatRule, type Rule } from '../authority/rule.js'
import {
  decideApproval,
  evaluateApproval,
  type ToolApprovalPolicy,
  type ToolApprovalRequest,
  ToolApprovalRequiredError,
} from '../tool/approval.js'
import type { AnyGovernedTool, Preparation } from '../tool/contract.js'
import { type AskRequest, readAnswer } from './ask.js'
import type { Passage } from './gate.js'
import { Stopped } from './stopped.js'

type Ready = Preparation & { ok: true }

/**
 * Asks whoever must agree: for a verdict of the rules or the watchdog, and for the tool's own policy. Nobody there: refused, with
 * the words that would have made it pass. The arguments that were shown are the arguments that run.
 */
export async function seekApproval(passage: Passage, tool: AnyGovernedTool, ready: Ready): Promise<void> {
  passage.step = 'approval'
  // The host's own calls are privileged.
  if (passage.request.origin === 'host') return
  const shown = canonicalJson(ready.args)
  const policy = await askPolicy(passage, tool, ready)
  const reasons = [
    ...verdictReasons(passage),
    ...(policy === undefined ? [] : [policy.reason ?? `the tool "${tool.name}" asks for approval`]),
  ]
  if (reasons.length > 0) await askPerson(passage, tool, ready, reasons, policy)
  // A handler that changed what it was shown has not approved what would run.
  if (canonicalJson(ready.args) !== shown)
    throw new Stopped('Refused: the arguments changed while the call was waiting for approval.')
}

/** The request of the tool's own policy that is still open: undefined when it has none, does not mind, or its handler agreed. */
async function askPolicy(
  passage: Passage,
  tool: AnyGovernedTool,
  ready: Ready,
): Promise<ToolApprovalRequest | undefined> {
  const { parts, request } = passage
  const policy = tool.approval as ToolApprovalPolicy<unknown> | undefined
  if (policy === undefined) return undefined
  const run = parts.run ?? { agentId: 'capstan', runId: passage.id }
  const asked = await evaluateApproval(policy, {
    toolName: tool.name,
    args: ready.args,
    rawArgs: passage.text,
    internalCallId: passage.id,
    run,
    ...(request.toolCallId === undefined ? {} : { toolCallId: request.toolCallId }),
  })
  if (asked === undefined || (parts.approvals === undefined && parts.onAsk !== undefined)) return asked
  if (parts.approvals === undefined) {
    const error = new ToolApprovalRequiredError(asked)
    throw new Stopped(error.message, { fatal: { error } })
  }
  const outcome = await decideApproval(asked, parts.approvals)
  if (!outcome.approved) throw new Stopped(outcome.message)
  passage.approval = 'policy'
  return undefined
}

async function askPerson(
  passage: Passage,
  tool: AnyGovernedTool,
  ready: Ready,
  reasons: readonly string[],
  policy: ToolApprovalRequest | undefined,
): Promise<void> {
  const { parts } = passage
  const suggestion = policy === undefined ? suggestionFor(passage) : undefined
  const offered = suggestion === undefined ? {} : { suggestion: suggestion.rules }
  if (parts.onAsk === undefined) {
    passage.refused.push({ toolName: tool.name, args: ready.args, reasons, ...offered })
    throw new Stopped(nobodyThere(reasons, suggestion))
  }
  const diff = await parts.diffFor?.(tool, ready.args)
  const request: AskRequest = {
    id: passage.id,
    toolName: tool.name,
    args: ready.args,
    subjects: ready.subjects,
    reasons,
    rules: rulesThatAsk(passage),
    ...offered,
    ...(diff === undefined ? {} : { diff }),
    ...(parts.run === undefined ? {} : { run: parts.run }),
  }
  const answer = readAnswer(await whileRunning(parts.onAsk(request), passage.request.signal))
  if (!answer.approved)
    throw new Stopped(answer.message ?? policy?.rejectMessage ?? `The call of "${tool.name}" was rejected.`)
  passage.approval = answer.keep ?? 'once'
  const scope = answer.keep === 'always' ? 'project' : 'session'
  if (answer.keep === undefined || suggestion === undefined) return
  for (const rule of suggestion.rules) await parts.keepRule?.({ ...rule, source: scope }, scope)
}

type Offer = Extract<RuleSuggestion, { rules: unknown }>

function suggestionFor({ expanded, decision, authority }: Passage): Offer | undefined {
  if (expanded === undefined || decision === undefined || authority === undefined) return undefined
  const suggestion = suggestRule(expanded, decision.rules, authority.book)
  return 'rules' in suggestion ? suggestion : undefined
}

function rulesThatAsk({ decision }: Passage): Rule[] {
  return (decision?.rules.subjects ?? []).flatMap(({ rule, verdict }) =>
    rule !== undefined && verdict.action === 'ask' ? [rule] : [],
  )
}

function verdictReasons({ decision, watchdog }: Passage): string[] {
  return [decision?.verdict, watchdog].flatMap((verdict) =>
    verdict?.action === 'ask' ? [verdict.reason ?? 'it must be asked about'] : [],
  )
}

function nobodyThere(reasons: readonly string[], suggestion: Offer | undefined): string {
  const person = 'set `onAsk` so that a person can decide'
  const rules = suggestion?.rules.map((rule) => JSON.stringify(formatRule(rule))).join(', ')
  const way =
    rules === undefined
      ? `To run it, ${person}.`
      : `To allow it, add ${rules} to permissionPolicy.allow, or ${person}.`
  return `Refused: ${reasons.join('; ')}. Nobody is there to be asked. ${way}`
}

/** A run that is aborted does not go on waiting for an answer. */
async function whileRunning<Answer>(
  answer: Answer | Promise<Answer>,
  signal: AbortSignal | undefined,
): Promise<Answer> {
  if (signal === undefined) return answer
  let stop: (() => void) | undefined
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(new Stopped('Not run: the run was aborted while the call was waiting for approval.'))
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([answer, aborted])
  } finally {
    if (stop !== undefined) signal.removeEventListener('abort', stop)
  }
}
