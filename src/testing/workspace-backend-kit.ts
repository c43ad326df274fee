import { isDeepStrictEqual } from 'node:util'
import { CapstanError, messageOf } from '../tool/errors.js'
import type { RuntimeSearch, RuntimeShell, ToolRuntime } from '../tool/runtime.js'
import { isBackend, type WorkspaceBackend } from '../workspace/backend/backend.js'
import { openBackendWorkspace } from '../workspace/backend/open-backend.js'
import type { WorkspaceFiles } from '../workspace/files/local-files.js'
import type { LocalWorkspaceBackend } from '../workspace/local-backend.js'
import { openWorkspace, type Workspace, type WorkspacePermit } from '../workspace/open-workspace.js'
import { runChecks } from './run-checks.js'

/** Options of {@link checkWorkspaceBackend}. */
export type WorkspaceBackendKitOptions = {
  /**
   * Creates a symbolic link in the workspace, as a program there would; `path` is relative to its root. Absent: the
   * backend has no links, and their behaviour is not checked.
   */
  readonly makeLink?: (backend: CheckedBackend, path: string, target: string) => void | Promise<void>
  /** Whether commands are expected to run. Absent: they are checked if the backend runs them. */
  readonly commands?: boolean
}

/** A backend that the kit can check. */
export type CheckedBackend = LocalWorkspaceBackend | WorkspaceBackend

/**
 * Checks a workspace backend, as sessions use it, and returns a list of problems, empty when there are none. Each
 * check requests a backend with an empty workspace.
 *
 * @example
 * ```ts
 * expect(await checkWorkspaceBackend(() => createMemoryBackend(createMemoryFiles()))).toEqual([])
 * ```
 */
export async function checkWorkspaceBackend(
  makeBackend: () => CheckedBackend | Promise<CheckedBackend>,
  options: WorkspaceBackendKitOptions = {},
): Promise<string[]> {
  return runChecks(checks, async (check) => {
    const backend = await makeBackend()
    const workspace = await open(backend)
    try {
      await check(placeOf(backend, workspace, options))
    } finally {
      await workspace.close()
    }
  })
}

async function open(backend: CheckedBackend): Promise<Workspace> {
  const onNotice = (): void => undefined
  return isBackend(backend)
    ? openBackendWorkspace(backend, { onNotice })
    : openWorkspace({ root: backend.root, sandbox: 'off', onNotice })
}

type Place = {
  readonly workspace: Workspace
  readonly files: WorkspaceFiles
  readonly search: RuntimeSearch
  /** Opens the same workspace for another session. */
  again(): Promise<Workspace>
  readonly link: ((path: string, target: string) => Promise<void>) | undefined
  /** Undefined if the backend does not run commands. */
  shell(): Promise<RuntimeShell | undefined>
  runtime(permit: Partial<WorkspacePermit>, signal?: AbortSignal): ToolRuntime
}

const allowing: WorkspacePermit = {
  path: () => undefined,
  host: () => undefined,
  command: () => undefined,
  grantsCommand: () => true,
}

function placeOf(backend: CheckedBackend, workspace: Workspace, options: WorkspaceBackendKitOptions): Place {
  const runtime: Place['runtime'] = (permit, signal = new AbortController().signal) =>
    workspace.runtimeFor({ ...allowing, ...permit }, signal)
  const { makeLink } = options
  const { search, shell } = runtime({})
  if (search === undefined || shell === undefined) throw new Error('the runtime has no search or no shell')
  return {
    workspace,
    files: workspace.files,
    search,
    again: () => open(backend),
    link: makeLink && (async (path, target) => makeLink(backend, path, target)),
    async shell() {
      const why = await codeOf(shell.run('true'))
      if (why === 'commands_unavailable' && options.commands !== true) return undefined
      same(why, 'done')
      return shell
    },
    runtime,
  }
}

type Check = (place: Place) => Promise<void>

const checks: Readonly<Record<string, Check>> = {
  async 'a file is read as it was written, under every spelling of its path'({ files }) {
    const written = await files.write('src/deep/a.txt', 'hello')
    same([written.path, written.bytes, written.created], ['src/deep/a.txt', 5, true])
    const content = await files.read('src/deep/a.txt')
    same([text(content.bytes), content.size, content.version], ['hello', 5, written.version])
    same(await files.readText('./src//deep/../deep/a.txt'), 'hello')
    same(await files.readText(`${files.root}/src/deep/a.txt`), 'hello')
    same((await files.write('src/deep/a.txt', 'other')).created, false)
    same(text(await files.readRange('src/deep/a.txt', 1, 3)), 'th')
    same(text(await files.readRange('src/deep/a.txt', 3, 99)), 'er')
  },

  async 'every byte and every name is kept'({ files }) {
    for (const bytes of [[], [0xef, 0xbb, 0xbf, 0x61, 13, 10], [0xff, 0xfe, 0x00, 0x80, 0xc3]]) {
      await files.write('b.bin', Uint8Array.from(bytes))
      same([...(await files.read('b.bin')).bytes], bytes)
    }
    const large = Uint8Array.from({ length: 300_000 }, (_, at) => (at * 31) % 256)
    await files.write('large.bin', large)
    same(Buffer.compare((await files.read('large.bin')).bytes, large), 0)
    for (const name of ['two words', `quo"te's`, 'new\nline', '-rf', '$(x)', 'é.txt', 'émoji-🦀']) {
      await files.write(`d/${name}`, name)
      same(await files.readText(`d/${name}`), name)
      same(
        (await files.list('d')).map((entry) => entry.name),
        [name],
      )
      await files.remove(`d/${name}`)
    }
  },

  async 'directories are listed by name, with kinds and sizes'({ files }) {
    await files.write('z.txt', '123')
    await files.write('a/b.txt', '')
    same(await files.list('.'), [
      { name: 'a', kind: 'directory' },
      { name: 'z.txt', kind: 'file', size: 3 },
    ])
    same((await files.stat('z.txt')).size, 3)
    same((await files.stat('.')).kind, 'directory')
    same(await codeOf(files.list('z.txt')), 'file_kind')
    same(await codeOf(files.list('none')), 'file_not_found')
  },

  async 'what is in the way is named'({ files }) {
    await files.write('file', '')
    await files.write('dir/x', '')
    same(await codeOf(files.write('file/x', '')), 'file_kind')
    same(await codeOf(files.read('file/x')), 'file_kind')
    same(await codeOf(files.write('dir', '')), 'file_kind')
    same(await codeOf(files.read('dir')), 'file_kind')
    same(await codeOf(files.read('no/ne')), 'file_not_found')
  },

  async 'a write replaces only the version that it names'({ files }) {
    const first = await files.write('a', 'one', { ifVersion: null })
    same(await codeOf(files.write('a', 'two', { ifVersion: null })), 'file_changed')
    await files.write('a', 'two', { ifVersion: first.version })
    same(await codeOf(files.write('a', 'three', { ifVersion: first.version })), 'file_changed')
    same(await files.readText('a'), 'two')
  },

  async 'of many conditional writers exactly one succeeds'({ files }) {
    const { version } = await files.write('d/a', 'start')
    const spellings = ['d/a', './d/a', 'd/../d/a', `${files.root}/d//a`]
    const codes = await Promise.all(
      Array.from({ length: 12 }, (_, at) =>
        codeOf(files.write(spellings[at % 4] ?? 'd/a', `w${at}`, { ifVersion: version })),
      ),
    )
    same(codes.filter((code) => code === 'done').length, 1)
    same(codes.filter((code) => code === 'file_changed').length, 11)
  },

  async 'all changes are made, or none'({ files }) {
    const a = await files.write('a', 'a')
    await files.write('b', 'b')
    const before = { version: a.version, bytes: new TextEncoder().encode('a') }
    const stale = { version: '0'.repeat(32), bytes: new Uint8Array() }
    const changes = [
      { kind: 'write', path: 'a', after: 'A', before },
      { kind: 'create', path: 'new/c', after: 'c' },
      { kind: 'remove', path: 'b', before: stale },
    ] as const
    same(await codeOf(files.change(changes)), 'files_not_changed')
    same(await files.readText('a'), 'a')
    same(await codeOf(files.read('new/c')), 'file_not_found')
    await files.change(changes.slice(0, 2))
    same([await files.readText('a'), await files.readText('new/c')], ['A', 'c'])
  },

  async 'files and empty directories are removed, and nothing else'({ files }) {
    await files.write('d/a', '')
    same(await codeOf(files.remove('d')), 'file_system')
    await files.remove('d/a')
    await files.remove('d')
    same(await codeOf(files.remove('d')), 'file_not_found')
    same(await codeOf(files.remove('.')), 'path_protected')
  },

  async 'files and directories are moved, and replace nothing'({ files }) {
    await files.write('a', '1')
    await files.write('b', '2')
    same(await codeOf(files.move('a', 'b')), 'file_exists')
    await files.move('a', 'new/dir/a')
    same(await codeOf(files.stat('a')), 'file_not_found')
    await files.move('new', 'old')
    same(await files.readText('old/dir/a'), '1')
    same(await codeOf(files.stat('new')), 'file_not_found')
    same(await codeOf(files.move('old', 'old/dir/in-itself')), 'file_system')
    same(await codeOf(files.move('none', 'x')), 'file_not_found')
  },

  async 'no path leads out of the workspace'({ files, search }) {
    for (const path of ['..', '../x', 'a/../../x', '/etc/hostname', `${files.root}-evil/x`]) {
      same(await codeOf(files.read(path)), 'path_outside')
      same(await codeOf(files.write(path, '')), 'path_outside')
      same(await codeOf(search.grep({ pattern: 'x', path, limit: 1 })), 'search_path_refused')
    }
    for (const path of ['', 'a\0b', 'y'.repeat(300)]) same(await codeOf(files.read(path)), 'path_invalid')
  },

  async 'no link leads out of the workspace'({ files, search, link, workspace }) {
    if (link === undefined) return
    await files.write('inside/a.txt', 'needle')
    await link('to-inside', 'inside')
    await link('to-file', 'inside/a.txt')
    await link('out', '/etc')
    await link('up', '../..')
    await link('loop', 'loop')
    await link('dangling', '/nowhere/file')
    same(await files.readText('to-inside/a.txt'), 'needle')
    same(await files.resolve('to-file'), `${files.root}/inside/a.txt`)
    for (const path of ['out/hostname', 'out', 'up/x', 'dangling']) {
      same(await codeOf(files.read(path)), 'path_outside')
      same(await codeOf(files.write(path, 'x')), 'path_outside')
    }
    same(await codeOf(files.read('loop')), 'path_link_loop')
    same((await files.list('.')).find(({ name }) => name === 'out')?.kind, 'symlink')
    same((await search.glob({ pattern: '**/*.txt', limit: 10 })).paths, ['inside/a.txt'])
    same(await codeOf(search.grep({ pattern: 'x', path: 'out', limit: 1 })), 'search_path_refused')
    same((await workspace.followLinks(`${files.root}/out/hostname`, true)).real, '/etc/hostname')
    same(await codeOf(files.move('out', 'moved')), 'done')
    same(await codeOf(files.remove('moved')), 'done')
    await files.write('to-file', 'changed')
    same(await files.readText('inside/a.txt'), 'changed')
  },

  async 'control files are closed to tools, in every spelling'({ files }) {
    for (const path of ['.git/hooks/pre-commit', 'sub/.GIT/config', '.capstan/rules', '.mcp.json'])
      same(await codeOf(files.write(path, 'x')), 'path_protected')
    for (const path of ['bare/HEAD', 'bare/objects/x', 'bare/refs/x']) {
      const code = await codeOf(files.write(path, 'x'))
      if (path === 'bare/refs/x') same(code, 'path_protected')
    }
  },

  async 'the permit of a call is asked about real paths'({ files, link, runtime }) {
    await files.write('secret/key', 'needle')
    await files.write('open/a', 'needle')
    if (link !== undefined) await link('alias', 'secret/key')
    const denies = runtime({
      path: (kind, path) =>
        path.includes('/secret') || (kind === 'write' && path.includes('/open'))
          ? 'a rule denies it.'
          : undefined,
    })
    const own = denies.files
    if (own === undefined || denies.search === undefined) throw new Error('the runtime has no files')
    same(await codeOf(own.read('secret/key')), 'path_not_permitted')
    same(await codeOf(own.write('open/a', '')), 'path_not_permitted')
    same(await codeOf(own.move('secret', 'elsewhere')), 'path_not_permitted')
    same(await own.readText('open/a'), 'needle')
    if (link !== undefined) same(await codeOf(own.read('alias')), 'path_not_permitted')
    const found = await denies.search.grep({ pattern: 'needle', limit: 10 })
    same(
      found.lines.map(({ path }) => path),
      ['open/a'],
    )
  },

  async 'a call that was aborted does nothing more'({ files, runtime }) {
    const controller = new AbortController()
    const own = runtime({}, controller.signal)
    controller.abort()
    same(await codeOf(own.files?.write('a', 'x') ?? Promise.resolve()), 'file_aborted')
    same(await codeOf(files.stat('a')), 'file_not_found')
  },

  async 'searches find text and names, and respect ignore files'({ files, search }) {
    await files.write('.gitignore', '*.log\nbuild/\n')
    await files.write('a.ts', 'one\nTwo needle\nthree\n')
    await files.write('b/c.ts', 'needle\nneedle\n')
    await files.write('b/skip.log', 'needle\n')
    await files.write('build/x.ts', 'needle\n')
    const { lines, matches, fileCount } = await search.grep({ pattern: 'needle$', limit: 10 })
    same([matches, fileCount], [3, 2])
    same(
      lines.map(({ path, line }) => `${path}:${line}`),
      ['a.ts:2', 'b/c.ts:1', 'b/c.ts:2'],
    )
    same((await search.glob({ pattern: '**/*.ts', limit: 10 })).paths, ['a.ts', 'b/c.ts'])
    same((await search.glob({ pattern: '*.ts', path: 'b', limit: 10 })).paths, ['b/c.ts'])
    same(await codeOf(search.grep({ pattern: '(', limit: 1 })), 'search_pattern_invalid')
  },

  async 'long output is readable under the path of its scratch file'({ files, workspace }) {
    const path = await workspace.scratch.write('output', 'all of it')
    same(await files.readText(path), 'all of it')
  },

  async 'commands run in the workspace, or are refused with a code'({ files, shell }) {
    const runner = await shell()
    if (runner === undefined) return
    await files.write('sub/in.txt', 'from the tools\n')
    const outcome = await runner.run('cat in.txt; pwd; printf written > out.txt; echo oops >&2; exit 3', {
      cwd: 'sub',
    })
    same(outcome.exitCode, 3)
    // Commands on a copy of the files have another path.
    same(outcome.output.replace(/^\/.*(?=\/sub$)/m, ''), 'from the tools\n/sub\noops\n')
    same(await files.readText('sub/out.txt'), 'written')
    same(await codeOf(runner.run('true', { cwd: '..' })), 'shell_directory_refused')
  },

  async 'the output of commands is bounded, and whole in a file'({ files, shell }) {
    const runner = await shell()
    if (runner === undefined) return
    const outcome = await runner.run('head -c 200000 /dev/zero | tr "\\0" x', { maxBytes: 1000 })
    same([outcome.truncated, outcome.outputBytes, outcome.output.length < 2000], [true, 200_000, true])
    same((await files.read(outcome.outputPath ?? '')).size, 200_000)
  },

  async 'a deadline ends a command with every process that it started'({ files, shell }) {
    const runner = await shell()
    if (runner === undefined) return
    const command = '(trap "" TERM; while :; do date +%s%N > beat; sleep 0.1; done) & sleep 600'
    const outcome = await runner.run(command, { timeoutMs: 3000 })
    same([outcome.timedOut, outcome.exitCode], [true, null])
    const last = await files.readText('beat').catch(() => 'none')
    await runner.run('sleep 1')
    same(await files.readText('beat').catch(() => 'none'), last)
  },

  async 'an abort ends a command'({ shell }) {
    const runner = await shell()
    if (runner === undefined) return
    const controller = new AbortController()
    const outcome = await runner.run('echo started; sleep 600', {
      signal: controller.signal,
      onOutput: () => controller.abort(),
    })
    same([outcome.aborted, outcome.exitCode, outcome.output], [true, null, 'started\n'])
  },

  async 'background jobs are read and ended'({ shell }) {
    const runner = await shell()
    if (runner === undefined) return
    const { id } = await runner.start('echo ready; sleep 600')
    let read = await runner.readJob(id)
    while (read.text === '' && read.job.running) {
      await new Promise((resolve) => setTimeout(resolve, 50))
      read = await runner.readJob(id)
    }
    same([read.text, read.job.running], ['ready\n', true])
    same((await runner.killJob(id)).running, false)
    same(await codeOf(runner.readJob('job-99')), 'shell_job_unknown')
  },

  async 'two sessions on one backend see the same files, and end one by one'({ files, again }) {
    await files.write('shared', '1')
    const second = await again()
    await second.files.write('shared', '2')
    await second.close()
    same(await files.readText('shared'), '2')
  },
}

function text(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes)
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'done',
    (thrown: unknown) => (thrown instanceof CapstanError ? thrown.code : messageOf(thrown)),
  )
}

function same(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected))
    throw new Error(`expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`)
}
