import type { ToolCallContext } from '../tool/contract.js'
import { builtInTool } from '../tool/create-json-tool.js'
import { type Envelope, errorEnvelope, outputEnvelope } from '../tool/envelope.js'
import { objectSchema } from '../tool/object-schema.js'
import type { RuntimeShell, ShellOutcome } from '../tool/runtime.js'
import type { Subject } from '../tool/subject.js'
import { fittingHead } from './fitting-head.js'
import type { GitArgs } from './git/git-args.js'
import {
  branchesText,
  logText,
  parseRemotes,
  parseStatus,
  stashesText,
  statusText,
  worktreesText,
} from './git/git-format.js'
import { defaultSuffix, diffText, type GitPlan, planGit } from './git/git-plan.js'
import { withoutCredentials } from './git/without-credentials.js'
import { pathText } from './path-text.js'
import { requireService } from './require-service.js'

const timeoutMs = 60_000
const maxBytes = 200 * 1024
const diffBytes = 190 * 1024
/** The limit for output that this tool parses and does not show unchanged. */
const listBytes = 16 * 1024 * 1024
const namedChanges = 100

const text = (description: string) => ({ type: 'string', description }) as const

/** Shows the state and history of the workspace's repository, and manages branches, stashes and worktrees. */
export const gitTool = builtInTool<GitArgs>({
  name: 'git',
  description:
    'Inspect the git repository; branch, worktree, checkout; stash (a message makes one). Runs no hooks. To add, commit, fetch or push use bash.',
  unlisted: ['base', 'force', 'include_untracked', 'new_branch', 'remote_name'],
  kind: 'execute',
  requires: {
    shell: [{ cmd: 'git' }],
    fs: { read: ['{workspace}/**'], write: ['{workspace}/**'] },
  },
  limits: { maxBytes },
  parameters: objectSchema({
    command: text('status|log|branch|checkout|diff|stash|remote|worktree'),
    'subcommand?': { enum: ['list', 'create', 'remove'] },
    'name?': text('Branch'),
    'path?': text('Of log, diff, worktree'),
    'ref?': text('checkout, log'),
    'target?': text('diff: range'),
    'base?': text('create: from'),
    'new_branch?': { type: 'boolean', default: true },
    'force?': { type: 'boolean' },
    'max_count?': { type: 'integer', minimum: 1, maximum: 200 },
    'message?': { type: 'string' },
    'include_untracked?': { type: 'boolean' },
    'remote_name?': { type: 'string' },
  }),
  touches: subjectsOf,
  async execute(args, context) {
    const plan = planGit(args)
    if (plan.kind === 'diff') return diffOf(args, plan, context)
    const outcome = await runGit(context, plan.text, listBytes)
    return failureOf(args, plan, outcome, rootOf(context)) ?? described(args, plan, outcome, rootOf(context))
  },
})

/** A path in `log` or `diff` is a file that is read, so it is judged as such. */
function subjectsOf(args: GitArgs): Subject[] {
  const { text: command, kind } = planGit(args)
  const looked = kind === 'log' || kind === 'diff' ? args.path : undefined
  return [
    { shell: { text: command } },
    ...(looked === undefined ? [] : [{ fs: 'read', path: looked } as const]),
  ]
}

function runGit(
  context: ToolCallContext,
  command: string,
  keptBytes: number,
): ReturnType<RuntimeShell['run']> {
  return requireService(context, 'shell').run(command, {
    timeoutMs,
    guardGit: true,
    maxBytes: keptBytes,
    signal: context.signal,
  })
}

function rootOf({ runtime }: ToolCallContext): string {
  return runtime?.files?.root ?? 'the workspace'
}

function failureOf(args: GitArgs, plan: GitPlan, outcome: ShellOutcome, root: string): Envelope | undefined {
  const { exitCode, output } = outcome
  if (outcome.timedOut) return errorEnvelope(`git ${args.command} did not finish within ${timeoutMs} ms`)
  if (outcome.aborted) return errorEnvelope(`git ${args.command} was stopped: the run was aborted`)
  if (exitCode === 0) return undefined
  const metadata = { exit_code: exitCode ?? 1 }
  if (/not a git repository|cannot use bare repository/i.test(output))
    return errorEnvelope(`Not a git repository: ${root}`, { exit_code: 1 })
  if (plan.kind === 'stashes' && /bad revision|unknown revision|ambiguous argument/.test(output))
    return undefined
  if (plan.kind === 'log' && args.ref === undefined && /does not have any commits yet/.test(output))
    return outputEnvelope('No commits yet.', { count: 0 })
  const refused = outcome.blocked.map((what) => `\nThe sandbox refused: ${what}`).join('')
  const outside =
    plan.kind === 'worktree-made' && plan.path === undefined
      ? '\nWithout path the work tree is created next to the workspace: give a path inside it.'
      : ''
  const said = withoutCredentials(output.trim().slice(0, 4_000))
  const words = said === '' ? `exit code ${exitCode ?? 'unknown'}, without output` : said
  return errorEnvelope(`git ${args.command} failed: ${words}${refused}${outside}`, metadata)
}

function described(
  args: GitArgs,
  plan: Exclude<GitPlan, { kind: 'diff' }>,
  outcome: ShellOutcome,
  root: string,
): Envelope {
  const output = outcome.exitCode === 0 ? outcome.output : ''
  switch (plan.kind) {
    case 'status':
      return statusOf(output, root)
    case 'log': {
      const { text: log, count } = logText(output)
      return outputEnvelope(log, { count })
    }
    case 'branches': {
      const { text: list, names } = branchesText(output)
      return outputEnvelope(list, { count: names.length })
    }
    case 'stashes': {
      const { text: list, count } = stashesText(output)
      return outputEnvelope(list, { count })
    }
    case 'worktrees': {
      const { text: list, count } = worktreesText(output)
      return outputEnvelope(list, { count })
    }
    case 'remotes':
      return remotesOf(output, args.remote_name)
    case 'stashed':
      return outputEnvelope(
        /No local changes to save/.test(output) ? 'No local changes to save.' : 'Created stash',
      )
    case 'worktree-made': {
      const path = plan.path ?? `${root}${defaultSuffix(plan.name)}`
      return outputEnvelope(`Created worktree: ${path} (branch: ${plan.name})`, { path, branch: plan.name })
    }
    case 'done':
      return outputEnvelope(plan.says)
  }
}

function statusOf(output: string, root: string): Envelope {
  const [own = '', common = '', prefix = ''] = output.split('\n', 3)
  const status = parseStatus(output.slice(own.length + common.length + prefix.length + 3), prefix)
  const linked = own !== common
  const count = status.changes.length
  return outputEnvelope(statusText(root, status, linked), {
    branch: status.detached ? null : status.branch,
    is_worktree: linked,
    dirty_count: count,
    is_dirty: count > 0,
    ...(count === 0 ? {} : { changes: status.changes.slice(0, namedChanges) }),
  })
}

function remotesOf(output: string, wanted: string | undefined): Envelope {
  const remotes = parseRemotes(output)
  if (remotes.length === 0) return outputEnvelope('No remotes configured.')
  const shown = wanted === undefined ? remotes : remotes.filter(({ name }) => name === wanted)
  if (shown.length > 0) return outputEnvelope(shown.map(({ line }) => line).join('\n'))
  const known = [...new Set(remotes.map(({ name }) => name))]
  return errorEnvelope(`There is no remote "${wanted}". There are: ${known.join(', ')}`)
}

/** Returns the changes of readable files. Files that must not be read are not shown through the history either. */
async function diffOf(
  args: GitArgs,
  plan: GitPlan & { kind: 'diff' },
  context: ToolCallContext,
): Promise<Envelope> {
  const listed = await runGit(context, plan.names, listBytes)
  const failed = failureOf(args, plan, listed, rootOf(context))
  if (failed !== undefined) return failed
  if (listed.truncated) return errorEnvelope('The diff names too many files. Give a path to look at fewer.')
  const hidden = await unreadable(namesIn(listed.output), context)
  if (hidden.length > maxHidden)
    return errorEnvelope(
      `The diff has ${hidden.length} files that may not be read, among them ${pathText(hidden[0] ?? '')}. Give a path to look at others.`,
    )
  const outcome = await runGit(context, diffText(plan.diff, hidden), diffBytes)
  return failureOf(args, plan, outcome, rootOf(context)) ?? shownDiff(outcome, hidden)
}

const maxHidden = 100

function namesIn(output: string): string[] {
  return output.split('\0').flatMap((name) => {
    const path = name.replace(/^((warning|hint): .*\n)+/, '')
    return path === '' ? [] : [path]
  })
}

async function unreadable(names: readonly string[], { runtime }: ToolCallContext): Promise<string[]> {
  const hidden: string[] = []
  for (const name of names) if ((await runtime?.files?.whyNotRead?.(name)) !== undefined) hidden.push(name)
  return hidden
}

function shownDiff(
  { output, outputBytes, outputPath, truncated }: ShellOutcome,
  hidden: readonly string[],
): Envelope {
  const left =
    hidden.length === 0 ? '' : `Left out, since reading is refused: ${hidden.map(pathText).join(', ')}`
  if (output.trim() === '') return outputEnvelope(left === '' ? 'No changes.' : left)
  const text = left === '' ? output : `${output}${output.endsWith('\n') ? '' : '\n'}\n${left}\n`
  if (!truncated) return outputEnvelope(text)
  return outputEnvelope(
    { head: fittingHead(text, maxBytes - 1024), total: outputBytes },
    { truncated, ...(outputPath === undefined ? {} : { output_path: outputPath }) },
  )
}
