import type { ClusterEvent } from '../loop/events.js'
import type { SessionCore } from './core.js'

/** Tells the run at work and the hooks what happens around the session. */
export async function emitCluster(core: SessionCore, event: ClusterEvent): Promise<void> {
  core.emit(event)
  if (event.type === 'passivation_requested' && core.hooks.has('passivation_requested')) {
    const { reason, deadlineMs } = event
    await core.hooks.run('passivation_requested', {
      reason,
      ...(deadlineMs !== undefined && { deadline_ms: deadlineMs }),
    })
  }
  if (event.type === 'peer_invocation' && core.hooks.has('peer_invocation')) {
    const { fromSessionId, fromTenantId, correlationId } = event
    await core.hooks.run('peer_invocation', {
      from_session_id: fromSessionId,
      ...(fromTenantId !== undefined && { from_tenant_id: fromTenantId }),
      ...(correlationId !== undefined && { correlation_id: correlationId }),
    })
  }
}
