import type { FeatureContext } from '../feature/feature-context.js'
import type { SessionFeature } from '../feature/session-feature.js'
import type { CallRecord } from '../loop/gate-parts.js'
import type { RequestWatch } from '../loop/run-parts.js'
import type { Model } from '../model/model.js'
import type { CompletionRequest } from '../tool/completion.js'
import type { OtelSpan } from './otel.js'
import type { SessionSpans } from './session-spans.js'

export type TelemetrySetup = {
  /** Creates the spans of a session; absent: nothing is traced. */
  readonly telemetry?: Telemetry | undefined
}

/** Creates the spans of a session. The code is loaded only for agents with telemetry. */
export type Telemetry = (session: FeatureContext, parent?: () => OtelSpan | undefined) => SessionSpans

type TracedSession = FeatureContext<object, TelemetrySetup>

/**
 * Reports runs, requests to models and tool calls to OpenTelemetry: a span for each, and their durations as metrics. It
 * only observes; a tracer that throws is reported once and changes nothing else.
 */
export const telemetryFeature: SessionFeature<SessionSpans | undefined, object, TelemetrySetup> = {
  name: 'telemetry',
  create: (session) => {
    const { telemetry } = session.setup
    return telemetry?.(session, parentSpans(session))
  },
  close: (spans) => spans?.close(),
  watchRun: (session, runId, request) => spansOf(session)?.queueRun(runId, request),
  startRun: (session, runId) => spansOf(session)?.openRun(runId),
  watchRequest: (session, model: Model, request: CompletionRequest): RequestWatch | undefined =>
    spansOf(session)?.startRequest(model, request),
  gate: (session) => {
    const spans = spansOf(session)
    return (
      spans && {
        before: (call, verdict) => {
          spans.startCall(call)
          return verdict
        },
      }
    )
  },
  services: {
    trace: (session: TracedSession, { request }) => spansOf(session)?.traceOf(request.callId),
  },
  callEnded: (session, record: CallRecord) => spansOf(session)?.endCall(record),
}

/** Undefined, without any work, in a session without telemetry. */
function spansOf(session: TracedSession): SessionSpans | undefined {
  return session.setup.telemetry === undefined ? undefined : session.use(telemetryFeature)
}

/** Returns the span that the work of a subagent belongs to. */
function parentSpans({ parent }: TracedSession): (() => OtelSpan | undefined) | undefined {
  const session = parent?.session as TracedSession | undefined
  return session && (() => session.peek(telemetryFeature)?.spanForSubagent())
}
