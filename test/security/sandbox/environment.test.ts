import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { detectSandbox } from '../../../src/workspace/sandbox/probe.js'
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
let shells: LocalShell[]
const before = { ...process.env }

beforeEach(() => {
  place = temporaryDirectory()
  root = join(place, 'work')
  mkdirSync(root)
  shells = []
})
afterEach(async () => {
  await Promise.all(shells.map((shell) => shell.close()))
  for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name]
  Object.assign(process.env, before)
})

function shellWith(options: Partial<LocalShellOptions> = {}): LocalShell {
  const shell = createLocalShell({ root, ledgerDir: workerLedger, sandbox: 'off', ...options })
  shells.push(shell)
  return shell
}

const modes =
  (await detectSandbox({ backend: 'bubblewrap' })).kind === 'bubblewrap'
    ? (['off', 'required'] as const)
    : (['off'] as const)

describe.each(modes)('the environment of a command, sandbox %s', (sandbox) => {
  it('SEC-111 contains none of the secrets of the host, whatever they are called', async () => {
    const canary = 'canary-c2VjcmV0'
    const names = [
      'ANTHROPIC_API_KEY',
      'GITHUB_TOKEN',
      'DB_SECRET',
      'AWS_PROFILE',
      'DATABASE_URL',
      'PGPASS',
      'zufall',
    ]
    for (const name of names) process.env[name] = canary
    const { output } = await shellWith({ sandbox }).run(
      'env; cat /proc/self/environ /proc/$PPID/environ; set',
    )
    expect(output).not.toContain(canary)
    expect(output).toContain('TERM=dumb')
  })

  it('SEC-111 contains exactly the fixed list and what the host names', async () => {
    const { output } = await shellWith({ sandbox, env: { CI: '1' } }).run(
      'env -u _ -u SHLVL -u PWD | cut -d= -f1 | sort | xargs',
    )
    expect(output.trim().split(' ')).toEqual(
      [
        ...[
          'CAPSTAN_RUN_ID',
          'CI',
          'DEBIAN_FRONTEND',
          'GIT_ASKPASS',
          'GIT_CONFIG_NOSYSTEM',
          'GIT_EDITOR',
          'GIT_PAGER',
        ],
        ...['GIT_TERMINAL_PROMPT', 'HOME', 'LANG', 'PAGER', 'PATH', 'SSH_ASKPASS', 'TERM', 'TMPDIR'],
      ].sort(),
    )
  })

  it('SEC-113 does not contain variables that change how a shell parses, from the host or on request', async () => {
    writeFileSync(join(place, 'evil.sh'), `touch ${place}/work/PWNED`)
    Object.assign(process.env, {
      BASH_ENV: join(place, 'evil.sh'),
      ENV: join(place, 'evil.sh'),
      SHELLOPTS: 'xtrace',
    })
    await shellWith({ sandbox }).run('bash -c true; sh -c true')
    expect(existsSync(join(root, 'PWNED'))).toBe(false)
    for (const name of ['BASH_ENV', 'ENV', 'IFS', 'PROMPT_COMMAND', 'CAPSTAN_RUN_ID', 'A=B', '']) {
      await expect(shellWith({ sandbox, env: { [name]: 'x' } }).run('true')).rejects.toMatchObject({
        code: 'shell_environment_refused',
      })
    }
  })

  it('SEC-114 is new for every command: no variable, function, directory or home is kept', async () => {
    const shell = shellWith({ sandbox })
    await shell.run(
      'export X=1; PATH=/evil:$PATH; f() { :; }; cd /; git config --global alias.log "!touch PWNED"; echo x > ~/.bashrc',
    )
    const { output } = await shell.run(
      'echo "[$X]"; type f 2>&1 | head -c 20; echo; pwd; git config --global -l 2>&1; ls -A ~; echo $PATH',
    )
    expect(output).toMatch(/^\[\]\n/)
    expect(output).toContain(`${root}\n`)
    expect(output).not.toMatch(/PWNED|bashrc|evil/)
  })

  it('SEC-116 has no start-up file', async () => {
    const home = join(place, 'home')
    mkdirSync(home)
    for (const name of ['.bashrc', '.profile', '.bash_profile'])
      writeFileSync(join(home, name), `touch ${root}/PWNED`)
    process.env['HOME'] = home
    await shellWith({ sandbox }).run('true')
    expect(existsSync(join(root, 'PWNED'))).toBe(false)
  })

  it('SEC-117 belongs to bash, whatever the shell of the user is', async () => {
    process.env['SHELL'] = '/bin/zsh'
    const { output } = await shellWith({ sandbox }).run(
      'a=(1 2 3); [[ $(echo 2) == [23] ]] && echo "bash $BASH_VERSION"',
    )
    expect(output).toMatch(/^bash \d/)
  })

  it('SEC-119 has names of directories as data, never as shell text', async () => {
    const names = ['$(touch PWNED)', '`touch PWNED`', 'a"b', "a'b", '-rf', 'new\nline', 'sp ace']
    const shell = shellWith({ sandbox })
    for (const name of names) {
      mkdirSync(join(root, name))
      expect((await shell.run('basename -- "$PWD"', { cwd: `./${name}` })).output).toBe(`${name}\n`)
      expect(existsSync(join(root, name, 'PWNED')) || existsSync(join(root, 'PWNED'))).toBe(false)
    }
  })

  it('SEC-120 has no core dumps and the limits that were set', async () => {
    // The soft limit is 0 on many machines anyway, and a program can raise it to the hard one.
    const { output } = await shellWith({
      sandbox,
      limits: { openFiles: 77, fileBytes: 1024 * 1024, cpuSeconds: 9 },
    }).run('ulimit -Hc; ulimit -n; ulimit -t; head -c 2000000 /dev/zero > big; echo; stat -c %s big')
    const lines = output.split('\n')
    expect(lines.slice(0, 3)).toEqual(['0', '77', '9'])
    expect(output.trimEnd()).toMatch(/1048576$/)
  })
})

describeWithBubblewrap('the environment inside a sandbox', () => {
  it('SEC-112 is not shown by /proc/1/environ either', async () => {
    process.env['HOST_SECRET'] = 'canary-aW5pdA'
    const { output } = await shellWith({ sandbox: 'required' }).run(
      `cat /proc/1/environ /proc/[0-9]*/environ | tr '\\0' '\\n'`,
    )
    expect(output).not.toContain('canary-aW5pdA')
    expect(output).toContain('TERM=dumb')
  })

  it('SEC-118 git identity is never read as shell text', async () => {
    execFileSync('git', ['init', '-q', root])
    execFileSync('git', ['-C', root, 'config', 'user.email', '$(touch PWNED)'])
    execFileSync('git', ['-C', root, 'config', 'user.name', '`touch PWNED`'])
    chmodSync(root, 0o755)
    const { exitCode, output } = await shellWith({ sandbox: 'required' }).run(
      'echo a > a && git add a && git commit -qm first && git log --format=%ae',
    )
    expect({ exitCode, output }).toMatchObject({
      exitCode: 0,
      output: expect.stringContaining('$(touch PWNED)'),
    })
    expect(existsSync(join(root, 'PWNED'))).toBe(false)
  })
})
