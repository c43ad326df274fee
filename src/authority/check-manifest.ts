import { assertRequirements } from '../tool/requirement-check.js'
import { createGrant } from './grant.js'
import type { Manifest } from './manifest.js'
import { anyScope } from './policy.js'
import { sharedPolicy } from './shared-policy.js'

/** Throws when requirements cannot be used: a wrong shape, an unknown variable, an invalid pattern. */
export function checkRequirements(requires: unknown, owner: string): void {
  assertRequirements(requires, owner)
  createGrant({ scope: anyScope, manifest: requires })
}

/** Throws when a manifest cannot be used. */
export function checkManifest({ requires, permissions }: Manifest): void {
  if (requires !== undefined) checkRequirements(requires, 'the manifest')
  if (permissions !== undefined) sharedPolicy(permissions)
}
