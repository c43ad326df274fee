import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { isHarmless } from '../../../src/workspace/git/safe-config.js'
import { detectSandbox } from '../../../src/workspace/sandbox/probe.js'
import { calls, makeWorkspace, openAgent, toolResults } from '../../contract/open-session.js'
import { factor } from '../../support/fault-factor.js'
import { sharedDirectory } from '../../support/temporary-directory.js'

const sandbox = await detectSandbox({ backend: 'bubblewrap' })
const prepared = sharedDirectory()

let base: string
let root: string
let userDir: string
/** Programs leave their traces here: a place that a program in the sandbox can write to, and that git ignores. */
let ran: string
beforeEach(async () => {
  const made = await makeWorkspace()
  base = realpathSync(made.base)
  root = realpathSync(made.root)
  userDir = made.userDir
  ran = join(root, 'ran')
  mkdirSync(ran)
  chmodSync(ran, 0o777)
  writeFileSync(join(base, 'lib.txt'), '')
})

const env = (): NodeJS.ProcessEnv => ({ PATH: process.env['PATH'], HOME: base, GIT_CONFIG_NOSYSTEM: '1' })
function git(directory: string, ...args: string[]): string {
  const own = ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.test', '-c', 'protocol.file.allow=always']
  return execFileSync('git', [...own, '-C', directory, ...args], {
    encoding: 'utf8',
    stdio: 'pipe',
    env: env(),
  })
}

/**
 * The workspace with a submodule, a nested repository in the index, and changes everywhere. Made once, and copied for
 * each test.
 */
function prepare(): void {
  if (!existsSync(join(prepared, 'work'))) makeRepositories(join(prepared, 'lib'), join(prepared, 'work'))
  cpSync(join(prepared, 'work'), root, { recursive: true, preserveTimestamps: true })
  append(join(root, '.git/info/exclude'), 'ran/\n')
}

function makeRepositories(lib: string, root: string): void {
  const attributes = '* filter=evil diff=evil merge=evil\n'
  for (const directory of [lib, root]) mkdirSync(directory)
  for (const name of ['a.txt', 'b.txt']) writeFileSync(join(root, name), `${name}\n`)
  git(lib, 'init', '-q', '-b', 'main')
  writeFileSync(join(lib, 'l.txt'), 'l\n')
  writeFileSync(join(lib, '.gitattributes'), attributes)
  git(lib, 'add', '.')
  git(lib, 'commit', '-q', '-m', 'lib')
  git(root, 'init', '-q', '-b', 'main')
  git(root, 'config', 'user.name', 'Ann')
  git(root, 'config', 'user.email', 'ann@example.test')
  git(root, 'submodule', 'add', '-q', lib, 'sub')
  // It overrides the setting for all submodules.
  git(root, 'config', '-f', '.gitmodules', 'submodule.sub.ignore', 'none')
  git(root, 'clone', '-q', lib, 'nested')
  git(root, '-c', 'advice.addEmbeddedRepo=false', 'add', '.')
  git(root, 'commit', '-q', '-m', 'first')
  git(root, 'branch', 'side')
  writeFileSync(join(root, '.gitattributes'), attributes)
  for (const path of ['a.txt', 'sub/l.txt', 'nested/l.txt'])
    writeFileSync(join(root, path), `changed ${path}\n`)
}

let documented: readonly string[] | undefined
function settings(): readonly string[] {
  documented ??= execFileSync('git', ['help', '-c'], { encoding: 'utf8' }).trim().split('\n')
  return documented
}

type Which = 'every setting' | 'programs'
type Setting = { readonly section: string; readonly subsection: string | undefined; readonly key: string }

/** Names of settings that take a program or a shell command. */
const takesProgram =
  /(?:command|cmd|program|helper|process|clean|smudge|driver|(?<!cache)textconv|hook|editor|pager|askpass|external|fsmonitor|proxy|tool|hookspath|browser)$/

/**
 * Settings that git documents and that are not known to be harmless, with a program in each that leaves a trace: all of
 * them, or those that take a program. With all of them git exits before it does anything unless something removes them
 * first, since most take no text.
 */
function evilConfig(where: string, which: Which): string {
  const documented = settings().flatMap((name) => {
    const { section, subsection, key } = settingOf(name.replaceAll(/<[^>]*>|\*/g, 'evil'))
    const entry = { section: section.toLowerCase(), subsection, key: key.toLowerCase(), value: 'x' }
    if (
      section === '' ||
      isHarmless(entry) ||
      ['include', 'includeif', 'extensions', 'url'].includes(entry.section) ||
      (entry.section === 'core' && entry.key === 'worktree') ||
      !/^[A-Za-z][A-Za-z0-9-]*$/.test(key) ||
      (which === 'programs' && !takesProgram.test(entry.key))
    )
      return []
    return [entry]
  })
  // Also what the product should count as harmless by mistake.
  const more = [
    'core.fsmonitor',
    'core.sshCommand',
    'diff.external',
    'gpg.program',
    'hook.evil.command',
    'filter.evil.clean',
    'filter.evil.smudge',
    'filter.evil.process',
    'merge.evil.driver',
    'diff.evil.command',
    'diff.evil.textconv',
    'gpg.ssh.defaultKeyCommand',
    'core.alternateRefsCommand',
    'uploadpack.packObjectsHook',
  ].map(settingOf)
  const text = [...documented, ...more]
    .map(({ section, subsection, key }) => {
      const program = join(ran, `${where}-${section}-${key}`)
      const named = subsection === undefined ? '' : ` "${subsection}"`
      // A program path where git takes one, and words for a shell elsewhere: both leave the same trace.
      return `[${section}${named}]\n\t${key} = "touch ${program};:"\n`
    })
    .join('')
  return `${text}[hook "evil"]\n\tevent = post-index-change\n\tevent = post-checkout\n[filter "evil"]\n\trequired = true\n`
}

function settingOf(name: string): Setting {
  const [, section = '', subsection, key = ''] = /^([^.]+)\.(?:(.+)\.)?([^.]+)$/.exec(name) ?? []
  return { section, subsection, key }
}

function plantHooks(gitDirectory: string, where: string): void {
  mkdirSync(join(gitDirectory, 'hooks'), { recursive: true })
  for (const name of [
    'post-checkout',
    'post-index-change',
    'pre-commit',
    'reference-transaction',
    'fsmonitor-watchman',
    'pre-auto-gc',
    'post-rewrite',
  ]) {
    const path = join(gitDirectory, 'hooks', name)
    writeFileSync(path, `#!/bin/sh\ntouch ${join(ran, `${where}-hook-${name}`)}\n`)
    chmodSync(path, 0o755)
  }
}

function append(file: string, text: string): void {
  writeFileSync(file, `${existsSync(file) ? readFileSync(file, 'utf8') : ''}${text}`)
}

const places: Readonly<Record<string, (which: Which) => void>> = {
  'the repository': (which) => append(join(root, '.git/config'), evilConfig('main', which)),
  'its worktree configuration': (which) => {
    git(root, 'config', 'extensions.worktreeConfig', 'true')
    append(join(root, '.git/config.worktree'), evilConfig('worktree', which))
  },
  'an included file': (which) => {
    writeFileSync(join(root, '.git/more'), evilConfig('included', which))
    // Without a sandbox a conditional one has git refused for other work trees (`guarded-git.test.ts`).
    const conditional = which === 'programs' ? '' : '[includeIf "gitdir:**"]\n\tpath = more\n'
    append(join(root, '.git/config'), `[include]\n\tpath = more\n${conditional}`)
  },
  'hooks and attributes': () => {
    plantHooks(join(root, '.git'), 'main')
    append(join(root, '.git/info/attributes'), '* filter=evil diff=evil\n')
  },
  'a submodule': (which) => {
    append(join(root, '.git/modules/sub/config'), evilConfig('submodule', which))
    plantHooks(join(root, '.git/modules/sub'), 'submodule')
  },
  'a nested repository': (which) => {
    append(join(root, 'nested/.git/config'), evilConfig('nested', which))
    plantHooks(join(root, 'nested/.git'), 'nested')
  },
}

const operations = [
  { command: 'status' },
  { command: 'log', path: 'a.txt' },
  { command: 'log', ref: 'side' },
  { command: 'diff' },
  { command: 'diff', target: 'HEAD' },
  { command: 'branch' },
  { command: 'branch', name: 'made' },
  { command: 'branch', subcommand: 'remove', name: 'made' },
  { command: 'stash', message: 'kept', include_untracked: true },
  { command: 'stash' },
  { command: 'checkout', ref: 'side' },
  { command: 'checkout', ref: 'main', force: true },
  { command: 'remote' },
  { command: 'worktree', subcommand: 'create', name: 'tree', path: 'tree' },
  { command: 'worktree' },
  { command: 'worktree', subcommand: 'remove', path: 'tree', force: true },
]

async function runAll(how: 'required' | 'off'): Promise<readonly string[]> {
  const { server, agent } = await openAgent(
    [...operations.map((args) => calls(['git', args])), 'done'],
    userDir,
  )
  const session = agent.session(root, { sandbox: how, mode: 'full', onAsk: () => ({ decision: 'once' }) })
  await session.send('x')
  const results = toolResults(server, operations.length)
  await session.close()
  return results
}

const all = Object.keys(places)
const own = all.slice(0, 4)
const each = factor > 1 ? all : []

describe('the git tool and the programs that a repository names', () => {
  // Without a sandbox git reads the configuration, and every program in it is switched off by name: no place keeps
  // another from being reached. A repository within the workspace is refused by the operations that would enter it.
  // `npm run faults` tries each place by itself too.
  it.each<readonly [string, readonly string[]]>([
    ['the repository itself', own],
    ['a submodule', ['a submodule']],
    ['a nested repository', ['a nested repository']],
    ...each.map((place) => [`${place} alone`, [place]] as const),
  ])('starts none of %s, without a sandbox', async (_, chosen) => {
    prepare()
    for (const place of chosen) places[place]?.('programs')
    const isOwn = chosen.every((place) => own.includes(place))
    const results = await runAll('off')
    expect(readdirSync(ran)).toEqual([])
    // Had git exited because of a setting, no program would have been reached.
    const entersOthers = /"(?:checkout|worktree)"|"stash","message"/
    for (const [at, result] of results.entries()) {
      const operation = JSON.stringify(operations[at])
      if (isOwn || !entersOthers.test(operation)) expect(result, operation).not.toMatch(/^Error:|fatal:/)
      else expect(result, operation).toContain('which could start a program in a nested repository')
    }
  })

  // In the sandbox git reads only what is harmless, so that all of it works: no place keeps another from being reached,
  // and one run tries them all. With every setting git would exit before it starts a program, with programs alone it
  // would start them.
  it
    .skipIf(sandbox.kind !== 'bubblewrap')
    .each<readonly [string, readonly string[], Which]>([
      ['them together', all, 'every setting'],
      ['them together, without other settings', all, 'programs'],
      ...each.map((place) => [place, [place], 'every setting'] as const),
    ])('starts none of %s, in a sandbox', async (_, chosen, which) => {
    prepare()
    for (const place of chosen) places[place]?.(which)
    const results = await runAll('required')
    expect(readdirSync(ran)).toEqual([])
    for (const [at, result] of results.entries())
      expect(result, JSON.stringify(operations[at])).not.toMatch(/failed: (?!Saved)|fatal:/)
  })

  it('is tested with programs that git does start by itself', async () => {
    prepare()
    for (const [where, directory] of [
      ['main', '.git'],
      ['submodule', '.git/modules/sub'],
      ['nested', 'nested/.git'],
    ] as const) {
      const program = `touch ${join(ran, where)};:`
      append(
        join(root, directory, 'config'),
        `[core]\n\tfsmonitor = "${program}"\n[filter "evil"]\n\tclean = "${program}"\n`,
      )
    }
    for (const args of [['status'], ['stash'], ['checkout', 'side']]) {
      try {
        git(root, ...args)
      } catch {
        // Programs that only leave a trace are bad filters.
      }
    }
    expect(readdirSync(ran).sort()).toEqual(['main', 'nested', 'submodule'])
  })
})
