import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it, vi } from 'vitest'
import type { SessionOptions } from '../../../src/session/options.js'
import {
  bash,
  makeRepository,
  makeWorkspace,
  openAgent,
  openSession,
  toolResults,
} from '../../contract/open-session.js'
import { factor } from '../../support/fault-factor.js'
import { temporaryDirectory } from '../../support/temporary-directory.js'
import { describeWithBubblewrap } from './support/needs-bubblewrap.js'
import { runAsModel } from './support/session.js'

const options: SessionOptions = {
  sandbox: 'required',
  onAsk: () => ({ decision: 'once' }),
  permissionPolicy: { allow: ['bash(*)'] },
}

/** Every name below a directory that a command may not make, with what is in the way of finding it left out. */
function controlFiles(root: string): string[] {
  const wanted =
    /^(?:\.git[. ]*|\.mcp\.json|\.vscode|\.husky|\.npmrc|\.yarnrc|\.yarnrc\.yml|\.claude|\.cursor|\.capstan)$/i
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter(({ name }) => wanted.test(name))
    .map(({ parentPath, name }) => join(parentPath, name).slice(root.length + 1))
}

/**
 * A command that shows by a file in `signal/`, which git ignores, that it runs, and continues when the test says so.
 */
const waits = 'touch signal/started; until [ -e signal/go ]; do sleep 0.02; done'

async function whileRunning(
  command: string,
  look: (root: string) => void,
  existing: Readonly<Record<string, string>> = {},
): Promise<{ root: string; result: string }> {
  const files = { '.gitignore': 'signal/\n', 'a.txt': 'a\n', 'signal/x': '', ...existing }
  const { server, session, root } = await openSession([bash(`${waits}; ${command}`), 'done'], options, files)
  makeRepository(root)
  const running = session.send('go')
  await vi.waitUntil(() => existsSync(join(root, 'signal/started')), { timeout: 120_000, interval: 10 })
  try {
    look(root)
  } finally {
    writeFileSync(join(root, 'signal/go'), '')
    await running
  }
  return { root, result: toolResults(server, 1)[0] ?? '' }
}

describeWithBubblewrap('names that a command must not create', () => {
  it('do not exist for other programs while a command runs, and git has nothing to report', async () => {
    await whileRunning('true', (root) => {
      expect(readdirSync(root).sort()).toEqual(['.git', '.gitignore', 'a.txt', 'signal'])
      const status = execFileSync('git', ['status', '--porcelain', '--untracked-files=all'], {
        cwd: root,
        encoding: 'utf8',
      })
      expect(status).toBe('')
    })
  })

  it('cannot be created by any tool, and the model reads which were refused', async () => {
    const make = [
      ...[
        'touch $n',
        'echo x > $n',
        'echo x >> $n',
        'tee $n </dev/null',
        'mkdir $n',
        'mkdir -p $n/hooks',
        'mkfifo $n',
      ],
      ...[
        'ln -s a.txt $n',
        'ln a.txt $n',
        'cp a.txt $n',
        'mv b.txt $n',
        'mv -T dir $n',
        'mv -T --exchange dir $n',
        'cp -r dir $n',
      ],
      ...[
        'install -d $n',
        'install a.txt $n',
        'dd of=$n if=/dev/null',
        'truncate -s 1 $n',
        'rsync -r dir/ $n',
        'cd sub && mkdir ../$n',
      ],
      ...[
        'ln -s $n link; echo x > link; rm -f link',
        'mkdir $(pwd)/$n',
        'mkdir /proc/self/cwd/$n',
        'node -e "require(\'fs\').mkdirSync(process.argv[1])" $n',
      ],
      ...[
        'perl -e \'mkdir shift; open F, ">", shift\' $n',
        'ex -sc "wq! $n" a.txt',
        'patch -s -o $n a.txt /dev/null',
        'split a.txt $n',
        'mktemp -d $n',
        'git clone -q . $n',
      ],
    ]
    // Every way for a file, a directory and a repository; a few ways for each other name.
    const few = ['echo x > $n', 'mkdir -p $n/hooks', 'ln -s a.txt $n', 'mv b.txt $n', 'mv -T dir $n']
    const loop = (names: string, ways: readonly string[]): string =>
      `for n in ${names}; do\n${ways.map((way) => `(${way})`).join('\n')}\nrm -rf dir; mkdir -p dir/x; echo b > b.txt; done >/dev/null 2>&1`
    const script = [
      'mkdir -p dir/x sub; echo b > b.txt',
      loop('.mcp.json .vscode sub/.git', make),
      loop('sub/.GIT .npmrc .husky .claude .cursor .yarnrc', few),
      'echo finished',
    ].join('\n')
    const { root, outputs } = await runAsModel([script], {}, { 'a.txt': 'a\n' })
    expect(outputs[0]).toContain('finished')
    expect(controlFiles(root)).toEqual([])
    expect(outputs[0]).toMatch(
      /Control files, which programs outside the sandbox use, .*refused: .*\.mcp\.json, \.vscode/,
    )
    expect(outputs[0]).toMatch(/Git repositories cannot be created .*refused: .*sub\/\.git/)
  })

  it('do not come with a copied, unpacked, cloned or added repository', async () => {
    const script = `exec >/dev/null 2>&1
      git init -q /tmp/r && git -C /tmp/r -c user.name=x -c user.email=x commit -q --allow-empty -m x; [ -d /tmp/r/.git ] || exit 9
      cp -r /tmp/r copied; cp -a /tmp/r/. .; mv /tmp/r moved; git clone -q moved /tmp/r; tar -C /tmp -cf /tmp/r.tar r; tar xf /tmp/r.tar
      (cd /tmp && zip -qr r.zip r); unzip -q /tmp/r.zip -d zipped; mkdir x; (cd /tmp/r && find . | cpio -pdm "$OLDPWD/x")
      bash -c 'git init -q made'; bash -c 'git clone -q /tmp/r cloned'; bash -c 'git -C /tmp/r worktree add -q "$PWD/tree"'
      bash -c 'git init -q --separate-git-dir=data apart'; bash -c 'git -c protocol.file.allow=always submodule add /tmp/r module'
      python3 -c 'import shutil; shutil.copytree("/tmp/r", "py")'; true`
    const { root, outputs } = await runAsModel([script], {}, { 'a.txt': 'a\n' })
    expect(outputs[0]).not.toContain('Exit code')
    expect(controlFiles(root)).toEqual([])
  })

  it('cannot be created by any system call, by access to the guard, or by a race', async () => {
    const program = compiled('make-names.c')
    if (program === undefined) return
    const { root, userDir } = await makeWorkspace()
    writeFileSync(join(root, 'make-names'), program, { mode: 0o755 })
    const rounds = 200 * factor
    const commands = ['./make-names ways /tmp/free', `./make-names race /tmp/free ${rounds}`]
    const { server, agent } = await openAgent(
      [bash(`mkdir /tmp/free; ${commands.join('; ')}`), 'done'],
      userDir,
    )
    await agent.session(root, options).send('go')
    const [result] = toolResults(server, 1)
    expect(result).toMatch(new RegExp(`^tried [0-9]{3}\\ndone\\ntried ${8 * rounds}\\ndone\\n`))
    expect(controlFiles(root)).toEqual([])
  })

  it('stay inaccessible when the user creates them while a command runs', async () => {
    const attack = `exec 2>/dev/null
      for f in .npmrc .vscode/settings.json sub/.git/config sub/.git/hooks/post-checkout; do
        echo evil > $f; echo evil >> $f; truncate -s 0 $f; cp a.txt $f; mv a.txt $f; ln $f other && echo evil > other; rm -f other
        exec 7<$f && { echo evil > /proc/self/fd/7; echo evil > /dev/fd/7; ln -L /proc/self/fd/7 other && echo evil > other; exec 7<&-; }
      done
      mv sub/.git sub/g && echo evil > sub/g/config; mkdir sub/.git/x; mv .vscode v && echo evil > v/settings.json; true`
    const { root, result } = await whileRunning(attack, (place) => {
      writeFileSync(join(place, '.npmrc'), 'audit=false\n')
      mkdirSync(join(place, '.vscode'))
      writeFileSync(join(place, '.vscode/settings.json'), '{}')
      execFileSync('git', ['init', '-q', 'sub'], { cwd: place })
      writeFileSync(join(place, 'sub/.git/config'), '[core]\n')
    })
    expect(readFileSync(join(root, '.npmrc'), 'utf8')).toBe('audit=false\n')
    expect(readFileSync(join(root, '.vscode/settings.json'), 'utf8')).toBe('{}')
    expect(readFileSync(join(root, 'sub/.git/config'), 'utf8')).toBe('[core]\n')
    expect(existsSync(join(root, 'sub/.git/hooks/post-checkout'))).toBe(false)
    expect(result).toContain('.npmrc')
  })

  it('stay inaccessible when the user replaces them while a command runs, as editors do', async () => {
    const existing = { '.npmrc': 'audit=false\n', '.mcp.json': '{}\n', '.envrc': 'use node\n' }
    const names = Object.keys(existing)
    const attack = `exec 2>/dev/null
      for f in ${names.join(' ')}; do
        echo evil > $f; echo evil >> $f; truncate -s 0 $f; cp a.txt $f; mv a.txt $f; ln $f other && echo evil > other; mv $f away
      done; true`
    const { root, result } = await whileRunning(
      attack,
      (place) => {
        for (const [name, text] of Object.entries(existing)) {
          writeFileSync(join(place, 'signal/saved'), text)
          renameSync(join(place, 'signal/saved'), join(place, name))
        }
      },
      existing,
    )
    for (const [name, text] of Object.entries(existing))
      expect(readFileSync(join(root, name), 'utf8')).toBe(text)
    for (const name of names) expect(result).toContain(name)
  })

  it('cannot be created in another spelling when the usual one exists', async () => {
    const spellings = ['.MCP.JSON', '.Mcp.json', '.mcp.json ', '.mcp\u200b.json', '.NPMRC']
    const script = spellings.map((name) => `echo evil > "${name}"; mkdir "${name}"; ln -s a.txt "${name}"`)
    const files = { 'a.txt': 'a\n', '.mcp.json': '{}\n', '.npmrc': 'audit=false\n' }
    const { session, root } = await openSession([bash(`${script.join('; ')}; true`), 'done'], options, files)
    await session.send('go')
    expect(readdirSync(root).sort()).toEqual(['.mcp.json', '.npmrc', 'a.txt'])
  })

  it('can be created by approved git commands, and only by those', async () => {
    const commands = [
      'git init -q made && git clone -q . cloned && ls -d made/.git cloned/.git',
      'git worktree add -q tree && ls -d tree/.git',
      'mkdir inner && cd inner && git init -q && ls -d .git',
      'git init -q other; node -e 1; ls -d other/.git',
    ]
    const { server, session, root } = await openSession([...commands.map(bash), 'done'], options, {
      'a.txt': 'a\n',
    })
    makeRepository(root)
    await session.send('go')
    const results = toolResults(server, commands.length)
    expect(results.slice(0, 3).map((text) => text.trim())).toEqual([
      'cloned/.git\nmade/.git',
      'tree/.git',
      '.git',
    ])
    expect(results[3]).toContain('refused: other/.git')
  })
})

describeWithBubblewrap('ordinary work under the guard', () => {
  it('behaves as without it: FIFOs, signals, locks, sockets, descriptors, permissions, exit codes', async () => {
    const script = `
      mkfifo f; (cat f; echo end) & echo hi > f; wait
      timeout 0.2 bash -c 'echo x > f'; echo "timeout $?"
      bash -c 'trap "echo trapped; exit 3" TERM; (sleep 0.1; kill -TERM $$) & echo x > f'; echo "trap $?"
      bash -c 'trap "echo usr" USR1; (sleep 0.1; kill -USR1 $$; cat f) & echo data > f; wait' | sort
      t=$(mktemp); echo a > $t; stat -c %a $t $(mktemp -d); (umask 027; touch um; mkdir um.d; stat -c %a um um.d)
      flock lock -c 'echo locked'; echo to-stderr > /dev/stderr; echo to-fd > /proc/self/fd/1; echo gone > /dev/null
      printf '#!/bin/sh\\necho ran\\n' > prog; chmod +x prog; ./prog
      node -e 'const s = require("net").createServer((c) => c.end("socket")).listen("s.sock", () => require("net").connect("s.sock").on("data", (d) => { console.log(String(d)); s.close() }))'
      { bash -c 'kill -9 $$'; echo "killed $?"; } 2>/dev/null; (ulimit -n 10; exec 9>one 8>two 7>three; echo limited)
      mkdir gone && cd gone && rmdir ../gone && touch y 2>/dev/null; echo "left $?"; cd ..
      seq 60 | xargs -P 4 -n 5 sh -c 'for i; do mkdir -p n/$i && echo $i > n/$i/f && mv n/$i/f n/$i/g; done' -- ; cat n/*/g | wc -l
      exit 7`
    const { outputs } = await runAsModel([script])
    const lines = [
      ...[
        'hi',
        'end',
        'timeout 124',
        'trapped',
        'trap 3',
        'data',
        'usr',
        '600',
        '700',
        '640',
        '750',
        'locked',
      ],
      ...['to-stderr', 'to-fd', 'ran', 'socket', 'killed 137', 'limited', 'left 1', '60'],
    ]
    expect(outputs[0]?.split('\n').filter((line) => line !== '' && !line.startsWith('[In'))).toEqual([
      ...lines,
      '[Exit code: 7]',
    ])
  })
})

/** A program of the support directory; undefined where there is no compiler, which is said. */
function compiled(source: string): Buffer | undefined {
  const place = resolve(import.meta.dirname, 'support', source)
  const base = temporaryDirectory()
  try {
    execFileSync('cc', ['-O1', '-no-pie', '-pthread', '-o', join(base, 'program'), place], { stdio: 'pipe' })
    return readFileSync(join(base, 'program'))
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    console.warn(`NOT RUN: the system calls of ${source}: there is no C compiler.`)
    return undefined
  }
}
