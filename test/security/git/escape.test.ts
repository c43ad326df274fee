import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, expect, it, vi } from 'vitest'
import type { SessionOptions } from '../../../src/session/options.js'
import { openWorkspace } from '../../../src/workspace/open-workspace.js'
import {
  bash,
  calls,
  makeWorkspace,
  type Opened,
  openAgent,
  toolResults,
} from '../../contract/open-session.js'
import { describeWithBubblewrap } from '../sandbox/support/needs-bubblewrap.js'

// Many commands in one test, each in a sandbox of its own.
vi.setConfig({ testTimeout: 120_000 })

let root: string
let userDir: string
let base: string
beforeEach(async () => {
  const made = await makeWorkspace({ 'a.txt': 'a\n' })
  root = realpathSync(made.root)
  userDir = made.userDir
  base = made.base
})

/** The user's own git, in another terminal. */
function git(directory: string, ...args: string[]): string {
  const identity = ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.test']
  return execFileSync('git', [...identity, '-C', directory, ...args], {
    encoding: 'utf8',
    stdio: 'pipe',
    env: userEnvironment(),
  })
}

function userEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], HOME: base, GIT_CONFIG_NOSYSTEM: '1', GIT_ALLOW_PROTOCOL: 'file' }
}

/** One shell starts git: starting a process from a test costs more than git does. */
function repository(directory: string): void {
  mkdirSync(directory, { recursive: true })
  const git = 'git -c user.name=Ann -c user.email=ann@example.test'
  const script = `git init -q -b main && git add . && ${git} commit -q --allow-empty -m first`
  execFileSync('sh', ['-c', script], { cwd: directory, stdio: 'pipe', env: userEnvironment() })
}

const canary = (): string => join(base, 'PWN')
/** A configuration that makes git run a program on `git status`. */
const evilConfig = (trace = canary()): string =>
  `[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsmonitor = "touch '${trace}'; false"\n`

/** Those of the attacks whose program ran: each has a trace of its own, with its number. */
function canariesOf(attacks: readonly string[]): string[] {
  return attacks.filter((_, at) => existsSync(`${canary()}-${at}`))
}

/**
 * Looks around as a person or an editor does, everywhere that a repository could be: a directory without `.git` and
 * without `HEAD` belongs to the repository above it. One shell does it: starting git from here is slow.
 */
function userLooksAround(): void {
  const script = `find "$1" -type d -not -path '*/objects/*' | while IFS= read -r place; do
    [ "$place" = "$1" ] || [ -e "$place/.git" ] || [ -L "$place/.git" ] || [ -e "$place/HEAD" ] || [ -L "$place/HEAD" ] || continue
    for words in status 'add -A --dry-run' diff 'stash list' branch; do
      git -c user.name=Ann -c user.email=ann@example.test -C "$place" $words
    done
  done; true`
  // Many places are not a repository, or a broken one: what counts is what ran.
  execFileSync('sh', ['-c', script, 'sh', root], { stdio: 'ignore', env: userEnvironment() })
}

async function open(script: Parameters<typeof openAgent>[0], options: SessionOptions = {}): Promise<Opened> {
  const { server, agent } = await openAgent(script, userDir)
  const session = agent.session(root, {
    sandbox: 'required',
    mode: 'full',
    permissionPolicy: { allow: ['bash(*)'] },
    onAsk: () => ({ decision: 'once' }),
    ...options,
  })
  return { server, agent, session, root, userDir }
}

/** What the commands put out. One that was not run proves nothing about the sandbox. */
function ranResults(server: Opened['server'], count: number): string[] {
  const results = toolResults(server, count)
  expect(results.filter((result) => result.startsWith('Error:'))).toEqual([])
  return results
}

async function run(...commands: string[]): Promise<string[]> {
  const { server, session } = await open([...commands.map((command) => bash(command)), 'done'])
  await session.send('x')
  const results = ranResults(server, commands.length)
  await session.close()
  return results
}

describeWithBubblewrap('a sandboxed command that uses git to escape', () => {
  it('cannot write any part of the git directory of the workspace unless it is a git command alone', async () => {
    repository(root)
    const before = snapshot(join(root, '.git'))
    const parts = [
      'commondir',
      'config',
      'config.worktree',
      'hooks/pre-commit',
      'info/attributes',
      'modules/m/config',
      'worktrees/w/commondir',
      'objects/info/alternates',
      'rebase-merge/git-rebase-todo',
      'index',
      'HEAD',
      'refs/heads/evil',
      'packed-refs',
      'gitdir',
    ]
    const each = (attack: (part: string) => string): string => parts.map(attack).join('; ')
    await run(
      each((part) => `mkdir -p .git/${dirname(part)}; echo x > .git/${part}`),
      `node -e "for (const part of '${parts.join()}'.split(',')) try { require('fs').appendFileSync('.git/' + part, 'x') } catch {}"`,
      each((part) => `cp a.txt .git/${part}; ln -sf ../a.txt .git/${part}; mv a.txt .git/${part}`),
      'mv .git x; rm -rf .git; git config core.fsmonitor x; true',
    )
    expect(snapshot(join(root, '.git'))).toEqual(before)
  })

  it('cannot write commondir from the background, nor leave one when it is killed', async () => {
    repository(root)
    const evil = join(root, 'evil')
    const plant = `mkdir -p evil/objects evil/refs; printf '%s' '${evilConfig()}' > evil/config; while :; do echo ../evil > .git/commondir; sleep 0.05; done`
    const { server, session } = await open([
      calls(['bash', { command: plant, background: true }]),
      bash('sleep 1'),
      'done',
    ])
    await session.send('x')
    ranResults(server, 2)
    expect(existsSync(join(evil, 'config'))).toBe(true)
    expect(existsSync(join(root, '.git/commondir'))).toBe(false)
    git(root, 'status')
    await session.close()
    expect(existsSync(join(root, '.git/commondir'))).toBe(false)
    expect(existsSync(canary())).toBe(false)
  })

  it('cannot change an existing nested repository, at any depth and after any number of files', async () => {
    const places = ['sub', 'a/b/c/d/e/f/g/h/i', 'node_modules/pkg/deep', 'many/z']
    mkdirSync(join(root, 'many'))
    for (let at = 0; at < 10_000; at++) writeFileSync(join(root, 'many', `f${at}`), '')
    for (const place of places) repository(join(root, place))
    const before = places.map((place) => snapshot(join(root, place, '.git')))
    const each = (attack: (place: string, trace: string) => string): string =>
      places.map((place, at) => attack(place, `${canary()}-${at}`)).join('; ')
    const config = (trace: string): string => `printf '%s' '${evilConfig(trace)}'`
    await run(
      each(
        (place, trace) =>
          `${config(trace)} > ${place}/.git/config; ${config(trace)} > ${place}/.git/config.worktree; echo x > ${place}/.git/commondir`,
      ),
      each((place, trace) => `git -C ${place} config core.fsmonitor 'touch ${trace}'`),
      each(
        (place) =>
          `mv ${place}/.git ${place}/g; rm -rf ${place}/.git; cp a.txt ${place}/.git/hooks/post-checkout`,
      ),
    )
    expect(places.map((place) => snapshot(join(root, place, '.git')))).toEqual(before)
    userLooksAround()
    expect(canariesOf(places)).toEqual([])
  })

  it('cannot change a git directory in another place', async () => {
    /** Creates a repository in a directory, and returns where its git directory is. */
    const ways: Readonly<Record<string, (here: string) => string>> = {
      '--separate-git-dir in the workspace': (here) => {
        mkdirSync(join(here, 'data'))
        git(here, 'init', '-q', '--separate-git-dir', join(here, 'data/store'), join(here, 'w'))
        return 'data/store'
      },
      'a .git file that points into the workspace': (here) => {
        git(here, 'init', '-q', join(here, 'w'))
        renameSync(join(here, 'w/.git'), join(here, 'hidden'))
        writeFileSync(join(here, 'w/.git'), 'gitdir: ../hidden\n')
        return 'hidden'
      },
      'a .git link that points into the workspace': (here) => {
        git(here, 'init', '-q', join(here, 'w'))
        renameSync(join(here, 'w/.git'), join(here, 'hidden'))
        symlinkSync('../hidden', join(here, 'w/.git'))
        return 'hidden'
      },
      'a bare repository': (here) => {
        git(here, 'init', '-q', '--bare', join(here, 'w'))
        return 'w'
      },
    }
    const names = Object.keys(ways)
    const places = Object.values(ways).map((make, at) => {
      mkdirSync(join(root, `p${at}`))
      return make(join(root, `p${at}`))
    })
    const look = (): object =>
      Object.fromEntries(places.map((place, at) => [names[at], snapshot(join(root, `p${at}`, place))]))
    const before = look()
    const each = (attack: (place: string, trace: string) => string): string =>
      places.map((place, at) => `(cd p${at}; ${attack(place, `${canary()}-${at}`)})`).join('; ')
    await run(
      each(
        (place, trace) =>
          `printf '%s' '${evilConfig(trace)}' > ${place}/config; echo x > ${place}/commondir; echo x > ${place}/hooks/post-checkout; mv ${place} gone`,
      ),
      each(
        (_, trace) =>
          `rm -f w/.git; mkdir -p w/.git && printf '%s' '${evilConfig(trace)}' > w/.git/config && mkdir -p w/.git/objects w/.git/refs && echo 'ref: refs/heads/main' > w/.git/HEAD`,
      ),
    )
    expect(look()).toEqual(before)
    userLooksAround()
    expect(canariesOf(names)).toEqual([])
  })

  const plants: readonly (readonly [string, (canary: string) => string])[] = [
    [
      'git init and git config',
      (canary) => `git init -q sub && git -C sub config core.fsmonitor "touch ${canary}"; true`,
    ],
    [
      'a script',
      (canary) =>
        `mkdir -p sub/.git/objects sub/.git/refs && echo 'ref: refs/heads/main' > sub/.git/HEAD && printf '%s' '${evilConfig(canary)}' > sub/.git/config`,
    ],
    [
      'a bare layout',
      (canary) =>
        `mkdir -p sub/objects sub/refs && echo 'ref: refs/heads/main' > sub/HEAD && printf '%s' '${evilConfig(canary)}' > sub/config`,
    ],
    [
      'a bare layout with a commondir',
      (canary) =>
        `mkdir -p sub x/objects x/refs && echo 'ref: refs/heads/main' > sub/HEAD && echo ../x > sub/commondir && printf '%s' '${evilConfig(canary)}' > x/config`,
    ],
    [
      'a .git file and a directory',
      (canary) =>
        `mkdir -p sub d/objects d/refs && echo 'gitdir: ../d' > sub/.git && echo 'ref: refs/heads/main' > d/HEAD && printf '%s' '${evilConfig(canary)}' > d/config`,
    ],
    [
      'a .git link',
      (canary) =>
        `mkdir -p sub d/objects d/refs && ln -s ../d sub/.git && echo 'ref: refs/heads/main' > d/HEAD && printf '%s' '${evilConfig(canary)}' > d/config`,
    ],
    [
      'a hook',
      (canary) =>
        `git init -q sub; printf '#!/bin/sh\\ntouch ${canary}\\n' > sub/.git/hooks/post-index-change; chmod +x sub/.git/hooks/post-index-change; true`,
    ],
    [
      'an included file',
      (canary) =>
        `git init -q sub; printf '%s' '${evilConfig(canary)}' > sub/more; printf '[include]\\n\\tpath = ../more\\n' >> sub/.git/config; true`,
    ],
    [
      'a setting on the line of its section',
      (canary) =>
        `git init -q sub; printf '[core] fsmonitor = touch ${canary}; false\\n' >> sub/.git/config; true`,
    ],
    [
      'a continued line',
      (canary) =>
        `git init -q sub; printf '[core]\\n\\tabbrev = 7 \\\\\\n\\n\\tfsmonitor = touch ${canary}\\n' >> sub/.git/config; true`,
    ],
    [
      'node_modules',
      (canary) =>
        `mkdir -p node_modules/x && git init -q node_modules/x && git -C node_modules/x config core.fsmonitor "touch ${canary}"; true`,
    ],
    [
      'a directory that cannot be listed',
      (canary) =>
        `mkdir -p d/e && git init -q d/e && git -C d/e config core.fsmonitor "touch ${canary}"; chmod 311 d; true`,
    ],
    [
      'a moved repository',
      (canary) =>
        `git init -q tmp && git -C tmp config core.fsmonitor "touch ${canary}" && mkdir deep && mv tmp deep/er; true`,
    ],
    [
      'a linked .git directory part',
      (canary) =>
        `git init -q sub && printf '%s' '${evilConfig(canary)}' > c && rm sub/.git/config && ln -s ../../c sub/.git/config; true`,
    ],
  ]
  it('leaves no new repository that runs a program, however it is created', async () => {
    repository(root)
    // Each in a directory of its own, with a trace of its own.
    await run(
      ...plants.map(([, plant], at) => `mkdir p${at} && cd p${at} && { ${plant(`${canary()}-${at}`)}; }`),
    )
    userLooksAround()
    expect(canariesOf(plants.map(([name]) => name))).toEqual([])
    for (const at of plants.keys()) expect(existsSync(join(root, `p${at}`)), plants[at]?.[0]).toBe(true)
  })

  it('is tested with what does run a program: repositories at any depth', () => {
    const places = ['sub', 'a/b/c/d/e/f/g/h/i', 'node_modules/pkg/deep']
    for (const [at, place] of places.entries()) {
      repository(join(root, place))
      writeFileSync(join(root, place, '.git/config'), evilConfig(`${canary()}-${at}`))
    }
    userLooksAround()
    expect(canariesOf(places)).toEqual(places)
  })

  it('gets a report of what was refused, and the files stay under another name', async () => {
    const [result] = await run(
      `git init -q sub && git -C sub config core.fsmonitor "touch ${canary()}"; true`,
    )
    expect(result).toContain('its configuration sets core.fsmonitor')
    expect(readdirSync(join(root, 'sub'))).toEqual(['.git.refused'])
  })

  it('has such a repository renamed while the background command that created it still runs', async () => {
    // Without a `.git`: nothing in its names says that it is a repository before it is complete.
    const plant = `mkdir -p sub/objects sub/refs; printf '%s' '${evilConfig()}' > sub/config; echo 'ref: refs/heads/main' > sub/HEAD; sleep 600`
    const { session } = await open([calls(['bash', { command: plant, background: true }]), 'done'])
    await session.send('x')
    await until(() => existsSync(join(root, 'sub/HEAD.refused')))
    userLooksAround()
    expect(existsSync(canary())).toBe(false)
  })

  it('of a killed host has its leftovers found before the next command', async () => {
    repository(join(root, 'mine'))
    writeFileSync(join(root, 'mine/.git/config'), evilConfig().replace('PWN', 'OWN'))
    const ledgerDir = join(base, 'ledger')
    const options = { root, sandbox: 'required', scratchDir: join(base, 'scratch'), ledgerDir } as const
    const first = openWorkspace(options)
    const job = await first.shell.start('sleep 600')
    // What this host would leave if it were killed now: its notes, under the number of a process that is gone.
    const name = readdirSync(ledgerDir).find((file) => file.endsWith('.repositories')) ?? ''
    const notes = JSON.parse(readFileSync(join(ledgerDir, name), 'utf8')) as object
    await first.shell.killJob(job.id)
    await first.close()
    expect(readdirSync(ledgerDir).filter((file) => file.endsWith('.repositories'))).toEqual([])
    const left = JSON.stringify({ ...notes, pid: 2 ** 22 + 1 })
    writeFileSync(join(ledgerDir, name.replace(/-[0-9]+\./, '-4194305.')), left)
    git(root, 'init', '-q', 'planted')
    writeFileSync(join(root, 'planted/.git/config'), evilConfig())
    const next = openWorkspace(options)
    await next.shell.run('true')
    await next.close()
    expect(readdirSync(join(root, 'planted'))).toEqual(['.git.refused'])
    expect(existsSync(join(root, 'mine/.git/config'))).toBe(true)
    expect(readdirSync(ledgerDir).filter((file) => file.endsWith('.repositories'))).toEqual([])
  })

  it('cannot create a repository where the index expects one: empty, missing or filled', async () => {
    repository(join(base, 'lib'))
    repository(root)
    const states = ['empty', 'missing', 'filled']
    for (const state of states)
      git(
        root,
        ...['-c', 'protocol.file.allow=always', 'submodule', 'add', '-q', join(base, 'lib'), `${state}/sub`],
      )
    git(root, 'commit', '-q', '-m', 'submodules')
    git(root, 'submodule', 'deinit', '-f', 'empty/sub', 'missing/sub')
    for (const state of ['empty', 'missing']) rmSync(join(root, '.git/modules', state), { recursive: true })
    rmSync(join(root, 'missing'), { recursive: true })
    const { server, session } = await open([
      bash(
        states
          .map(
            (state, at) =>
              `mv ${state} gone${at}; mv ${state}/sub gone${at}; rm -rf ${state}; mkdir -p ${state}/sub/.git/objects ${state}/sub/.git/refs; cp -r gone${at}/sub/. ${state}/sub 2>/dev/null; echo 'ref: refs/heads/main' > ${state}/sub/.git/HEAD; printf '%s' '${evilConfig(`${canary()}-${at}`)}' > ${state}/sub/.git/config`,
          )
          .join('; ')
          .concat('; sleep 1; true'),
      ),
      'done',
    ])
    // One shell looks again and again. A repository half made is an error, not a program.
    const looks = 'for look in $(seq 20); do git -C "$1" status; sleep 0.05; done; true'
    const looking = spawn('sh', ['-c', looks, 'sh', root], { stdio: 'ignore', env: userEnvironment() })
    await Promise.all([session.send('x'), once(looking, 'exit')])
    ranResults(server, 1)
    userLooksAround()
    expect(canariesOf(states)).toEqual([])
  })

  it('cannot change hooks and configuration that the repository has in the workspace', async () => {
    repository(root)
    mkdirSync(join(root, '.githooks'))
    writeFileSync(join(root, 'shared.config'), '')
    git(root, 'config', 'core.hooksPath', '.githooks')
    git(root, 'config', 'include.path', '../shared.config')
    await run(
      `printf '#!/bin/sh\\ntouch ${canary()}\\n' > .githooks/pre-commit; chmod +x .githooks/pre-commit; printf '%s' '${evilConfig()}' > shared.config; mv .githooks x; true`,
    )
    expect(readdirSync(join(root, '.githooks'))).toEqual([])
    expect(readFileSync(join(root, 'shared.config'), 'utf8')).toBe('')
  })

  it('cannot change the configuration under another name', async () => {
    await run(
      'git init -q sub',
      'ln sub/.git/config notes.txt',
      `printf '%s' '${evilConfig()}' > notes.txt; true`,
    )
    await run(`git init -q other && ln other/.git/config more.txt; true`)
    await run(`printf '%s' '${evilConfig()}' > more.txt; true`)
    userLooksAround()
    expect(existsSync(canary())).toBe(false)
  })
})

describeWithBubblewrap('git commands that need to write', () => {
  const rules = (...allow: string[]): SessionOptions => ({
    mode: undefined as never,
    permissionPolicy: { allow },
    onAsk: undefined as never,
  })

  it('work when a rule allows them, on a line with only git commands', async () => {
    repository(root)
    git(root, 'config', 'user.name', 'Ann')
    git(root, 'config', 'user.email', 'ann@example.test')
    const { server, session } = await open(
      [
        calls(['write', { file_path: 'b.txt', content: 'b\n' }]),
        bash('git add -A && git commit -q -m "second commit" && git log --oneline'),
        bash('git checkout -q -b side && git stash list && git tag v1 && git branch'),
        bash('git init -q made && git clone -q . copy && ls -d made/.git copy/.git'),
        bash('git push origin main'),
        'done',
      ],
      rules(
        'write',
        ...['add', 'commit', 'log', 'checkout', 'stash', 'tag', 'branch', 'init', 'clone'].map(
          (name) => `bash(git ${name} *)`,
        ),
        'bash(git branch)',
        'bash(ls *)',
      ),
    )
    await session.send('x')
    const [, committed, switched, made, pushed] = toolResults(server, 5)
    expect(committed).toContain('second commit')
    expect(switched).toContain('* side')
    expect(made).toContain('copy/.git')
    expect(pushed).toMatch(/not allowed|refused|asked|no rule/i)
    expect(git(root, 'log', '--format=%s', '-1')).toBe('second commit\n')
  })

  it('cannot change configuration, hooks and pointers, whatever a hook of the repository does', async () => {
    repository(root)
    git(root, 'config', 'user.name', 'Ann')
    git(root, 'config', 'user.email', 'ann@example.test')
    const parts =
      'commondir config config.worktree hooks/x info/attributes modules/x worktrees/x objects/info/alternates'
    writeFileSync(
      join(root, '.git/hooks/pre-commit'),
      `#!/bin/sh\nfor f in ${parts}; do (echo x > .git/$f) 2>/dev/null && echo "wrote $f"; [ -e .git/$f ] && rm -rf .git/$f 2>/dev/null && echo "removed $f"; mv a.txt .git/$f 2>/dev/null && echo "moved $f"; done; mv .git x 2>/dev/null && echo moved; git init -q evil; git -C evil config core.fsmonitor 'touch ${canary()}'; echo hook ran\n`,
    )
    chmodSync(join(root, '.git/hooks/pre-commit'), 0o755)
    const config = readFileSync(join(root, '.git/config'), 'utf8')
    const [result] = await run('git commit --allow-empty -m second')
    expect(result).toContain('hook ran')
    expect(result).not.toMatch(/^(?:wrote|removed|moved)/m)
    expect(readFileSync(join(root, '.git/config'), 'utf8')).toBe(config)
    for (const name of ['commondir', 'config.worktree', 'modules', 'worktrees', 'objects/info/alternates'])
      expect(existsSync(join(root, '.git', name))).toBe(false)
    expect(git(root, 'log', '--format=%s', '-1')).toBe('second\n')
    expect(existsSync(join(root, 'evil/.git'))).toBe(false)
  })

  it('write nothing next to other commands, in the background, with their own settings, or through an alias', async () => {
    repository(root)
    const before = snapshot(join(root, '.git'))
    const [mixed] = await run(
      'git commit --allow-empty -m x && node -e 1',
      'bash -c "git commit --allow-empty -m x"; sh -c true',
      `git -c alias.x='!touch .git/evil' x; true`,
      `git -c core.editor='touch .git/evil' commit --allow-empty; true`,
      'GIT_INDEX_FILE=.git/evil git add a.txt; true',
      'git --git-dir=.git add a.txt; true',
      'git log > .git/evil; true',
      'git diff --output=.git/evil; true',
    )
    const { session } = await open([
      calls(['bash', { command: 'git commit --allow-empty -m x', background: true }]),
      bash('sleep 1'),
      'done',
    ])
    await session.send('x')
    await session.close()
    expect(snapshot(join(root, '.git'))).toEqual(before)
    expect(mixed).toContain('Run the git commands alone on a line')
  })
})

function snapshot(directory: string): Record<string, string> {
  const found: Record<string, string> = {}
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    found[path] = entry.isFile() ? readFileSync(path, 'latin1') : 'directory'
  }
  return found
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 50))
}
