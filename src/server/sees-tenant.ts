import type { Principal } from './options.js'

/**
 * Whether the principal can see sessions and runs of this tenant. Sessions without a tenant are visible to principals
 * without one.
 */
export function seesTenant(
  { tenantId, allTenants = false }: Principal,
  other: string | null | undefined,
): boolean {
  return allTenants || (other ?? undefined) === tenantId
}
