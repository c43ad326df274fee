import type { AnyGovernedTool } from '../../tool/contract.js'
import { applyPatchTool } from './apply-patch.js'
import { type ExtensionToolName, extensionToolNames } from './names.js'
import { planExitTool, planTool } from './plan.js'
import { repoCloneTool } from './repo-clone.js'
import { repoOverviewTool } from './repo-overview.js'

/** Further tools for code agents. A session has those that its option `extensionTools` names. */
const tools: Readonly<Record<ExtensionToolName, AnyGovernedTool>> = {
  repo_overview: repoOverviewTool,
  repo_clone: repoCloneTool,
  apply_patch: applyPatchTool,
  plan: planTool,
  plan_exit: planExitTool,
}

/** Returns the named extension tools; `true`: all of them. */
export function extensionTools(chosen: boolean | readonly string[] = false): readonly AnyGovernedTool[] {
  if (chosen === false) return []
  return extensionToolNames.flatMap((name) => (chosen === true || chosen.includes(name) ? [tools[name]] : []))
}
