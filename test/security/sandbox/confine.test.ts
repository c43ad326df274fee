import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createScratch, type Scratch } from '../../../src/workspace/scratch/index.js'
import type { CallConfinement } from '../../../src/workspace/shell/confinement.js'
import {
  createLocalShell,
  type LocalShell,
  type LocalShellOptions,
} from '../../../src/workspace/shell/local-shell.js'
import { temporaryDirectory } from '../../support/temporary-directory.js'
import { workerLedger } from '../../support/worker-ledger.js'
import { describeWithBubblewrap } from './support/needs-bubblewrap.js'

let place: string
let root: string
let open: { close(): Promise<void> }[]

beforeEach(() => {
  place = temporaryDirectory()
  root = join(place, 'work')
  mkdirSync(root)
  open = []
})
afterEach(async () => {
  await Promise.all(open.map((each) => each.close()))
})

function shellWith(options: Partial<LocalShellOptions> = {}): LocalShell {
  const shell = createLocalShell({ root, ledgerDir: workerLedger, sandbox: 'required', ...options })
  open.push(shell)
  return shell
}

async function said(command: string, confine: CallConfinement, shell = shellWith()): Promise<string> {
  return (await shell.run(command, { confine })).output
}

describeWithBubblewrap('the confinement of one call: hidden paths', () => {
  beforeEach(() => {
    mkdirSync(join(root, 'private/inner'), { recursive: true })
    writeFileSync(join(root, '.env'), 'SECRET=1\n')
    writeFileSync(join(root, 'private/inner/key'), 'SECRET=2\n')
    writeFileSync(join(root, 'open.txt'), 'plain\n')
  })

  it('SEC-110 a file and a directory that a rule denies are not read by any command', async () => {
    const shell = shellWith()
    expect(await said('grep -rh SECRET . | sort', {}, shell)).toBe('SECRET=1\nSECRET=2\n')
    const masked = [join(root, '.env'), join(root, 'private'), join(root, 'private/inner/key')]
    const command = `grep -rh SECRET . ; cat .env private/inner/key 2>/dev/null; find private; cat open.txt
      (echo x > .env) 2>/dev/null; (echo x > private/new) 2>/dev/null && echo wrote; mv .env moved 2>/dev/null && echo moved
      ln .env linked 2>/dev/null && cat linked; umount .env 2>/dev/null && echo lifted; true`
    expect(await said(command, { masked }, shell)).toBe('grep: ./.env: Permission denied\nprivate\nplain\n')
    expect(readFileSync(join(root, '.env'), 'utf8')).toBe('SECRET=1\n')
    expect(readdirSync(join(root, 'private'))).toEqual(['inner'])
    const result = await shell.run('echo x > .env', { confine: { masked } })
    expect(result.blocked).toEqual([expect.stringContaining('refused')])
    // Held to one call, not to the shell.
    expect(await said('cat .env', {}, shell)).toBe('SECRET=1\n')
  })

  it('SEC-110 also in the background, through a link, and outside the workspace', async () => {
    const shell = shellWith()
    const masked = [join(root, '.env')]
    const job = await shell.start('cat .env; echo done', { confine: { masked } })
    while (shell.jobs().some(({ running }) => running))
      await new Promise((resolve) => setTimeout(resolve, 20))
    expect((await shell.readJob(job.id)).text).toBe('cat: .env: Permission denied\ndone\n')
    symlinkSync('.env', join(root, 'link'))
    expect(await said('cat .env link 2>/dev/null', { masked: [join(root, 'link')] }, shell)).toBe('')
    expect(await said('cat /etc/hostname 2>/dev/null', { masked: ['/etc/hostname'] }, shell)).toBe('')
  })

  it('paths that do not exist, or are not visible anyway, need no hiding', async () => {
    const masked = [join(root, 'missing'), join(place, 'ledger'), '/proc/1/environ']
    expect(await said('cat open.txt', { masked })).toBe('plain\n')
  })
})

describeWithBubblewrap('the confinement of one call: writing', () => {
  beforeEach(() => {
    for (const name of ['out/deep', 'src']) mkdirSync(join(root, name), { recursive: true })
  })

  it('SEC-121 only the granted directories are writable', async () => {
    const confine = { writable: [join(root, 'out'), join(root, 'missing')] }
    const outcome = await shellWith().run(
      `echo x > out/deep/x && echo ok; for f in x src/x out/../x "${root}/src/../y"; do (echo x > $f) 2>/dev/null && echo "wrote $f"; done
       mkdir missing 2>/dev/null && echo made; mv src moved 2>/dev/null && echo moved; touch /tmp/x && echo tmp; echo x > src/x`,
      { confine },
    )
    expect(outcome).toMatchObject({ output: expect.stringMatching(/^ok\ntmp\n.*Read-only file system\n$/) })
    expect(outcome.blocked).toEqual([expect.stringContaining('refused')])
    expect(readdirSync(root)).toEqual(['out', 'src'])
    expect(readdirSync(join(root, 'src'))).toEqual([])
  })

  it('SEC-121 without a grant nothing is writable; with the root granted, everything except protected files is', async () => {
    const shell = shellWith()
    expect(await said('(echo x > x) 2>/dev/null || echo refused', { writable: [] }, shell)).toBe('refused\n')
    const command = '(mkdir .vscode/x .husky/x) 2>/dev/null || echo held; echo x > src/x && echo ok'
    expect(await said(command, { writable: [root] }, shell)).toBe('held\nok\n')
  })

  it('SEC-121 a grant never extends outside the workspace, nor does a link put in its place', async () => {
    mkdirSync(join(place, 'outside'))
    symlinkSync('../outside', join(root, 'link'))
    const writable = [
      join(place, 'outside'),
      join(root, 'link'),
      '/etc',
      root.replace(/work$/, 'work/../outside'),
    ]
    const command = `for f in "${place}/outside/x" link/x /etc/capstan-x; do (echo x > $f) 2>/dev/null && echo "wrote $f"; done; echo done`
    expect(await said(command, { writable })).toBe('done\n')
    expect(readdirSync(join(place, 'outside'))).toEqual([])
  })

  it('SEC-128 a repository is writable only with its directory', async () => {
    makeRepository(root)
    const shell = shellWith()
    const commit = 'git commit -q --allow-empty -m second 2>/dev/null; git log --oneline | wc -l'
    expect(await said(commit, { writable: [join(root, 'out')] }, shell)).toBe('1\n')
    expect(
      await said(`(echo x > .git/x) 2>/dev/null && echo wrote; ${commit}`, { writable: [] }, shell),
    ).toBe('1\n')
    expect(await said(commit, { writable: [join(root, '.git')] }, shell)).toBe('2\n')
    expect(
      await said(
        '(echo x > .git/hooks/x) 2>/dev/null || echo held',
        { writable: [join(root, '.git/hooks')] },
        shell,
      ),
    ).toBe('held\n')
  })

  it('SEC-128 the repository of a linked worktree is writable only with the worktree', async () => {
    const main = join(place, 'main')
    mkdirSync(main)
    makeRepository(main)
    rmSync(root, { recursive: true })
    execFileSync('git', ['-C', main, 'worktree', 'add', '-q', root, '-b', 'side'], { stdio: 'pipe' })
    mkdirSync(join(root, 'out'))
    const shell = shellWith()
    const commit = 'git commit -q --allow-empty -m second 2>/dev/null; git log --oneline | wc -l'
    expect(await said(commit, { writable: [join(root, 'out')] }, shell)).toBe('1\n')
    expect(await said(commit, {}, shell)).toBe('2\n')
  })
})

describeWithBubblewrap('the confinement of one call: hosts', () => {
  let target: Server
  let port: number
  beforeEach(async () => {
    target = createServer((_incoming, answer) => answer.end('hello'))
    await new Promise<void>((resolve) => target.listen(0, '127.0.0.1', resolve))
    port = (target.address() as AddressInfo).port
  })
  afterEach(() => target.close())

  const connect = (host: string): string =>
    `exec 3<>"/dev/tcp/127.0.0.1/\${HTTPS_PROXY##*:}"; printf 'CONNECT ${host} HTTP/1.1\\r\\n\\r\\n' >&3; read -r _ status _ <&3; echo "$status"; exec 3>&-;`

  it('SEC-124 a call can connect to what was granted to it and the shell allows, and to nothing else', async () => {
    const allowHosts = [`one.test:${port}`, `two.test:${port}`, `*.below.test:${port}`]
    const network = { allowHosts, checkHost: async () => ({ address: '127.0.0.1' }) }
    const shell = shellWith({ sandboxOptions: { network } })
    const all = ['one', 'two', 'a.below', 'evil'].map((name) => connect(`${name}.test:${port}`)).join('\n')
    const reached = async (hosts: readonly string[] | undefined): Promise<string> =>
      (await said(all, { hosts }, shell)).replaceAll('\n', ' ')
    expect(await reached(undefined)).toBe('200 200 200 403 ')
    expect(await reached([`one.test:${port}`])).toBe('200 403 403 403 ')
    expect(await reached(['two.test', 'evil.test', 'a.below.test'])).toBe('403 200 200 403 ')
    expect(await reached(['*'])).toBe('200 200 200 403 ')
    expect(await reached([`*:${port + 1}`, `*.test:${port}`])).toBe('200 200 200 403 ')
    const { blocked } = await shell.run(connect(`two.test:${port}`), { confine: { hosts: ['one.test'] } })
    expect(blocked).toEqual([`The network refused two.test:${port}: it was not granted to this command.`])
    await expect(shell.run('true', { confine: { hosts: ['*evil'] } })).rejects.toMatchObject({
      code: 'host_pattern_malformed',
    })
  })

  it('SEC-124 without a granted host there is no proxy and no network, even if the shell has one', async () => {
    const network = { allowHosts: ['one.test'], checkHost: async () => ({ address: '127.0.0.1' }) }
    const shell = shellWith({ sandboxOptions: { network } })
    const command = `printenv HTTPS_PROXY; ls /run/capstan; [ "$(grep -c : /proc/net/dev)" -le 1 ] && echo none`
    expect(await said(command, { hosts: [] }, shell)).toBe('guard\nhome\nnone\n')
  })
})

describeWithBubblewrap('scratch directories in the sandbox', () => {
  function session(
    baseDir: string,
    options: Partial<LocalShellOptions> = {},
  ): { shell: LocalShell; scratch: Scratch } {
    const scratch = createScratch({ baseDir })
    const shell = shellWith({
      ...options,
      sandboxOptions: { ...options.sandboxOptions, scratch: () => scratch.path, scratchBase: baseDir },
    })
    open.push(scratch)
    return { shell, scratch }
  }

  // In /tmp, which a sandbox has of its own; outside it; inside the workspace; inside something else that is writable.
  const bases = {
    'below /tmp': () => ({ base: join(place, 'scratch') }),
    'outside /tmp': () => ({ base: join(elsewhere, 'scratch') }),
    'inside the workspace': () => ({ base: join(root, '.scratch') }),
    'inside a further root': () => ({
      base: join(elsewhere, 'more/scratch'),
      roots: [join(elsewhere, 'more')],
    }),
  }
  let elsewhere: string
  beforeEach(() => {
    elsewhere = temporaryDirectory('/opt')
    mkdirSync(join(elsewhere, 'more'))
  })

  for (const [where, given] of Object.entries(bases)) {
    it(`SEC-030 ${where}: its own one is readable and writable, others are not visible`, async () => {
      const { base, ...options } = given()
      const mine = session(base, options)
      // Before there is any: its place is hidden from the first command on.
      const early = await mine.shell.start(
        `while [ ! -e "${root}/go" ]; do sleep 0.02; done; find "${base}" -type f 2>/dev/null`,
      )
      const other = session(base, options)
      const theirs = await other.scratch.write('output', 'SECRET')
      const own = await mine.scratch.write('output', 'mine')
      const { output } = await mine.shell.run(
        `cat "${theirs}" 2>/dev/null; ls "${base}"; cat "${own}"; echo; echo new > "${dirname(own)}/new"
         (echo x > "${base}/x") 2>/dev/null; grep -rs SECRET "${base}" "${root}"; echo done`,
      )
      expect(output).toBe(`${dirname(own).split('/').at(-1)}\nmine\ndone\n`)
      expect(readFileSync(join(dirname(own), 'new'), 'utf8')).toBe('new\n')
      expect(existsSync(join(base, 'x'))).toBe(false)
      writeFileSync(join(root, 'go'), '')
      while (mine.shell.jobs().some(({ running }) => running))
        await new Promise((resolve) => setTimeout(resolve, 20))
      expect((await mine.shell.readJob(early.id)).text).toBe('')
    })
  }

  it('a command cannot redirect the mounts of the next one through /tmp', async () => {
    const { shell, scratch } = session(join(place, 'scratch'))
    const way = place.split('/').slice(0, 3).join('/')
    await shell.run(`mv ${way} /tmp/moved; rm -rf ${way}; ln -s /oldroot${elsewhere} ${way}; true`)
    await scratch.write('output', 'mine')
    expect(await shell.run(`pwd; cat ${place}/scratch/*/*`)).toMatchObject({
      output: `${root}\nmine`,
      exitCode: 0,
    })
    expect(readdirSync(elsewhere)).toEqual(['more'])
  })

  it('a workspace in the directory of Capstan’s own files is rejected', async () => {
    const { shell } = session(root)
    await expect(shell.run('true')).rejects.toMatchObject({ code: 'sandbox_root_refused' })
  })
})

describeWithBubblewrap('further roots', () => {
  it('SEC-137 are writable, protected and usable as a working directory; nothing else is', async () => {
    const more = join(place, 'more')
    mkdirSync(join(more, 'sub'), { recursive: true })
    makeRepository(more)
    mkdirSync(join(place, 'other'))
    const shell = shellWith({ roots: [more] })
    const { output } = await shell.run(
      `pwd; echo x > x && echo ok; (echo x > ../.git/hooks/x) 2>/dev/null && echo hooked; (mkdir ../.vscode/x) 2>/dev/null && echo made
       (echo x > ../../other/x) 2>/dev/null && echo wrote; echo x > "${root}/x" && echo root`,
      { cwd: join(more, 'sub') },
    )
    expect(output).toBe(`${join(more, 'sub')}\nok\nroot\n`)
    const commit = 'cd .. && git commit -q --allow-empty -m second && echo committed'
    expect(await shell.run(commit, { cwd: join(more, 'sub') })).toMatchObject({ output: 'committed\n' })
    expect(await said(`(echo x > "${more}/y") 2>/dev/null || echo held`, { writable: [root] }, shell)).toBe(
      'held\n',
    )
    await expect(shell.run('true', { cwd: join(place, 'other') })).rejects.toMatchObject({
      code: 'shell_directory_refused',
    })
    expect(readdirSync(more).sort()).toEqual(['.git', 'sub'])
  })

  it('SEC-130 follow the same rule as the root', async () => {
    await expect(shellWith({ roots: ['/etc'] }).run('true')).rejects.toMatchObject({
      code: 'sandbox_root_refused',
    })
  })
})

describeWithBubblewrap('protected paths below and next to the workspace', () => {
  it('SEC-128 nested repositories accept commits of git commands alone, and nothing else', async () => {
    const names = ['sub', 'a/b/c/d/e/f/deep', 'node_modules/x/bare-bones']
    for (const name of names) {
      mkdirSync(join(root, name), { recursive: true })
      makeRepository(join(root, name))
    }
    const last = join(root, 'node_modules/x/bare-bones/.git')
    rmSync(join(last, 'hooks'), { recursive: true })
    rmSync(join(last, 'info'), { recursive: true })
    const shell = shellWith()
    const { output } = await shell.run(
      `for r in ${names.join(' ')}; do
         for f in hooks/post-checkout config info/attributes commondir config.worktree modules/x/config index HEAD objects/info/alternates; do
           (mkdir -p "$(dirname $r/.git/$f)" && echo x >> $r/.git/$f) 2>/dev/null && echo "wrote $r $f"; done
         mv $r/.git $r/moved 2>/dev/null && echo "moved $r"; git -C $r config core.fsmonitor x 2>/dev/null && echo "set $r"
         git -C $r commit -q --allow-empty -m second 2>/dev/null && echo "committed $r"
       done; git init -q fresh 2>/dev/null && echo made; echo done`,
    )
    expect(output).toBe('done\n')
    for (const name of names) {
      const commit = `git -C ${name} commit -q --allow-empty -m second && git -C ${name} log --oneline | wc -l`
      expect(await shell.run(commit)).toMatchObject({ exitCode: 0, output: '2\n', blocked: [] })
      expect(readdirSync(join(root, name, '.git'))).not.toContain('commondir')
    }
    expect(readdirSync(last)).not.toContain('hooks')
  })

  it('missing control files are missing inside too: searches, copies and git do not list them', async () => {
    makeRepository(root)
    writeFileSync(join(root, 'a'), 'word\n')
    const shell = shellWith()
    const search = 'grep -rh word --exclude-dir=.git . ; echo $?; ls -A; cp -r a b'
    expect(await shell.run(search)).toMatchObject({ output: 'word\n0\n.git\na\n', exitCode: 0 })
    const add = 'git add -A && git status --short'
    expect(await shell.run(add)).toMatchObject({ output: 'A  a\nA  b\n', exitCode: 0 })
  })

  it('SEC-128 the settings of package managers and direnv cannot be changed or created, and npm works', async () => {
    writeFileSync(join(root, '.npmrc'), 'audit=false\n')
    writeFileSync(join(root, '.envrc'), '')
    mkdirSync(join(root, 'dep'))
    writeFileSync(join(root, 'dep/package.json'), '{"name":"dep","version":"1.0.0"}')
    writeFileSync(
      join(root, 'package.json'),
      '{"name":"x","version":"1.0.0","dependencies":{"dep":"file:dep"}}',
    )
    const node = dirname(process.execPath)
    const shell = shellWith({ path: `${node}:/usr/bin:/bin` })
    const { output, exitCode } = await shell.run(
      `for f in .npmrc .envrc .yarnrc.yml; do (echo evil > $f) 2>/dev/null; rm $f 2>/dev/null && echo "removed $f"; mv package.json $f 2>/dev/null && echo "moved $f"; done
       cat .npmrc .envrc; npm install --offline --no-fund >/dev/null && ls node_modules`,
    )
    expect({ output, exitCode }).toEqual({ output: 'audit=false\ndep\n', exitCode: 0 })
    expect(readdirSync(root).sort()).toEqual([
      '.envrc',
      '.npmrc',
      'dep',
      'node_modules',
      'package-lock.json',
      'package.json',
    ])
  })
})

/** One shell starts git: starting a process from a test costs more than git does. */
function makeRepository(directory: string): void {
  const script =
    'git init -q -b main && git config user.email a@example.com && git config user.name A && git commit -q --allow-empty -m first'
  execFileSync('sh', ['-c', script], { cwd: directory, stdio: 'pipe' })
}
