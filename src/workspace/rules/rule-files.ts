import { homedir } from 'node:os'
import { join } from 'node:path'
import {
  formatProjectRules,
  isOneLine,
  loadProjectRules,
  type ProjectRules,
  parseProjectRules,
  sameInFile,
} from '../../authority/project-rules.js'
import type { Rule } from '../../authority/rule.js'
import type { Scope } from '../../authority/scope.js'
import { CapstanError, markErrorClass, messageOf } from '../../tool/errors.js'
import { changeFile } from './change-file.js'
import { openConfirmations } from './confirmations.js'
import { readIfThere } from './read-if-there.js'

/** Options of {@link openRuleFiles}. */
export type RuleFilesOptions = {
  /** The real path of the workspace. */
  readonly root: string
  /** The user's own directory, outside every workspace. */
  readonly userDir: string
  /** The workspace is not on this machine, and `root` is its address: only the user's own file is read. */
  readonly isRemote?: boolean | undefined
}

/**
 * The rules of one project, in two files that users read and edit. The user's own is in the user's directory and always
 * applies. The one in the workspace, `.capstan/rules`, came with the repository: until the user confirms its content,
 * its rules can only deny and ask.
 */
export interface RuleFiles {
  /** The user's own file; named in messages. */
  readonly userFile: string
  readonly workspaceFile: string
  load(scope: Scope): Promise<LoadedRules>
  /**
   * Adds a rule that the user approved permanently. Throws {@link RuleFileError}, and writes nothing, when the file
   * would then contain anything but its old content and this rule. The examples of the rules are checked in `scope`;
   * absent: the workspace itself.
   */
  add(rule: Rule, scope?: Scope): Promise<void>
  /**
   * Removes the rules of the user's own file for which `isRemoved` returns true, and returns them. All other lines
   * stay.
   */
  remove(isRemoved: (rule: Rule) => boolean, scope?: Scope): Promise<Rule[]>
  /** Confirms the current text of the workspace's file for the user: its rules apply from now on. */
  confirm(confirmation: string): Promise<void>
}

/** The rules of the user and of the workspace. */
export type LoadedRules = {
  readonly rules: readonly Rule[]
  /** The file in the workspace, when there is one. */
  readonly workspace?: ProjectRules | undefined
}

/** Thrown when a rule file cannot be parsed; no call runs with incomplete rules. */
export class RuleFileError extends CapstanError {
  constructor(file: string, cause: unknown) {
    super('rule_file_unreadable', `The rule file ${file} cannot be used: ${messageOf(cause)}`, { cause })
  }
}

markErrorClass(RuleFileError, 'RuleFileError')

/** Opens the rule files of the user and of a workspace. */
export async function openRuleFiles({ root, userDir, isRemote }: RuleFilesOptions): Promise<RuleFiles> {
  const confirmations = openConfirmations({ root, userDir })
  const userFile = join(confirmations.directory, 'rules')
  const workspaceFile = join(root, '.capstan', 'rules')

  return {
    userFile,
    workspaceFile,
    async load(scope) {
      const mine = await readRules(userFile, (text) => parseProjectRules(text, scope))
      const theirs =
        isRemote === true
          ? undefined
          : await readRules(workspaceFile, async (text) =>
              loadProjectRules(text, { root, scope, confirmations: await confirmations.all() }),
            )
      const rules = [...(theirs?.rules ?? []), ...(mine ?? [])]
      return theirs === undefined ? { rules } : { rules, workspace: theirs }
    },
    async add(rule, scope = placeOf(root)) {
      await change(userFile, async () => {
        const text = (await readIfThere(userFile, maxFileBytes)) ?? headerFor(root)
        return withRule(text, rule, scope)
      })
    },
    async remove(isRemoved, scope = placeOf(root)) {
      let removed: Rule[] = []
      const text = await readRules(userFile, async (content) => content)
      if (text === undefined) return removed
      await change(userFile, async () => {
        const now = (await readIfThere(userFile, maxFileBytes)) ?? ''
        const rules = parseProjectRules(now, scope)
        removed = rules.filter(isRemoved)
        return removed.length === 0 ? now : withoutRules(now, rules, isRemoved, scope)
      })
      return removed
    },
    async confirm(confirmation) {
      if (!/^[0-9a-f]{64}$/.test(confirmation))
        throw new RuleFileError(workspaceFile, 'that is not a confirmation of its text')
      await confirmations.add(confirmation).catch((cause: unknown) => {
        throw new RuleFileError(join(confirmations.directory, 'confirmed'), cause)
      })
    },
  }
}

/** Three bytes for each character that a rule file can have. */
const maxFileBytes = 3 * 1_048_576

function headerFor(root: string): string {
  // The creator of an archive can put line breaks into the name of a directory.
  const project = isOneLine(root) ? root : 'one project'
  return `# Rules for ${project}. One a line: allow, ask or deny, then what.\n`
}

/** Gives every variable a value: whether a rule can be parsed must not depend on the session that adds it. */
function placeOf(root: string): Scope {
  return {
    variables: { workspace: [root], scratch: ['/'], 'ad-hoc': ['/'], 'user-data': ['/'] },
    home: homedir(),
  }
}

/** Returns the text with a rule, which may come from a model: parsed, it must be the old rules and this one. */
function withRule(text: string, rule: Rule, scope: Scope): string {
  if (rule.untrusted) throw new Error('a rule that is not confirmed does not belong there')
  const next = text.replace(/\n?$/, '\n') + formatProjectRules([rule])
  const expected = [...parseProjectRules(text, scope), rule]
  const read = parseProjectRules(next, scope)
  const same = expected.every((one, at) => {
    const other = read[at]
    return other !== undefined && sameInFile(one, other)
  })
  if (!same || read.length !== expected.length)
    throw new Error('with the new rule its content would differ from what was approved')
  return next
}

/** Returns the text without some rules and their comments. The new text is parsed, and must contain the other rules. */
function withoutRules(
  text: string,
  rules: readonly Rule[],
  isRemoved: (rule: Rule) => boolean,
  scope: Scope,
): string {
  let at = -1
  const lines = text.split('\n').filter((line) => {
    const content = line.replace(/^\ufeff/, '').trim()
    if (content === '' || content.startsWith('#')) return true
    if (!/^\s/.test(line.replace(/^\ufeff/, ''))) at++
    const rule = rules[at]
    return rule === undefined || !isRemoved(rule)
  })
  const next = lines.join('\n')
  const expected = rules.filter((rule) => !isRemoved(rule))
  const read = parseProjectRules(next, scope)
  const isSame = (rule: Rule, index: number): boolean => {
    const other = read[index]
    return other !== undefined && sameInFile(rule, other)
  }
  if (read.length !== expected.length || !expected.every(isSame))
    throw new Error('without the rule its other rules would change; edit the file by hand')
  return next
}

async function readRules<Read>(
  file: string,
  read: (text: string) => Read | Promise<Read>,
): Promise<Read | undefined> {
  try {
    const text = await readIfThere(file, maxFileBytes)
    return text === undefined ? undefined : await read(text)
  } catch (cause) {
    throw new RuleFileError(file, cause)
  }
}

/** Replaces the text of the file, while no other process changes it. */
async function change(file: string, next: () => Promise<string>): Promise<void> {
  await changeFile(file, next).catch((cause: unknown) => {
    throw new RuleFileError(file, cause)
  })
}
