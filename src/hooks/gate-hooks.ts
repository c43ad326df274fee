import { type AskHandler, readAnswer } from '../loop/ask.js'
import type { GateParts, HookCall, HookVerdict } from '../loop/gate-parts.js'
import type { Envelope } from '../tool/envelope.js'
import { serializeToolOutput } from '../tool/serialize.js'
import type { Subject } from '../tool/subject.js'
import type { ToolUsePayload } from './events.js'
import type { HookOutcome, Hooks } from './hooks.js'

export type GateHooks = Required<Pick<GateParts, 'before' | 'after'>>

const keptTools = 10
const continued: HookVerdict = { action: 'continue' }

/** Returns the hooks of a session as steps of its gate: `pre_tool_use` before a call, `post_tool_use` after it. */
export function gateHooks(hooks: Hooks): GateHooks {
  const recent: string[] = []
  return {
    before: (call: HookCall) => (hooks.has('pre_tool_use') ? askBefore(hooks, call, [...recent]) : continued),
    after: (call: HookCall & { readonly envelope: Envelope }) => {
      recent.push(call.toolName)
      if (recent.length > keptTools) recent.shift()
      return hooks.has('post_tool_use') ? reportAfter(hooks, call) : undefined
    },
  }
}

/**
 * Passes the question to the user and its answer to hooks: `permission_request` can refuse before the user is asked,
 * `on_confirmation` observes.
 */
export function hookedAsk(hooks: Hooks, onAsk: AskHandler): AskHandler {
  return async (request) => {
    const call = {
      ...toolUse(hooks, { ...request, callId: request.id }),
      request_id: request.id,
    }
    if (hooks.has('permission_request')) {
      const outcome = await hooks.run('permission_request', { ...call, reasons: request.reasons })
      if (outcome.action === 'block')
        return { decision: 'reject', message: `Blocked by a hook: ${outcome.reason}`, automatic: true }
    }
    const answer = await onAsk(request)
    if (hooks.has('on_confirmation')) {
      const { approved, keep = 'once', message } = readAnswer(answer)
      const decision = approved ? keep : 'reject'
      const reason = message === undefined ? {} : { reason: message }
      await hooks.run('on_confirmation', { ...call, approved, decision, ...reason })
    }
    return answer
  }
}

function askBefore(
  hooks: Hooks,
  call: HookCall,
  recent: readonly string[],
): HookVerdict | Promise<HookVerdict> {
  const payload = { ...toolUse(hooks, call), recent_tools: recent }
  const outcome = hooks.run('pre_tool_use', payload, optionsOf(call))
  return outcome instanceof Promise ? outcome.then(verdictOf) : verdictOf(outcome)
}

function verdictOf(outcome: HookOutcome<'pre_tool_use'>): HookVerdict {
  if (outcome.action === 'block') return { action: 'block', reason: outcome.reason }
  if (outcome.action === 'continue' && outcome.changed)
    return { action: 'change', args: outcome.payload.args }
  return continued
}

async function reportAfter(hooks: Hooks, call: HookCall & { readonly envelope: Envelope }): Promise<void> {
  const { envelope } = call
  const { exit_code, duration_ms } = envelope.metadata
  const success = envelope.type === 'output'
  const result = {
    success,
    output: envelope.type === 'output' ? serializeToolOutput(envelope.data) : envelope.error_text,
    exit_code: typeof exit_code === 'number' ? exit_code : success ? 0 : 1,
    duration_ms,
  }
  await hooks.run('post_tool_use', { ...toolUse(hooks, call), result }, optionsOf(call))
}

function toolUse(
  { session }: Hooks,
  call: Pick<HookCall, 'toolName' | 'args' | 'callId' | 'subjects'> & Partial<Pick<HookCall, 'origin'>>,
): ToolUsePayload {
  const { subjects } = call
  return {
    tool: call.toolName,
    args: call.args,
    working_directory: session.workspace,
    call_id: call.callId,
    ...(call.origin === undefined ? {} : { origin: call.origin }),
    ...(subjects === undefined ? {} : { paths: pathsIn(subjects), commands: commandsIn(subjects) }),
  }
}

function pathsIn(subjects: readonly Subject[]): string[] {
  return subjects.flatMap((subject) => ('fs' in subject ? [subject.path] : []))
}

function commandsIn(subjects: readonly Subject[]): string[] {
  return subjects.flatMap((subject) => {
    if (!('shell' in subject)) return []
    return ['text' in subject.shell ? subject.shell.text : subject.shell.argv.join(' ')]
  })
}

function optionsOf({ signal }: HookCall): { signal?: AbortSignal } {
  return signal === undefined ? {} : { signal }
}
