import { omitUndefined } from '../tool/omit-undefined.js'
/** Labels of the host. They are passed to hooks, traces and records, and are not interpreted. */
export type SessionLabels = {
  readonly tenantId?: string
  readonly principal?: string
  readonly agentTemplateId?: string
  readonly correlationId?: string
}

/** Returns the labels among other options, without those that have no value. */
export function labelsOf({
  tenantId,
  principal,
  agentTemplateId,
  correlationId,
}: SessionLabels): SessionLabels {
  return {
    ...omitUndefined({ tenantId, principal, agentTemplateId, correlationId }),
  }
}
