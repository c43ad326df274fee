import { quoteArgv } from '../../authority/quote-argv.js'
import type { ToolCallContext } from '../../tool/contract.js'
import { builtInTool } from '../../tool/create-json-tool.js'
import { type Envelope, errorEnvelope, outputEnvelope } from '../../tool/envelope.js'
import { CapstanError } from '../../tool/errors.js'
import { objectSchema } from '../../tool/object-schema.js'
import type { ShellOutcome } from '../../tool/runtime.js'
import { withoutCredentials } from '../git/without-credentials.js'
import { pathText } from '../path-text.js'
import { requireService } from '../require-service.js'

export type RepoCloneArgs = { url: string; path?: string; branch?: string; depth?: number }

const timeoutMs = 300_000
const maxUrl = 2_000

/**
 * Clones a repository over HTTP(S) into a new directory of the workspace. Git starts no hook, filter, helper or other
 * transport, and sends no credentials. The guarded network first checks that there is a repository, so that private
 * addresses, redirects to other hosts and hosts that a rule denies are refused before git runs.
 */
export const repoCloneTool = builtInTool<RepoCloneArgs>({
  name: 'repo_clone',
  description:
    'Clone a public git repository (http or https) into a new directory of the workspace: the latest commit of one branch, without submodules.',
  kind: 'execute',
  requires: {
    net: { hosts: ['*'] },
    shell: [{ cmd: 'git' }],
    fs: { read: ['{workspace}/**'], write: ['{workspace}/**'] },
  },
  parameters: objectSchema({
    url: { type: 'string', minLength: 1, maxLength: maxUrl },
    'path?': { type: 'string', description: 'The new directory; default: the name of the repository' },
    'branch?': { type: 'string', minLength: 1, maxLength: 200, description: 'Or a tag' },
    'depth?': { type: 'integer', minimum: 1, maximum: 1_000, description: 'Commits; default 1' },
  }),
  touches(args) {
    const { host, command, target } = planOf(args)
    return [{ net: host }, { shell: { text: command } }, { fs: 'write', path: target }]
  },
  async execute(args, context) {
    const plan = planOf(args)
    await refuseExisting(context, plan.target)
    await lookFirst(context, plan.url)
    const outcome = await requireService(context, 'shell').run(plan.command, {
      timeoutMs,
      guardGit: 'clone',
      maxBytes: 64 * 1024,
      signal: context.signal,
    })
    return described(plan, outcome)
  },
})

type Plan = { readonly url: string; readonly host: string; readonly target: string; readonly command: string }

function planOf({ url: written, path, branch, depth = 1 }: RepoCloneArgs): Plan {
  const url = checkedUrl(written)
  const target = checkedTarget(path ?? nameIn(url))
  if (branch !== undefined && !/^[\w][\w./+@-]*$/.test(branch))
    throw new CapstanError(
      'repo_clone_arguments',
      `${JSON.stringify(branch)} is not the name of a branch or tag.`,
    )
  const command = quoteArgv([
    ...['git', 'clone', '--quiet', '--depth', String(depth), '--single-branch', '--no-tags'],
    ...(branch === undefined ? [] : ['--branch', branch]),
    ...['--', url.href, target],
  ])
  return { url: url.href, host: url.port === '' ? url.hostname : url.host, target, command }
}

/** Transports other than HTTP start programs (`ext::`, `ssh`) or read files of the machine (`file:`, a path). */
function checkedUrl(written: string): URL {
  const url = URL.canParse(written) ? new URL(written) : undefined
  if (url === undefined || (url.protocol !== 'https:' && url.protocol !== 'http:') || written.includes('::'))
    throw refused(written, 'is not an http or https address of a repository')
  if (url.username !== '' || url.password !== '')
    throw refused(url.host, 'comes with a user name or password, which are not sent')
  if (url.search !== '' || url.hash !== '') throw refused(written, 'has a query or a fragment')
  if (/[\s\p{Cc}'"\\`$]/u.test(url.href))
    throw refused(written, 'has characters that no repository address needs')
  return url
}

function refused(what: string, why: string): CapstanError {
  return new CapstanError(
    'repo_clone_arguments',
    `${JSON.stringify(what.slice(0, 200))} ${why}. Give an address such as https://example.com/owner/project.git.`,
  )
}

function nameIn({ pathname }: URL): string {
  return (pathname.replace(/\/+$/, '').split('/').at(-1) ?? '').replace(/\.git$/, '')
}

function checkedTarget(path: string): string {
  const names = path.split('/')
  if (
    path === '' ||
    path.startsWith('-') ||
    names.some((name) => /^(?:|\.|\.\.|\.git)$/i.test(name)) ||
    /\p{Cc}/u.test(path)
  )
    throw new CapstanError(
      'repo_clone_arguments',
      `${JSON.stringify(path.slice(0, 200))} cannot be the new directory. Give a path inside the workspace, such as vendor/project.`,
    )
  return path
}

async function refuseExisting(context: ToolCallContext, target: string): Promise<void> {
  const found = await requireService(context, 'files')
    .stat(target)
    .catch((thrown: unknown) => {
      if (thrown instanceof CapstanError && thrown.code === 'file_not_found') return undefined
      throw thrown
    })
  if (found !== undefined)
    throw new CapstanError('file_exists', `${pathText(target)} exists already. Give another path.`)
}

/** Sends git's first request through the guarded network, before git runs. */
async function lookFirst(context: ToolCallContext, url: string): Promise<void> {
  const asked = `${url.replace(/\/+$/, '')}/info/refs?service=git-upload-pack`
  const {
    status,
    url: answered,
    headers,
  } = await requireService(context, 'net').fetch(asked, {
    timeoutMs: 30_000,
    maxBytes: 256 * 1024,
    signal: context.signal,
  })
  if (answered !== asked)
    throw new CapstanError(
      'repo_clone_moved',
      `The repository has moved: clone ${JSON.stringify(answered.replace(/\/info\/refs\?.*$/, '').slice(0, maxUrl))} instead.`,
    )
  if (status === 401 || status === 403 || status === 404)
    throw new CapstanError(
      'repo_clone_failed',
      `There is no public repository at ${url} (HTTP ${status}). Only repositories that need no credentials can be cloned.`,
    )
  if (status !== 200 || !/^application\/x-git-upload-pack-advertisement/i.test(headers['content-type'] ?? ''))
    throw new CapstanError(
      'repo_clone_failed',
      `${url} is not a git repository that can be cloned (HTTP ${status}).`,
    )
}

function described({ url, target }: Plan, outcome: ShellOutcome): Envelope {
  const { exitCode, output, sandbox } = outcome
  if (exitCode === 0) return outputEnvelope(`Cloned ${url} into ${pathText(target)}.`, { path: target, url })
  if (outcome.timedOut) return errorEnvelope(`The clone did not finish within ${timeoutMs} ms.`)
  if (outcome.aborted) return errorEnvelope('The clone was stopped: the run was aborted.')
  const said = withoutCredentials(output.trim().slice(-4_000))
  const hint =
    sandbox !== 'none' && /resolve host|connect|proxy|CONNECT/i.test(output)
      ? '\nCommands in the sandbox reach only the hosts of the session option network.allowHosts.'
      : ''
  return errorEnvelope(`git clone failed: ${said === '' ? `exit code ${exitCode}` : said}${hint}`, {
    exit_code: exitCode ?? 1,
  })
}
