import { relative, sep } from 'node:path'
import type { PermissionPolicy } from '../../authority/policy.js'
import { isInside } from '../../workspace/inside.js'

/** What an agent directory consists of. */
const parts = ['instructions.md', 'agent.acl', 'schedules', 'skills', 'tools']

/**
 * The policy of sessions whose agent directory lies in their own workspace: they write nothing there. It says which programs are
 * started, and with which variables; who could change it would give himself what no rule gave him.
 */
export function protectAgentDir(
  policy: PermissionPolicy | undefined,
  directory: string,
  workspace: string,
): PermissionPolicy | undefined {
  if (!isInside(workspace, directory)) return policy
  const place = relative(workspace, directory).split(sep).map(plain).join('/')
  const own = (place === '' ? parts : [place]).map((pattern) => `fs.write(${pattern})`)
  // A policy that is switched off would take these along.
  if (policy === undefined || policy.enabled === false) return { deny: own }
  return { ...policy, deny: [...(policy.deny ?? []), ...own] }
}

/** A name as a pattern. What patterns mean something by becomes any one character: rather too much is closed than too little. */
function plain(name: string): string {
  return name.replace(/[^\p{L}\p{N}._ -]/gu, '?')
}
