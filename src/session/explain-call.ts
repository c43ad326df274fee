import type { Call } from '../authority/call.js'
import { expandOnDisk } from '../authority/expand-on-disk.js'
import { explain, formatExplanation } from '../authority/explain.js'
import { type JudgedCall, judgedCall } from '../authority/judged-call.js'
import type { Verdict } from '../authority/verdict.js'
import { defaultWatchdog, runWatchdog } from '../authority/watchdog.js'
import type { SupposedRules } from '../loop/session-authority.js'
import { describeUnknownTool } from '../tool/errors.js'
import { governTool } from '../tool/govern.js'
import { omitUndefined } from '../tool/omit-undefined.js'
import type { Session } from './session.js'
import { kernelOf } from './session-class.js'

/** Why a call would be allowed, asked about or denied: as text for terminals, and as data. */
export type ExplainedCall = {
  readonly action: 'allow' | 'ask' | 'deny'
  readonly text: string
  readonly judged: JudgedCall
  readonly watchdog: Verdict
}

/**
 * Explains why a call of a model would be allowed, asked about or denied in this session, with every rule that
 * contributed. Nothing is run. With `supposed`, the call is judged as if these rules were added and removed; the
 * session's own rules do not change. Throws `TypeError` for a tool that the session does not have, and for arguments
 * that the tool does not accept.
 */
export async function explainCall(
  session: Session,
  name: string,
  value: unknown,
  supposed?: SupposedRules | undefined,
): Promise<ExplainedCall> {
  const kernel = kernelOf(session)
  const { authority: own, workspace } = await kernel.engine.open()
  const authority = supposed === undefined ? own : own.supposing(supposed)
  const known = kernel.tools.get(name)
  if (known === undefined) throw new TypeError(describeUnknownTool(name, kernel.tools.names()))
  const tool = await governTool(known)
  const prepared = await tool.prepare(value)
  if (!prepared.ok) throw new TypeError(prepared.envelope.error_text)
  const { args, subjects } = prepared
  const call: Call = { tool: name, args, subjects, ...omitUndefined({ mcp: tool.mcp }) }
  const holds = authority.for(tool)
  const expanded = await expandOnDisk(call, holds.book.scope, workspace)
  const watchdog = await runWatchdog(defaultWatchdog, { tool: name, args, expanded })
  const explanation = explain(expanded, holds, watchdog)
  return {
    action: explanation.verdict.action,
    text: formatExplanation(explanation),
    judged: judgedCall(explanation.decision, call, { matches: true }),
    watchdog,
  }
}
