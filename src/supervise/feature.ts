import type { FeatureContext } from '../feature/feature-context.js'
import type { Check } from '../feature/option-check.js'
import type { SessionFeature } from '../feature/session-feature.js'
import { type SupervisedSession, type SuperviseFeatureOptions, Supervision, unused } from './supervision.js'
import type { SupervisorStatus } from './supervisor.js'
import { isTransport, openTokenProblem } from './transport.js'

export type { SuperviseFeatureOptions } from './supervision.js'

const transport: Check = (value) =>
  isTransport(value)
    ? undefined
    : '% must be an HttpTransport, WebSocketTransport, StdioTransport or UnixSocketTransport.'

/**
 * Connects a session to its supervisor, from the first run or call until the session is closed. Subagents use their
 * parent's connection.
 */
export const superviseFeature: SessionFeature<Supervision, SuperviseFeatureOptions> = {
  name: 'supervise',
  create: (session) => new Supervision(session, session.parent && supervisionOf(session.parent.session)),
  close: (supervision) => supervision.close(),
  options: { ahpTransport: transport },
  optionWarnings({ ahpTransport }) {
    const exposed = ahpTransport !== undefined && isTransport(ahpTransport) && openTokenProblem(ahpTransport)
    return exposed ? [`ahpTransport: ${exposed}`] : []
  },
  delaysPrompt: isSupervised,
  watchRun(session, runId) {
    const supervision = supervisionOf(session)
    return supervision && ((event) => supervision.seen(runId, event))
  },
  /** Runs after the hooks, so that the supervisor sees the prompt as they changed it. */
  async rewritePrompt(session: SupervisedSession, text, { history }, signal) {
    const supervision = supervisionOf(session)
    if (supervision === undefined) return text
    const facts = {
      system_prompt: await session.prompt.text(),
      message_count:
        history?.length ?? session.log.conversation.trimmed + session.log.conversation.messages.length,
    }
    const prompt = await supervision.prompt('pre_prompt', { prompt: text, ...facts }, signal)
    return session.options.planningMode === 'enabled'
      ? supervision.prompt('planning', { prompt }, signal)
      : prompt
  },
  rewriteSideQuestion: (session, question, signal) =>
    supervisionOf(session)?.prompt('pre_prompt', { prompt: question, aside: true }, signal) ?? question,
  gate: (session) => supervisionOf(session)?.gate(),
  offers: { recallGuard: supervisionOf },
}

/** Returns the status without connecting. Null without a supervisor. */
export function supervisorStatus(session: FeatureContext<SuperviseFeatureOptions>): SupervisorStatus | null {
  const known = session.peek(superviseFeature) ?? session.parent?.session.peek(superviseFeature)
  const kind = session.options.ahpTransport?.kind
  return known?.status() ?? (kind === undefined ? null : unused(kind))
}

function isSupervised({ options, parent }: FeatureContext<SuperviseFeatureOptions>): boolean {
  return options.ahpTransport !== undefined || (parent !== undefined && isSupervised(parent.session))
}

function supervisionOf(session: FeatureContext<SuperviseFeatureOptions>): Supervision | undefined {
  return isSupervised(session) ? session.use(superviseFeature) : undefined
}
