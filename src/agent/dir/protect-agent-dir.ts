import { relative, sep } from 'node:path'
import type { PermissionPolicy } from '../../authority/policy.js'
import { isInside } from '../../workspace/inside.js'

/** The files and folders of an agent directory. */
const parts = ['instructions.md', 'agent.acl', 'schedules', 'skills', 'tools']

/**
 * Adds denies for sessions whose agent directory is in their workspace: they cannot write to it. The directory decides
 * which programs are started with which variables, so a session that changes it would extend its own permissions.
 */
export function protectAgentDir(
  policy: PermissionPolicy | undefined,
  directory: string,
  workspace: string,
): PermissionPolicy | undefined {
  if (!isInside(workspace, directory)) return policy
  const place = relative(workspace, directory).split(sep).map(plain).join('/')
  const own = (place === '' ? parts : [place]).map((pattern) => `fs.write(${pattern})`)
  // These rules apply even if the given policy is turned off.
  if (policy === undefined || policy.enabled === false) return { deny: own }
  return { ...policy, deny: [...(policy.deny ?? []), ...own] }
}

/**
 * Converts a name to a pattern. Special characters match any character, so that too much is denied rather than too
 * little.
 */
function plain(name: string): string {
  return name.replace(/[^\p{L}\p{N}._ -]/gu, '?')
}
