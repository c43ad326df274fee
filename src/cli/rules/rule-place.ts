import { homedir } from 'node:os'
import { workspaceRoot } from '../../agent/workspace-root.js'
import type { Scope } from '../../authority/scope.js'
import { openRuleFiles, type RuleFiles } from '../../workspace/rules/rule-files.js'
import type { Args } from '../args.js'
import type { Io } from '../io.js'
import { userDirOf } from '../setup/user-dir.js'

/** The rule files of the command's directory. */
export type RulePlace = {
  /** The real path of the workspace. */
  readonly root: string
  readonly userDir: string
  readonly files: RuleFiles
  readonly scope: Scope
}

export async function openRulePlace(args: Args, io: Io): Promise<RulePlace> {
  const root = workspaceRoot(args.value('directory') ?? '.', io.cwd)
  const userDir = userDirOf(io)
  // The variables of a session, so that every rule of a session can be parsed here.
  const variables = { workspace: [root], scratch: ['/'], 'ad-hoc': ['/'], 'user-data': ['/'] }
  return {
    root,
    userDir,
    files: await openRuleFiles({ root, userDir }),
    scope: { variables, home: homedir() },
  }
}
