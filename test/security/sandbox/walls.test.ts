import { execFileSync } from 'node:child_process'
import {
  chownSync,
  existsSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { ShellOutcome } from '../../../src/tool/runtime.js'
import type { LocalShellOptions } from '../../../src/workspace/shell/local-shell.js'
import { commandLines } from '../../support/command-lines.js'
import { sharedDirectory, temporaryDirectory } from '../../support/temporary-directory.js'
import { asNormalUser, compileShell, normalUser } from './support/compiled.js'
import { type Host, type HostLine, type HostRequest, serveHost } from './support/host.js'
import { describeWithEachSandbox } from './support/needs-bubblewrap.js'

const users = [
  {
    who: process.getuid?.() === 0 ? 'as root' : 'as a normal user',
    front: [] as readonly string[],
    uid: process.getuid?.() ?? 0,
  },
  ...(asNormalUser === undefined ? [] : [{ who: 'as a normal user', front: asNormalUser, uid: normalUser }]),
]

let compiled: ReturnType<typeof compileShell>
/** One for each user, whatever the sandbox: a start costs as much as ten commands. */
let hosts: Host[]
beforeAll(() => {
  compiled = compileShell()
  hosts = users.map(({ front }) => serveHost(compiled.directory, front))
})
afterAll(async () => {
  await Promise.all(hosts.map((host) => host.end()))
  compiled.remove()
})

for (const [at, { who, front, uid }] of users.entries()) {
  describeWithEachSandbox(`the sandbox, ${who}`, (backend) => {
    let place: string
    let root: string
    let home: string

    // Opening a shell takes longer than a command: most tests share the workspace, and with it the shell of the host.
    const shared = sharedDirectory()
    // The host keeps it open from one workspace to the next: opening a ledger starts two processes.
    const ledgerDir = join(shared, 'ledger')
    beforeEach(() => useWorkspace(shared))

    async function ask(request: HostRequest): Promise<HostLine[]> {
      const lines = await hosts[at]?.ask(request)
      if (lines === undefined) throw new Error('there is no host for this user')
      return lines
    }

    function useWorkspace(directory: string): void {
      place = directory
      root = join(place, 'work')
      home = join(place, 'home')
      mkdirSync(root, { recursive: true })
      mkdirSync(home, { recursive: true })
    }
    /** Gives everything that a test has created to the user of the host. */
    function handOver(): void {
      if (front.length === 0) return
      for (const path of [shared, place]) chownSync(path, uid, uid)
      for (const { parentPath, name } of readdirSync(place, { recursive: true, withFileTypes: true })) {
        const path = join(parentPath, name)
        if (!path.startsWith(ledgerDir)) lchownSync(path, uid, uid)
      }
    }

    async function run(
      runs: NonNullable<HostRequest['runs']>,
      options: Partial<LocalShellOptions> = {},
      given: string = root,
    ): Promise<ShellOutcome[]> {
      handOver()
      const shell = {
        root: given,
        ledgerDir,
        sandbox: 'required',
        sandboxOptions: { backend },
        ...options,
      } as const
      const lines = await ask({ shell, runs, env: { HOME: home, HOST_SECRET: 'canary-x' } })
      return lines.flatMap(({ outcome }) => outcome ?? [])
    }
    async function runOne(command: string, options: Partial<LocalShellOptions> = {}): Promise<ShellOutcome> {
      const [outcome] = await run([command], options)
      if (outcome === undefined) throw new Error('the host did not answer')
      return outcome
    }

    it('SEC-135 the doctor finds every protection in place', async () => {
      handOver()
      const [line] = await ask({ doctor: { backend }, env: { HOME: home, HOST_SECRET: 'canary-x' } })
      expect(line?.doctor?.filter(({ held }) => !held)).toEqual([])
      expect(line?.doctor?.length).toBeGreaterThanOrEqual(14)
    })

    it('SEC-121 nothing can be written outside the workspace, and everything inside it can', async () => {
      const outcome = await runOne(
        `for f in /etc/x-${uid} ~root/x "${home}/x" /tmp/../etc/x-${uid} /var/tmp/x-${uid} /usr/x-${uid} "${place}/x"; do
           (echo x > "$f") 2>/dev/null && echo "wrote $f"; done; mkdir -p a/b && echo ok > a/b/c && mv a/b/c d && cat d`,
      )
      expect(outcome).toMatchObject({
        sandbox: backend,
        exitCode: 0,
        output: expect.stringMatching(/ok\n$/),
      })
      for (const path of [
        `/etc/x-${uid}`,
        `/var/tmp/x-${uid}`,
        `/usr/x-${uid}`,
        join(home, 'x'),
        join(place, 'x'),
      ]) {
        expect(existsSync(path), path).toBe(false)
      }
      expect(readFileSync(join(root, 'd'), 'utf8')).toBe('ok\n')
    })

    it('SEC-121 the outcome reports what was refused', async () => {
      expect((await runOne('echo x > /etc/x')).blocked).toEqual([
        expect.stringContaining('outside the workspace'),
      ])
      expect(
        (await runOne('getent hosts example.com || { echo Could not resolve host; exit 1; }')).blocked,
      ).toEqual([expect.stringContaining('no network')])
    })

    it('SEC-123 no namespace can be created inside, nothing mounted, no privilege gained', async () => {
      const { output } = await runOne(
        `unshare -Urm true 2>/dev/null && echo nested; unshare -n true 2>/dev/null && echo net
         mount -o remount,bind,rw / 2>/dev/null && echo remount; mount -t tmpfs x /mnt 2>/dev/null && echo mount
         chroot / true 2>/dev/null && echo chroot; grep -E '^(CapEff|CapPrm|NoNewPrivs)' /proc/self/status | tr -s '\\t 0' ' '`,
      )
      expect(output.replaceAll(/\s+/g, ' ').trim()).toBe('CapPrm: CapEff: NoNewPrivs: 1')
    })

    it('SEC-124 there is no network: TCP, UDP, DNS, IPv6, the host itself', async () => {
      const server = await listen({ port: 0, host: '127.0.0.1' })
      try {
        const address = server.address()
        const port = typeof address === 'object' ? address?.port : 0
        const { output } = await runOne(
          `for t in tcp/127.0.0.1/${port} tcp/::1/${port} 'tcp/::ffff:127.0.0.1/'${port}; do
             (exec 3<>"/dev/$t" && echo x >&3) 2>/dev/null && echo "reached $t"; done
           [ "$({ wc -l < /proc/net/route || echo 0; } 2>/dev/null)" -le 1 ] || echo route; getent hosts example.com && echo resolved; ls /sys/class/net 2>/dev/null | grep -v -x -e lo >/dev/null; echo done`,
        )
        expect(output).toBe('done\n')
      } finally {
        server.close()
      }
    })

    it('SEC-125, SEC-126 Unix sockets of the host are not accessible, in its directories, in the workspace and without a name', async () => {
      const outside = await listen({ path: join(place, 'host.sock') })
      const inside = await listen({ path: join(root, 'host.sock') })
      const nameless = await listen({ path: `\0capstan-walls-${uid}-${process.pid}` })
      let reached = 0
      for (const server of [outside, inside, nameless]) server.on('connection', () => reached++)
      try {
        const connect = `use Socket; use Errno; for my $path ("${place}/host.sock", "${root}/host.sock", "\\0capstan-walls-${uid}-${process.pid}") { socket(my $s, PF_UNIX, SOCK_STREAM, 0) or die "no socket: $!"; print connect($s, pack_sockaddr_un($path)) ? "reached" : (grep { $!{$_} } qw(ECONNREFUSED ENOENT EACCES)), "\\n" }`
        const { output } = await runOne(`[ -S host.sock ] && echo socket; ls /run; perl -e '${connect}'`)
        // Without mounts the file is there, and no connection to it.
        const seen =
          backend === 'bubblewrap'
            ? ['ECONNREFUSED', 'ECONNREFUSED', 'ENOENT', 'capstan']
            : ['EACCES', 'EACCES', 'EACCES', "ls: cannot open directory '/run': Permission denied", 'socket']
        expect(output.trim().split('\n').sort()).toEqual(seen.sort())
        expect(reached).toBe(0)
      } finally {
        for (const server of [outside, inside, nameless]) server.close()
      }
    })

    it('SEC-127 secrets of the user and of the host process are not visible', async () => {
      for (const name of ['.ssh', '.aws', '.config/gh']) mkdirSync(join(home, name), { recursive: true })
      for (const name of ['.ssh/id_rsa', '.aws/credentials', '.config/gh/hosts.yml', '.netrc', '.npmrc']) {
        writeFileSync(join(home, name), 'canary-home')
      }
      // Without this no command could see anything next to its workspace, and the test could not fail for the ledger.
      writeFileSync(join(place, 'shown'), 'shown\n')
      const sandboxOptions = { backend, readOnly: [place] }
      const { output } = await runOne(
        `cat "${place}/shown"; cat "${home}"/.ssh/id_rsa "${home}"/.netrc "${home}"/.npmrc 2>/dev/null; find "${home}" /root /home "${ledgerDir}" -type f 2>/dev/null
         cat /etc/shadow /etc/gshadow 2>/dev/null; ls -A /etc/ssh 2>/dev/null; grep -l canary-x /proc/[0-9]*/environ 2>/dev/null; echo done`,
        { sandboxOptions },
      )
      expect(output).toBe('shown\ndone\n')
      expect(readdirSync(ledgerDir)).not.toEqual([])
    })

    it('SEC-128 protected paths cannot be changed, created or renamed', async () => {
      useWorkspace(temporaryDirectory())
      mkdirSync(join(root, '.vscode'))
      writeFileSync(join(root, '.vscode/settings.json'), '{}')
      const { output } = await runOne(
        `for p in .git .capstan .agent .vscode .idea .husky; do
           (echo x > $p/evil) 2>/dev/null && echo "wrote $p"; mv $p moved 2>/dev/null && echo "moved $p"
           rmdir $p 2>/dev/null && echo "removed $p"; done
         (echo x > .mcp.json) 2>/dev/null && echo mcp; rm .mcp.json 2>/dev/null && echo "removed mcp"
         ln -s evil .mcp.json 2>/dev/null && echo linked; rm -rf .vscode 2>/dev/null; git init -q . 2>/dev/null && echo init; echo done`,
      )
      expect(output).toBe('done\n')
      expect(readdirSync(root)).toEqual(['.vscode'])
      expect(readFileSync(join(root, '.vscode/settings.json'), 'utf8')).toBe('{}')
    })

    it('SEC-128 a git directory is read-only for commands, and accepts only the data of git commands', async () => {
      useWorkspace(temporaryDirectory())
      makeRepository(root)
      const config = readFileSync(join(root, '.git/config'), 'utf8')
      const { output } = await runOne(
        `git config core.fsmonitor 'touch PWNED' 2>/dev/null && echo configured
         (echo x > .git/hooks/pre-commit) 2>/dev/null && echo hooked
         (echo '* filter=evil' > .git/info/attributes) 2>/dev/null && echo attributed
         mv .git moved 2>/dev/null && echo moved; mv .git/hooks .git/h 2>/dev/null && echo moved-hooks
         mkdir -p evil; (echo ../evil > .git/commondir) 2>/dev/null && echo pointed
         (echo x > .git/index) 2>/dev/null && echo indexed; git commit -q --allow-empty -m x 2>/dev/null && echo committed
         echo done`,
      )
      expect(output).toBe('done\n')
      const commit = await runOne(
        'echo a > a && git add a && git commit -qm second && git checkout -q -b side && git log --oneline | wc -l',
      )
      expect(commit).toMatchObject({ exitCode: 0, output: '2\n', blocked: [] })
      expect(readFileSync(join(root, '.git/config'), 'utf8')).toBe(config)
      for (const name of ['commondir', 'config.worktree', 'modules', 'worktrees'])
        expect(existsSync(join(root, '.git', name))).toBe(false)
    })

    it('SEC-128 a linked worktree accepts commits too, and a .git file that points elsewhere gives no access', async () => {
      useWorkspace(temporaryDirectory())
      const main = join(place, 'main')
      mkdirSync(main)
      makeRepository(main)
      rmSync(root, { recursive: true })
      execFileSync('git', ['-C', main, 'worktree', 'add', '-q', root, '-b', 'side'], { stdio: 'pipe' })
      const first = await runOne(
        'echo b > b && git add b && git commit -qm third && git log --oneline | wc -l',
      )
      expect(first).toMatchObject({ exitCode: 0, output: '2\n' })
      const hook = await runOne(
        `echo x > "${main}/.git/hooks/pre-commit"; echo x > "${main}/file"; echo x > .git`,
      )
      expect(hook.exitCode).not.toBe(0)
      expect(existsSync(join(main, '.git/hooks/pre-commit')) || existsSync(join(main, 'file'))).toBe(false)

      const victim = join(place, 'victim')
      mkdirSync(victim)
      makeRepository(victim)
      execFileSync('git', ['-C', victim, 'worktree', 'add', '-q', join(place, 'other')], { stdio: 'pipe' })
      writeFileSync(join(root, '.git'), `gitdir: ${victim}/.git/worktrees/other\n`)
      const second = await runOne(`echo x > "${victim}/.git/refs/heads/evil"; echo $?`)
      expect(second.output).not.toMatch(/^0$/m)
      expect(existsSync(join(victim, '.git/refs/heads/evil'))).toBe(false)
    })

    it('SEC-128 a protected entry that is a link is restored, and its target is not written', async () => {
      useWorkspace(temporaryDirectory())
      mkdirSync(join(root, 'settings'))
      symlinkSync('settings', join(root, '.vscode'))
      const { output, blocked } = await runOne(
        `(echo x > .vscode/evil) 2>/dev/null && echo wrote; rm .vscode 2>/dev/null; (mkdir .vscode; echo x > .vscode/evil) 2>/dev/null; echo done`,
      )
      expect(output).toBe('done\n')
      expect(readlinkSync(join(root, '.vscode'))).toBe('settings')
      expect(readdirSync(join(root, 'settings'))).toEqual([])
      // Without mounts the guard does not let it be removed.
      expect(blocked).toEqual([
        expect.stringMatching(/refused: (?:settings\/evil, )?\.vscode/),
        ...(backend === 'bubblewrap' ? [expect.stringContaining('was restored')] : []),
      ])
    })

    it('SEC-130 a workspace named through a link or dots is the real one; the root and the home directory are rejected', async () => {
      useWorkspace(temporaryDirectory())
      symlinkSync(root, join(place, 'link'))
      for (const given of [join(place, 'link'), `${root}/../work/.`]) {
        const [outcome] = await run(['pwd; echo x > x'], {}, given)
        expect(outcome).toMatchObject({ exitCode: 0, output: `${root}\n` })
      }
      for (const given of ['/', home, place, '/tmp', '/etc']) {
        const shell = {
          root: given,
          ledgerDir,
          sandbox: 'required',
          sandboxOptions: { backend },
        } as const
        const answer = await ask({ shell, runs: ['true'], env: { HOME: home } })
        expect(answer.at(-1), given).toMatchObject({ error: 'sandbox_root_refused' })
      }
    })

    it('SEC-131 there is no terminal to push input into', async () => {
      const { output } = await runOne(
        `(exec 9<>/dev/tty) 2>/dev/null && echo tty; ps -o tty= -p $$ 2>/dev/null | tr -d ' \\n'; echo`,
      )
      expect(output.trim()).toMatch(/^\??$/)
    })

    it('SEC-132 no process outlives a command, not even a fully detached one', async () => {
      const mark = `sleep 4${process.pid}.${uid}`
      const outcome = await runOne(
        `(env -i setsid ${mark} >/dev/null 2>&1 &); nohup ${mark} >/dev/null 2>&1 & setsid ${mark} & echo done`,
      )
      expect(outcome).toMatchObject({ exitCode: 0, output: 'done\n' })
      expect(commandLines().filter((line) => line.includes(mark))).toEqual([])
    })

    it('SEC-132 a process that still runs when its command ends prints no error about an interrupted call', async () => {
      const opener = '(while :; do : > /dev/null; done) &'
      // Without the guard's kill almost every command prints it under Landlock, and one of ten under bubblewrap. More
      // processes, or more time for them, change nothing of that.
      const times = backend === 'landlock' ? 3 : 10
      const outcomes = await run(
        Array.from({ length: times }, () => `${opener} ${opener} sleep 0.02; echo done`),
      )
      for (const outcome of outcomes) expect(outcome).toMatchObject({ exitCode: 0, output: 'done\n' })
    })

    it('SEC-133 limits of a process apply: size of a file, open files, processes', async () => {
      const limits = { fileBytes: 100_000, openFiles: 30, processes: 40 }
      const { output, limit } = await runOne(
        `(head -c 1000000 /dev/zero > big) >/dev/null 2>&1; stat -c %s big
         sh -c 'i=0; while [ $i -lt 60 ]; do sleep 5 & i=$((i+1)); done' 2>/dev/null; set -- /proc/[0-9]*; echo $#`,
        { limits },
      )
      const [size, count] = output.match(/^\d+$/gm) ?? []
      expect(Number(size)).toBeLessThanOrEqual(100_352)
      // The kernel does not count root's processes: only a cgroup could. On a slow machine the command is ended before
      // it has counted.
      if (uid !== 0 && limit?.limit !== 'processes') expect(Number(count)).toBeLessThan(45)
    })

    it('SEC-137 the working directory of a command never widens what it can write', async () => {
      mkdirSync(join(root, 'sub'))
      const [outcome] = await run([{ command: 'echo x > ../up; echo x > /etc/x; echo x > here', cwd: 'sub' }])
      expect(outcome?.exitCode).toBe(0)
      expect(existsSync(join(root, 'up'))).toBe(true)
      expect(existsSync('/etc/x')).toBe(false)
    })

    it('/tmp is kept for the session, on disk and private', async () => {
      if (backend === 'landlock') {
        const [outcome] = await run(['echo kept > /tmp/note; echo kept > "$TMPDIR/note"; ls -A "$TMPDIR"'])
        expect(outcome?.output).toMatch(/\/tmp\/note: Permission denied\nnote\n$/)
        return
      }
      const outcomes = await run(['echo kept > /tmp/note; ls -A /tmp'])
      const names = outcomes[0]?.output.trimEnd().split('\n')
      expect(names).toHaveLength(2)
      expect(names).toEqual(expect.arrayContaining([place.split('/')[2], 'note']))
      expect(existsSync('/tmp/note')).toBe(false)
    })
  })
}

function makeRepository(directory: string): void {
  const script =
    'git init -q -b main && git config user.email a@example.com && git config user.name A && git commit -q --allow-empty -m first'
  execFileSync('sh', ['-c', script], { cwd: directory, stdio: 'pipe' })
}

async function listen(where: { port: number; host: string } | { path: string }): Promise<Server> {
  const server = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve) => server.listen(where, resolve))
  return server
}
