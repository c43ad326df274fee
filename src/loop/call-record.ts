import type { Decision } from '../authority/decide.js'
import { judgedCall } from '../authority/judged-call.js'
import type { Rule } from '../authority/rule.js'
import type { Envelope } from '../tool/envelope.js'
import { elapsed } from './execute-step.js'
import type { CallState } from './gate.js'
import type { CallRecord } from './gate-parts.js'

/** Returns the record of a call that has ended: its decision, its timing and its result. */
export function recordOf(state: CallState, envelope: Envelope): CallRecord {
  const { request, decision, expanded, watchdog, hooks, approval, step, notices } = state
  const record: { -readonly [Name in keyof CallRecord]: CallRecord[Name] } = {
    callId: state.id,
    toolName: request.name,
    origin: request.origin,
    args: state.text,
    endedAt: step,
    startedAtMs: state.start,
    durationMs: elapsed(state),
    envelope,
  }
  // Assigned one after the other: a copy of an object for each would take most of the time of this function.
  const paths = touched(state)
  if (paths !== undefined) record.paths = paths
  if (state.run?.runId !== undefined) record.runId = state.run.runId
  if (request.toolCallId !== undefined) record.toolCallId = request.toolCallId
  if (decision !== undefined) {
    record.verdict = decision.verdict
    record.rules = decidingRules(decision)
    if (expanded !== undefined) record.judged = judgedCall(decision, expanded.call)
  }
  if (watchdog !== undefined) record.watchdog = watchdog
  if (hooks !== undefined) record.hooks = hooks
  if (approval !== undefined) record.approval = approval
  if (notices.length > 0) record.notices = notices
  return record
}

/** Returns the paths that the call touches, without those that are only a guess. */
function touched({ expanded }: CallState): CallRecord['paths'] {
  if (expanded === undefined) return undefined
  const paths = new Set<string>()
  for (const subject of expanded.subjects)
    if (subject.kind === 'path' && subject.doubt === undefined && paths.size < maxPaths)
      paths.add(subject.written)
  return paths.size === 0 ? undefined : [...paths]
}

const maxPaths = 50

/** Returns the rules that decided about each subject of the call. */
function decidingRules({ rules, limits, inherited }: Decision): Rule[] {
  return [rules, ...limits, ...inherited].flatMap(({ subjects }) =>
    subjects.flatMap(({ rule }) => (rule === undefined ? [] : [rule])),
  )
}
