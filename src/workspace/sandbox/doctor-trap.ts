import { type ChildProcess, spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { type AddressInfo, createServer, type ListenOptions, type Server } from 'node:net'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { textIfReadable } from '../if-readable.js'
import type { UnreadablePaths } from '../shell/confinement.js'
import { isAlive, type ProcessEntry, readProcess } from '../shell/process-table.js'
import { newToken } from '../shell/run-marker.js'
import { deniedName, emptied, escapeScript, moved, secret } from './escape-script.js'
import { rootOnlyFiles } from './root-only-files.js'

/** The result of one escape attempt of the doctor. */
export type DoctorCheck = {
  readonly check: string
  /** Whether the attempt was blocked. */
  readonly held: boolean
  readonly detail: string
  /**
   * False when the attempt does not apply to the sandbox of this machine: `detail` has the reason, and `held` is true.
   */
  readonly applies?: false | undefined
  /** Whether the sandbox was written without a machine to test it on. */
  readonly unproven?: true | undefined
}

/** An escape attempt: canaries outside, listeners on the host, and a script that tries to reach all of them. */
export type Trap = {
  readonly root: string
  readonly tmp: string
  readonly home: string
  readonly script: string
  /** Files that a rule would deny; the script tries to read them. */
  readonly unreadable: UnreadablePaths
  /** Judges by the effects on the host where they can be observed, otherwise by the output of the script. */
  judge(ended: TrapEnd): Promise<DoctorCheck[]>
  close(): Promise<void>
}

/** What is known when the script has ended. */
export type TrapEnd = {
  readonly output: string
  /** What the sandbox printed; the script prints no errors. */
  readonly errors: string
  readonly survivors: number
}

export type TrapOptions = {
  /** Whether commands cannot create a repository anywhere. Without a guard, one is detected after its creation. */
  readonly guarded: boolean
  /** Whether commands have separate mounts, processes, network and user. */
  readonly namespaces: boolean
}

export async function buildTrap(place: string, { guarded, namespaces }: TrapOptions): Promise<Trap> {
  const root = join(place, 'work')
  const tmp = join(place, 'tmp')
  const home = join(place, 'home')
  const git = join(root, '.git')
  // Few and small files: the thread pool would take ten times as long.
  for (const directory of [tmp, home, join(git, 'hooks'), join(git, 'info')])
    mkdirSync(directory, { recursive: true })
  writeFileSync(join(git, 'config'), '[core]\n')
  for (const name of ['secret', emptied, moved]) {
    writeFileSync(join(place, name), secret)
    // Readable for all: only the sandbox must prevent the command from reading it.
    chmodSync(join(place, name), 0o644)
  }
  utimesSync(join(place, 'secret'), canaryTime, canaryTime)
  const bystander = await startBystander()
  const reached = { tcp: 0, udp: 0, unix: 0 }
  const tcp = await listening(() => reached.tcp++, { port: 0, host: '127.0.0.1' })
  const unixOutside = await listening(() => reached.unix++, { path: join(place, 'host.sock') })
  const unixInside = await listening(() => reached.unix++, { path: join(root, 'host.sock') })
  // Renamed after it was bound: the kernel's table still has the old name.
  const unixRenamed = await listening(() => reached.unix++, { path: join(root, 'before.sock') })
  renameSync(join(root, 'before.sock'), join(root, 'renamed.sock'))
  const abstract = `capstan-doctor-${newToken()}`
  const unixAbstract = await listening(() => reached.unix++, { path: `\0${abstract}` })
  mkdirSync(join(root, 'a/b/c/d/e/f'), { recursive: true })
  writeFileSync(join(root, 'a/b/c/d/e/f', deniedName), secret)
  const udp = createSocket('udp4', () => reached.udp++)
  udp.bind(0, '127.0.0.1')
  await once(udp, 'listening')
  const outside = ['/etc', '/usr', '/var', homedir(), place].map((path) =>
    join(path, `capstan-doctor-${newToken()}`),
  )
  const script = escapeScript({
    place,
    outside,
    abstract,
    bystander: bystander.entry,
    rootOnly: await rootOnlyFiles([]),
    tcpPort: (tcp.address() as AddressInfo).port,
    udpPort: udp.address().port,
    environment: Object.keys(process.env).filter(
      (name) => /^[A-Za-z_]\w*$/.test(name) && !expected.has(name),
    ),
  })
  return {
    root,
    tmp,
    home,
    script,
    unreadable: { key: {}, denies: (path) => basename(path) === deniedName },
    async judge(ended) {
      // The end of the script can be handled before a connection or datagram that the kernel delivered earlier.
      for (let turn = 0; turn < 2; turn++) await nextTurn()
      return judge({
        place,
        root,
        outside,
        ...ended,
        reached,
        guarded,
        namespaces,
        bystander: bystander.entry,
      })
    },
    async close() {
      bystander.process.kill('SIGKILL')
      for (const server of [tcp, unixOutside, unixInside, unixRenamed, unixAbstract]) server.close()
      udp.close()
      // These exist only if the sandbox failed.
      for (const path of outside.filter((each) => existsSync(each))) rmSync(path, { force: true })
    },
  }
}

/** Names of the fixed list, which the host's environment can contain too. */
const expected = new Set(
  'PATH HOME TMPDIR LANG TERM PWD SHLVL _ PAGER GIT_PAGER GIT_EDITOR GIT_ASKPASS SSH_ASKPASS GIT_TERMINAL_PROMPT GIT_CONFIG_NOSYSTEM DEBIAN_FRONTEND CAPSTAN_RUN_ID OLDPWD'.split(
    ' ',
  ),
)

/** The date of the canary file. */
const canaryTime = 1_000_000_000

type Bystander = { readonly process: ChildProcess; readonly entry: ProcessEntry }

/** Starts a process of the host that the script attacks. It ends with the host, whose end of the pipe it reads. */
async function startBystander(): Promise<Bystander> {
  const child = spawn('/bin/sh', ['-c', 'read -r line'], {
    cwd: '/',
    env: { CANARY: secret },
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  await once(child, 'spawn')
  child.unref()
  const entry = readProcess(child.pid ?? -1)
  if (entry === undefined)
    throw new Error('The process that the test of the sandbox attacks has ended by itself.')
  return { process: child, entry }
}

type Evidence = {
  readonly place: string
  readonly bystander: ProcessEntry
  readonly root: string
  readonly outside: readonly string[]
  readonly reached: { readonly tcp: number; readonly udp: number; readonly unix: number }
} & TrapOptions &
  TrapEnd

function judge({
  place,
  root,
  outside,
  output,
  errors,
  survivors,
  reached,
  guarded,
  namespaces,
  bystander,
}: Evidence): DoctorCheck[] {
  const said = output.split('\n')
  const saw = (...words: string[]): string[] =>
    said.filter((line) => words.some((word) => line === word || line.startsWith(`${word} `)))
  const check = (name: string, bad: readonly string[], good: string): DoctorCheck => ({
    check: name,
    held: bad.length === 0,
    detail: bad.length === 0 ? good : bad.join(', '),
  })
  const apart = (name: string, why: string): DoctorCheck => ({
    check: name,
    held: true,
    applies: false,
    detail: why,
  })
  const inWork = (path: string): string => join(root, path)
  const changed = [
    ...(existsSync(inWork('.git/hooks/post-checkout')) ? ['a hook was written'] : []),
    ...(contentOf(inWork('.git/config')) === '[core]\n' ? [] : ['.git/config was changed']),
    ...(existsSync(inWork('.git/info/attributes')) ? ['.git/info/attributes was written'] : []),
    ...['.git/index', '.git/commondir', '.husky/x', '.vscode/x']
      .filter((path) => existsSync(inWork(path)))
      .map((path) => `${path} was made`),
    ...saw('moved-git'),
    ...(guarded ? ['a/b/nested/.git', 'a/b/.git', 'a/.git', '.mcp.json'] : [])
      .filter((path) => lstatSync(inWork(path), { throwIfNoEntry: false }) !== undefined)
      .map((path) => `${path} was made`),
    ...['.git/config.worktree', '.git/modules']
      .filter((path) => existsSync(inWork(path)))
      .map((path) => `${path} was made`),
  ]
  const asOwner = ['as-owner', 'as-owner-new'].filter(
    (name) => ((statSync(inWork(name), { throwIfNoEntry: false })?.mode ?? 0) & 0o6000) !== 0,
  )
  const device = lstatSync(inWork('device'), { throwIfNoEntry: false })
  const works = [
    ...(said.includes('finished')
      ? []
      : [`the test did not run to its end${errors === '' ? '' : ` (${errors.trim()})`}`]),
    ...(said.includes('no-perl') || said.includes('tried-all') ? [] : ['Perl did not run to its end']),
    ...(existsSync(inWork('inside')) ? [] : ['the workspace is not writable']),
  ]
  const canary = statSync(join(place, 'secret'), { throwIfNoEntry: false })
  const changedOutside = [
    ...(contentOf(join(place, moved)) === secret ? [] : ['a file outside was moved']),
    ...(contentOf(join(place, emptied)) === secret ? [] : ['a file outside was emptied']),
    ...(canary !== undefined && (canary.mode & 0o777) === 0o644 ? [] : ['its mode was changed']),
    ...(canary?.mtimeMs === canaryTime * 1000 ? [] : ['its date was changed']),
    ...(existsSync(join(place, 'through-link')) ? ['a link led out'] : []),
    ...saw('hard-link', 'symbolic-link', 'through-proc'),
  ]
  const attacked = [
    ...(isAlive(bystander) ? [] : ['a process was ended']),
    ...(/^Max open files +77 /m.test(textIfReadable(`/proc/${bystander.pid}/limits`) ?? '')
      ? ['a limit was changed']
      : []),
    ...(niceOf(bystander.pid) === 19 ? ['a priority was changed'] : []),
    // A signal that was sent may not have ended the process yet.
    ...saw('traced', 'process-signalled', 'process-read', 'process-write'),
  ]
  /** Checks that need Perl. */
  const withPerl = (name: string, bad: readonly string[], good: string): DoctorCheck =>
    said.includes('no-perl') && bad.length === 0
      ? apart(name, 'Perl is not installed, which is used to try')
      : check(name, bad, good)
  return [
    check('modes, dates and links of files outside', changedOutside, 'nothing was changed'),
    check('processes of the host', attacked, 'no signal, limit, priority or trace reaches them'),
    withPerl('kernel calls', saw('kernel-call', 'other-calls'), 'refused by a system call filter'),
    guarded
      ? check(
          'files that run as their owner',
          asOwner,
          'none can be made: they would have the rights of this host',
        )
      : apart('files that run as their owner', 'there is no guard here, and only it can refuse them'),
    check('devices', device?.isCharacterDevice() === true ? ['a device was made'] : [], 'none can be made'),
    guarded
      ? check(
          'the process that guards the command',
          saw('guard-memory', 'guard-environment', 'guard-traced'),
          'its memory cannot be opened, and nothing can trace it',
        )
      : apart('the process that guards the command', 'there is none here'),
    check('control groups', saw('control-group'), 'no group of the machine can be joined or changed'),
    withPerl('files by handle', saw('file-handle'), 'refused'),
    withPerl('sockets below IP', saw('raw-socket'), 'refused'),
    check('commands work inside', works, 'the workspace is writable'),
    check(
      'write outside the workspace',
      [...outside.filter((path) => existsSync(path)), ...saw('reopened')],
      'refused everywhere',
    ),
    check('read a secret', saw('secret', 'home', 'environ'), 'home directories and other places look empty'),
    process.getuid?.() === 0
      ? check('files that only root can read', saw('root-only'), 'hidden, although the host is root')
      : apart('files that only root can read', 'the host is not root'),
    check('environment', saw('env'), "nothing of the host's environment is inside"),
    check(
      'network TCP',
      [...saw('tcp-host'), ...(reached.tcp > 0 ? ['a connection arrived'] : [])],
      'nothing can be reached',
    ),
    check('network UDP', reached.udp > 0 ? ['a datagram arrived'] : [], 'nothing can be reached'),
    // Without an interface and a route nothing can be reached, name servers included: no packet has to be sent to the
    // internet to verify that.
    namespaces
      ? check('network beyond the host', saw('interfaces', 'route'), 'no interface and no route leads out')
      : apart(
          'network beyond the host',
          'the interfaces are those of the host, and no socket can reach them',
        ),
    check('sockets of the host', saw('host-sockets'), 'not listed'),
    check('nested namespace', saw('nested', 'mounts', 'mount', 'new-mount'), 'refused'),
    check('capabilities', saw('capabilities', 'privileges'), 'none, and none can be gained'),
    namespaces || process.getuid?.() !== 0
      ? check('user inside', saw('root-inside'), 'not root')
      : apart('user inside', "the user number is the host's, root, without capabilities"),
    check('kernel settings', saw('kernel-setting'), '/proc/sys and the like are not writable'),
    check('kernel memory and firmware', saw('kernel-memory'), 'covered'),
    check('kernel keyrings', saw('keyring', 'no-filter', 'vsock'), 'refused by a system call filter'),
    check('inherited descriptors', saw('descriptor'), 'closed'),
    check('files denied by rules', saw('denied-file'), 'hidden, at any depth'),
    check(
      'protected paths',
      changed,
      '.git can be neither renamed nor written to, and .husky and .vscode cannot be made',
    ),
    check(
      'host Unix sockets',
      [
        ...saw('socket-connected'),
        // Without mounts, the sockets are visible.
        ...(namespaces ? saw('socket-in-workspace', 'socket-outside', 'socket-place') : []),
        ...(reached.unix > 0 ? ['a connection arrived'] : []),
      ],
      namespaces ? 'covered' : 'no connection is made',
    ),
    check('terminal', saw('terminal', 'terminal-input'), 'there is none to push input into'),
    check(
      'process escape',
      [
        ...saw('processes', 'shared-memory'),
        ...(survivors > 0 ? [`${survivors} processes outlived it`] : []),
      ],
      'host processes are not visible, and nothing outlives the command',
    ),
    check('core dumps', saw('core'), 'off'),
  ]
}

function niceOf(pid: number): number | undefined {
  const fields = textIfReadable(`/proc/${pid}/stat`)
    ?.replace(/^.*\) /s, '')
    .split(' ')
  return fields === undefined ? undefined : Number(fields[16])
}

async function listening(onConnection: () => void, where: ListenOptions): Promise<Server> {
  const server = createServer((socket) => {
    onConnection()
    socket.destroy()
  })
  server.listen(where)
  await once(server, 'listening')
  return server
}

function contentOf(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}
