import { constants } from 'node:fs'
import { lstat, mkdir, open, readFile, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { sha256 } from '../../authority/digest.js'
import {
  formatProjectRules,
  loadProjectRules,
  type ProjectRules,
  parseProjectRules,
} from '../../authority/project-rules.js'
import type { Rule } from '../../authority/rule.js'
import type { Scope } from '../../authority/scope.js'
import { CapstanError, markErrorClass, messageOf } from '../../tool/errors.js'

export type RuleFilesOptions = {
  /** The real path of the workspace. */
  readonly root: string
  /** The user's own directory, outside every workspace. */
  readonly userDir: string
}

/**
 * The rules of one project, in two files that people read and edit. The user's own lies in the user's directory and counts. The one
 * in the workspace, `.capstan/rules`, came with the repository: until the user confirms its very text, it may only hold back.
 */
export interface RuleFiles {
  /** The user's own file; named in messages. */
  readonly userFile: string
  readonly workspaceFile: string
  load(scope: Scope): Promise<LoadedRules>
  /** Adds a rule that the user agreed to for good. */
  add(rule: Rule): Promise<void>
  /** The user has read the workspace's file as it is now, and its rules count from here on. */
  confirm(confirmation: string): Promise<void>
}

export type LoadedRules = {
  readonly rules: readonly Rule[]
  /** The file in the workspace, when there is one. */
  readonly workspace?: ProjectRules
}

/** A rule file that cannot be read; nothing runs on rules that are only half known. */
export class RuleFileError extends CapstanError {
  constructor(file: string, cause: unknown) {
    super('rule_file_unreadable', `The rule file ${file} cannot be used: ${messageOf(cause)}`, { cause })
  }
}

markErrorClass(RuleFileError, 'RuleFileError')

export async function openRuleFiles({ root, userDir }: RuleFilesOptions): Promise<RuleFiles> {
  const own = join(userDir, 'projects', (await sha256(root)).slice(0, 32))
  const userFile = join(own, 'rules')
  const confirmedFile = join(own, 'confirmed')
  const workspaceFile = join(root, '.capstan', 'rules')

  const confirmations = async (): Promise<ReadonlySet<string>> =>
    new Set(((await readIfThere(confirmedFile)) ?? '').split('\n').filter(Boolean))

  return {
    userFile,
    workspaceFile,
    async load(scope) {
      const mine = await readRules(userFile, (text) => parseProjectRules(text, scope))
      const theirs = await readRules(workspaceFile, async (text) =>
        loadProjectRules(text, { root, scope, confirmations: await confirmations() }),
      )
      const rules = [...(theirs?.rules ?? []), ...(mine ?? [])]
      return theirs === undefined ? { rules } : { rules, workspace: theirs }
    },
    async add(rule) {
      const text =
        (await readIfThere(userFile)) ?? `# Rules for ${root}. One a line: allow, ask or deny, then what.\n`
      await replace(userFile, text.replace(/\n?$/, '\n') + formatProjectRules([rule]))
    },
    async confirm(confirmation) {
      if (!/^[0-9a-f]{64}$/.test(confirmation))
        throw new RuleFileError(workspaceFile, 'that is not a confirmation of its text')
      await replace(confirmedFile, `${[...(await confirmations()), confirmation].join('\n')}\n`)
    },
  }
}

async function readRules<Read>(
  file: string,
  read: (text: string) => Read | Promise<Read>,
): Promise<Read | undefined> {
  try {
    const text = await readIfThere(file)
    return text === undefined ? undefined : await read(text)
  } catch (cause) {
    throw new RuleFileError(file, cause)
  }
}

/** A link in place of the file, or of its directory, is somebody's trick: it could lead to a file that was confirmed elsewhere. */
async function readIfThere(file: string): Promise<string | undefined> {
  try {
    for (const part of [dirname(file), file]) {
      if ((await lstat(part)).isSymbolicLink()) throw new Error('it is a symbolic link')
    }
    const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      if (!(await handle.stat()).isFile()) throw new Error('it is not a file')
      return await readFile(handle, 'utf8')
    } finally {
      await handle.close()
    }
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

function isMissing(error: unknown): boolean {
  const code = (error as { code?: unknown }).code
  return code === 'ENOENT' || code === 'ENOTDIR'
}

/** In one step, and for this user's eyes only. */
async function replace(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const next = `${file}.${process.pid}.new`
  const handle = await open(next, 'w', 0o600)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(next, file)
}
