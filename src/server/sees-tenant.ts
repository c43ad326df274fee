import type { Principal } from './options.js'

/** Whether sessions and runs of this tenant exist for the principal. Those without a tenant have none. */
export function seesTenant(
  { tenantId, allTenants = false }: Principal,
  other: string | null | undefined,
): boolean {
  return allTenants || (other ?? undefined) === tenantId
}
