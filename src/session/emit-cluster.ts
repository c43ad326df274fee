import type { FeatureContext } from '../feature/feature-context.js'
import type { ClusterEvent } from '../loop/events.js'
import { omitUndefined } from '../tool/omit-undefined.js'

/** Emits an event about the cluster to the active run, and reports it to features that observe the session. */
export async function emitCluster(session: FeatureContext, event: ClusterEvent): Promise<void> {
  session.emit(event)
  if (event.type === 'passivation_requested') {
    const { reason, deadlineMs } = event
    await session.observe('passivation_requested', {
      reason,
      ...omitUndefined({ deadline_ms: deadlineMs }),
    })
  }
  if (event.type === 'peer_invocation') {
    const { fromSessionId, fromTenantId, correlationId } = event
    await session.observe('peer_invocation', {
      from_session_id: fromSessionId,
      ...omitUndefined({ from_tenant_id: fromTenantId, correlation_id: correlationId }),
    })
  }
}
