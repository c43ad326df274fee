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
  return {
    callId: state.id,
    toolName: request.name,
    origin: request.origin,
    args: state.text,
    endedAt: step,
    startedAtMs: state.start,
    durationMs: elapsed(state),
    envelope,
    ...touched(state),
    ...(state.run?.runId === undefined ? {} : { runId: state.run.runId }),
    ...(request.toolCallId === undefined ? {} : { toolCallId: request.toolCallId }),
    ...(decision === undefined ? {} : { verdict: decision.verdict, rules: decidingRules(decision) }),
    ...(decision === undefined || expanded === undefined
      ? {}
      : { judged: judgedCall(decision, expanded.call) }),
    ...(watchdog === undefined ? {} : { watchdog }),
    ...(hooks === undefined ? {} : { hooks }),
    ...(approval === undefined ? {} : { approval }),
    ...(notices.length === 0 ? {} : { notices }),
  }
}

/** Returns the paths that the call touches, without those that are only a guess. */
function touched({ expanded }: CallState): Pick<CallRecord, 'paths'> {
  if (expanded === undefined) return {}
  const paths = new Set<string>()
  for (const subject of expanded.subjects)
    if (subject.kind === 'path' && subject.doubt === undefined && paths.size < maxPaths)
      paths.add(subject.written)
  return paths.size === 0 ? {} : { paths: [...paths] }
}

const maxPaths = 50

/** Returns the rules that decided about each subject of the call. */
function decidingRules({ rules, limits, inherited }: Decision): Rule[] {
  return [rules, ...limits, ...inherited].flatMap(({ subjects }) =>
    subjects.flatMap(({ rule }) => (rule === undefined ? [] : [rule])),
  )
}
