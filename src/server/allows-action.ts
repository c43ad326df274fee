import type { Session } from '../session/session.js'
import type { SessionInfo } from '../store/session-store.js'
import { readActions } from './inspector/read-actions.js'
import type { Principal, ServerOptions, SessionFacts } from './options.js'

/** Whether the caller is allowed to do an action, by its own restrictions and by the decision of the host. */
export async function allowsAction(
  options: ServerOptions,
  principal: Principal,
  action: string,
  session: Session | SessionInfo | undefined,
): Promise<boolean> {
  if (principal.readsOnly !== undefined && !isReading(principal.readsOnly, action, session)) return false
  return (await options.authorize?.(principal, action, session && factsOf(session))) ?? true
}

/** Whether an action reads one session and changes nothing. */
function isReading(sessionId: string, action: string, session: Session | SessionInfo | undefined): boolean {
  if (action === 'getInspector' || action === 'signOut') return true
  return readActions.has(action) && session !== undefined && factsOf(session).sessionId === sessionId
}

function factsOf(session: Session | SessionInfo): SessionFacts {
  if ('id' in session) {
    const { id: sessionId, workspaceRoot: workspace = '', labels } = session
    return { sessionId, workspace, tenantId: labels?.['tenantId'], principal: labels?.['principal'] }
  }
  return {
    sessionId: session.sessionId,
    workspace: session.workspace,
    tenantId: session.tenantId ?? undefined,
    principal: session.principal ?? undefined,
  }
}
