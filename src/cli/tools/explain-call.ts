import type { Call } from '../../authority/call.js'
import { expandOnDisk } from '../../authority/expand-on-disk.js'
import { explain, formatExplanation } from '../../authority/explain.js'
import { defaultWatchdog, runWatchdog } from '../../authority/watchdog.js'
import type { Session } from '../../session/session.js'
import { coreOf } from '../../session/surface/session-surface.js'
import { describeUnknownTool } from '../../tool/errors.js'
import { governTool } from '../../tool/govern.js'
import { omitUndefined } from '../../tool/omit-undefined.js'
import { UsageError } from '../errors.js'

/** Explains why a call of the model would be allowed, asked about or denied in this session, with every rule that matched. Nothing is run. */
export async function explainCall(
  session: Session,
  name: string,
  value: unknown,
): Promise<{ readonly action: 'allow' | 'ask' | 'deny'; readonly text: string }> {
  const core = coreOf(session)
  const { authority, workspace } = await core.engine()
  const known = core.shelf.get(name)
  if (known === undefined) throw new UsageError(describeUnknownTool(name, core.shelf.names()))
  const tool = await governTool(known)
  const prepared = await tool.prepare(value)
  if (!prepared.ok) throw new UsageError(prepared.envelope.error_text)
  const { args, subjects } = prepared
  const call: Call = omitUndefined({ tool: name, args, subjects, mcp: tool.mcp })
  const holds = authority.for(tool)
  const expanded = await expandOnDisk(call, holds.book.scope, workspace)
  const watchdog = await runWatchdog(defaultWatchdog, { tool: name, args, expanded })
  const explanation = explain(expanded, holds, watchdog)
  return { action: explanation.verdict.action, text: formatExplanation(explanation) }
}
