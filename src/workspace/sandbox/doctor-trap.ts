import { type ChildProcess, spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync, lstatSync, readFileSync, statSync } from 'node:fs'
import { chmod, mkdir, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type ListenOptions, type Server } from 'node:net'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import { textIfReadable } from '../if-readable.js'
import type { UnreadablePaths } from '../shell/confinement.js'
import { newToken } from '../shell/run-marker.js'
import { rootOnlyFiles } from './root-only-files.js'
import { keyctlNumber } from './seccomp.js'

export type DoctorCheck = {
  readonly check: string
  /** The wall held: what was tried did not succeed. */
  readonly held: boolean
  readonly detail: string
  /** The sandbox of this machine does not have what was to be tried: `detail` says why, and `held` is true. */
  readonly applies?: false | undefined
  /** The sandbox was written without a machine to try it on. */
  readonly unproven?: true | undefined
}

/** A world to break out of: canaries outside, listeners on the host, and a script that goes for all of them. */
export type Trap = {
  readonly root: string
  readonly tmp: string
  readonly home: string
  readonly script: string
  /** Files that a rule would deny; the script tries to read them. */
  readonly unreadable: UnreadablePaths
  /** Judges by what happened to the host where that can be seen, and else by what the script could see. */
  judge(output: string, survivors: number): Promise<DoctorCheck[]>
  close(): Promise<void>
}

const secret = 'capstan-canary-5f1c'
const deniedName = 'denied.secret'

export type TrapOptions = {
  /** Commands must not be able to make a repository anywhere. Without a guard one is found when it is there. */
  readonly guarded: boolean
  /** Commands have mounts, processes, a network and a user of their own. */
  readonly namespaces: boolean
}

export async function buildTrap(place: string, { guarded, namespaces }: TrapOptions): Promise<Trap> {
  const root = join(place, 'work')
  const tmp = join(place, 'tmp')
  const home = join(place, 'home')
  const git = join(root, '.git')
  for (const directory of [tmp, home, join(git, 'hooks'), join(git, 'info')])
    await mkdir(directory, { recursive: true })
  await writeFile(join(git, 'config'), '[core]\n')
  await writeFile(join(place, 'secret'), secret)
  // Readable for all: only the sandbox is to keep it from the command.
  await chmod(join(place, 'secret'), 0o644)
  await utimes(join(place, 'secret'), canaryTime, canaryTime)
  const bystander = await startBystander()
  const reached = { tcp: 0, udp: 0, unix: 0 }
  const tcp = await listening(() => reached.tcp++, { port: 0, host: '127.0.0.1' })
  const unixOutside = await listening(() => reached.unix++, { path: join(place, 'host.sock') })
  const unixInside = await listening(() => reached.unix++, { path: join(root, 'host.sock') })
  // Renamed after it was bound: the kernel's table still has the old name.
  const unixRenamed = await listening(() => reached.unix++, { path: join(root, 'before.sock') })
  await rename(join(root, 'before.sock'), join(root, 'renamed.sock'))
  const abstract = `capstan-doctor-${newToken()}`
  const unixAbstract = await listening(() => reached.unix++, { path: `\0${abstract}` })
  await mkdir(join(root, 'a/b/c/d/e/f'), { recursive: true })
  await writeFile(join(root, 'a/b/c/d/e/f', deniedName), secret)
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
    bystander: bystander.pid ?? -1,
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
    judge: async (output, survivors) =>
      judge({ place, root, outside, output, survivors, reached, guarded, namespaces, bystander }),
    async close() {
      bystander.kill('SIGKILL')
      for (const server of [tcp, unixOutside, unixInside, unixRenamed, unixAbstract]) server.close()
      udp.close()
      // There only if the sandbox did not hold.
      for (const path of outside.filter((each) => existsSync(each))) await rm(path, { force: true })
    },
  }
}

/** Names of the fixed list, which a host may well have too. */
const expected = new Set(
  'PATH HOME TMPDIR LANG TERM PWD SHLVL _ PAGER GIT_PAGER GIT_EDITOR GIT_ASKPASS SSH_ASKPASS GIT_TERMINAL_PROMPT GIT_CONFIG_NOSYSTEM DEBIAN_FRONTEND CAPSTAN_RUN_ID OLDPWD'.split(
    ' ',
  ),
)

/** Opened for writing, never written: a machine whose sandbox does not hold must not be changed. */
const kernelSettings = [
  '/proc/sys/kernel/core_pattern',
  '/proc/sys/kernel/modprobe',
  '/proc/sys/kernel/sysrq',
  '/proc/sys/vm/overcommit_memory',
  '/proc/sysrq-trigger',
  '/proc/mtrr',
  '/proc/irq/default_smp_affinity',
  '/sys/kernel/uevent_helper',
]
const kernelMemory = [
  '/proc/kcore',
  '/proc/kpagecount',
  '/proc/keys',
  '/proc/timer_list',
  '/proc/vmallocinfo',
]

/** The date of the canary file. */
const canaryTime = 1_000_000_000

/** A process of the host that the script goes for. */
async function startBystander(): Promise<ChildProcess> {
  const child = spawn('/bin/sh', ['-c', 'exec sleep 600'], { cwd: '/', env: {}, stdio: 'ignore' })
  await once(child, 'spawn')
  child.unref()
  return child
}

type Targets = {
  readonly place: string
  /** The name of a socket that is in no directory. Node 20 fills it up with zeros, later ones do not. */
  readonly abstract: string
  /** The number of a process of the host. */
  readonly bystander: number
  readonly outside: readonly string[]
  /** Files and directories that only root can read. */
  readonly rootOnly: readonly string[]
  readonly tcpPort: number
  readonly udpPort: number
  readonly environment: readonly string[]
}

/**
 * Each line reports one thing that could be done or seen; silence is what we want. On a machine whose sandbox does not
 * hold, all of this happens to the host: so nothing here may do harm or stay, and nothing but its own directory is
 * mounted over. Files are removed by `close`, the process ends by itself.
 */
function escapeScript({
  place,
  outside,
  abstract,
  bystander,
  rootOnly,
  tcpPort,
  udpPort,
  environment,
}: Targets): string {
  const q = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
  return `
exec 2>/dev/null
${functions}
echo started
has_entries ${q(homedir())} && echo home
echo inside > inside && echo wrote-inside
for f in ${outside.map(q).join(' ')}; do echo x > "$f"; done
has_bytes ${q(join(place, 'secret'))} && echo secret
grep -qs ${secret} /proc/*/environ && echo environ
exported=" $(compgen -e) "
for n in ${environment.join(' ')}; do [[ $exported == *[[:space:]]"$n"[[:space:]]* ]] && echo "env $n"; done
(exec 3<>/dev/tcp/127.0.0.1/${tcpPort}) && echo tcp-host
echo x > /dev/udp/127.0.0.1/${udpPort}
at_most_one /proc/net/route '*' || echo route
at_most_one /proc/net/dev '*:*' || echo interfaces
unshare -Ur true && echo nested
unshare -m true && echo mounts
mkdir mount-here && mount -t tmpfs none mount-here && { echo mount; umount mount-here; }
status=$(</proc/self/status)
says CapEff '0*' || echo capabilities
says NoNewPrivs 1 || echo privileges
[ "$EUID" = 0 ] && echo root-inside
for f in ${kernelSettings.join(' ')}; do (: >> $f) && echo "kernel-setting $f"; done
for f in ${kernelMemory.join(' ')}; do has_bytes $f && echo "kernel-memory $f"; done
for d in /sys/firmware /sys/devices/virtual/powercap; do has_entries $d && echo "kernel-memory $d"; done
says Seccomp 2 || echo no-filter
keyctl show && echo keyring
for f in /proc/self/fd/*; do n=\${f##*/}; [ "$n" -gt 2 ] && [ -e "$f" ] && echo "descriptor $n"; done
: < a/b/c/d/e/f/${deniedName} && echo denied-file
mv .git .git-moved && echo moved-git
echo x > .git/hooks/post-checkout
echo x >> .git/config
echo x > .git/info/attributes
mkdir -p .husky/x .vscode/x
mkdir -p a/b/nested/.git; mkdir a/moved; mv -T a/moved a/b/.git; ln -s ../inside a/.git
echo x > .mcp.json
echo index > .git/index
echo ../evil > .git/commondir
perl -MSocket -e 'print "vsock\\n" if socket(S, 40, SOCK_STREAM, 0);
for my $f (@ARGV) { socket(S, 1, 1, 0) && connect(S, pack_sockaddr_un($f)) && print "socket-connected $f\\n" }
my $n = chr(0) . "${abstract}"; for my $a (pack_sockaddr_un($n), pack("Sa108", 1, $n)) { socket(S, 1, 1, 0) && connect(S, $a) && print "socket-connected abstract\\n" }
print "tcp-host\\n" if socket(S, 2, 1, 0) && connect(S, sockaddr_in(${tcpPort}, inet_aton("127.0.0.1")));
socket(S, 10, 2, 0) && send(S, "x", 0, pack_sockaddr_in6(${udpPort}, Socket::inet_pton(10, "::ffff:127.0.0.1")));
print "tried-sockets\\n"' host.sock renamed.sock ${q(join(place, 'host.sock'))} /run/docker.sock /run/dbus/system_bus_socket
command -v perl >/dev/null || echo no-perl
chmod 0600 ${q(join(place, 'secret'))}; touch -d 2011-11-11 ${q(join(place, 'secret'))}
ln ${q(join(place, 'secret'))} linked; ln -P ${q(join(place, 'secret'))} linked-too
for f in linked linked-too; do has_bytes $f && echo hard-link; done
ln -s ${q(place)} way-out; echo x > way-out/through-link; has_bytes way-out/secret && echo symbolic-link
has_bytes /proc/self/root${q(join(place, 'secret'))} && echo through-proc
mv ${q(join(place, 'secret'))} taken
${bystander > 1000 ? attacks(bystander) : ''}
perl -e 'truncate($ARGV[0], 0); shift; print "keyring\\n" unless syscall(shift, 0, -3, 0) < 0;
for my $n (@ARGV) { my $r = syscall($n, 0, 0, 0, 0, 0); print "kernel-call $n\\n" unless $r < 0 && ($! == 1 || $! == 13 || $! == 38) }
print "tried-calls\\n"' ${q(join(place, 'secret'))} ${keyctlNumber() ?? -1} ${Object.values(kernelCalls).join(' ')}
cp /bin/true as-owner; chmod 6755 as-owner; mknod device c 1 3
exec 5</etc/passwd; (: >> /proc/self/fd/5) && echo reopened; exec 5<&-
(exec 3<>/proc/1/mem) && echo guard-memory; has_bytes /proc/1/environ && echo guard-environment
for f in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/*/cgroup.procs /sys/fs/cgroup/*/release_agent; do (: >> $f) && echo "control-group $f"; done
echo x > .git/config.worktree; mkdir .git/modules
${isArm ? '' : `perl -e '${callAttempts}'`}
[ -S host.sock ] && echo socket-in-workspace
[ -S renamed.sock ] && echo socket-in-workspace renamed
[ -S ${q(join(place, 'host.sock'))} ] && echo socket-outside
for d in /run/docker.sock /run/dbus /run/user /tmp/.X11-unix; do [ -e $d ] && echo "socket-place $d"; done
(exec 9<>/dev/tty) && echo terminal
set -- /proc/[0-9]*; [ $# -lt 20 ] || echo processes
: < /proc/sysvipc/shm && { at_most_one /proc/sysvipc/shm '*' || echo shared-memory; }
[ "$(ulimit -c)" = 0 ] || echo core
for f in /proc/net /proc/self/net /proc/thread-self/net /proc/$$/task/$$/net; do mapfile -t lines < $f/tcp && [[ \${lines[*]} == *":${tcpPort.toString(16).toUpperCase().padStart(4, '0')} "* ]] && echo "host-sockets $f"; done
for f in ${rootOnly.map(q).join(' ')}; do { read -r -N 1 < "$f" || [ -d "$f" -a -n "$(ls -A "$f")" ]; } && echo "root-only $f"; done
(setsid sleep 5 >/dev/null &)
echo finished
`
}

/** Parts of the shell itself, because every process that runs a command waits for this script once. */
const functions = `has_bytes() { local byte; IFS= read -r -d '' -n 1 byte < "$1"; }
has_entries() (shopt -s nullglob dotglob; set -- "$1"/*; [ $# -gt 0 ])
at_most_one() {
  local lines line count=0
  mapfile -t lines < "$1" || return
  for line in "\${lines[@]}"; do [[ $line == $2 ]] && count=$((count + 1)); done
  [ $count -le 1 ]
}
says() { [[ $'\\n'$status$'\\n' =~ $'\\n'$1:[[:space:]]*$2$'\\n' ]]; }`

/** What a process of one user can do to another of the same user. Inside a pid namespace the number is free. */
function attacks(pid: number): string {
  return `kill -TERM ${pid}; kill -KILL ${pid}; prlimit --pid ${pid} --nofile=77:77; renice -n 19 -p ${pid}
perl -e 'exit(syscall(${ptraceNumber}, 16, ${pid}, 0, 0) < 0 ? 1 : 0)' && echo "traced"
for f in environ maps; do has_bytes /proc/${pid}/$f && echo "process-read"; done
: > /proc/${pid}/oom_score_adj && echo "process-write"`
}

/**
 * System calls of x64 that no command needs, by number. Strings are copied: Perl passes no constants. In this order: a
 * file that runs as its owner, input for a terminal, mounts by descriptors, a file by its handle, sockets below IP, a
 * trace of process 1, a call of the x32 table.
 */
const callAttempts = `my ($new, $root, $fs, $handle, $id) = ("as-owner-new", "/", "tmpfs", pack("Ll", 128, 0) . "\\0" x 128, "\\0" x 8);
syscall(85, $new, 06755);
my $x = "x"; for my $n (0 .. 2) { print "terminal-input\\n" if syscall(16, $n, 0x5412, $x) == 0 }
print "new-mount\\n" if syscall(428, -100, $root, 1) >= 0 || syscall(430, $fs, 0) >= 0;
open D, "<", "/" and syscall(303, -100, my $file = "/etc/passwd", $handle, $id, 0) == 0 and syscall(304, fileno(D), $handle, 0) >= 0 and print "file-handle\\n";
for ([2, 3, 1], [17, 3, 768], [10, 3, 58]) { print "raw-socket $_->[0]\\n" if syscall(41, @$_) >= 0 }
print "guard-traced\\n" if syscall(101, 0x4206, 1, 0, 0) >= 0;
print "other-calls\\n" if syscall(0x40000000 + 39) > 0`

const isArm = process.arch === 'arm64'
const ptraceNumber = isArm ? 117 : 101
/** Calls that no command needs and that have broken kernels: all are refused, whatever their arguments are. */
const kernelCalls = {
  bpf: isArm ? 280 : 321,
  perf_event_open: isArm ? 241 : 298,
  userfaultfd: isArm ? 282 : 323,
  io_uring_setup: 425,
  io_uring_register: 427,
  add_key: isArm ? 217 : 248,
  request_key: isArm ? 218 : 249,
  init_module: isArm ? 105 : 175,
  finit_module: isArm ? 273 : 313,
} as const

type Evidence = {
  readonly place: string
  readonly bystander: ChildProcess
  readonly root: string
  readonly outside: readonly string[]
  readonly output: string
  readonly survivors: number
  readonly reached: { readonly tcp: number; readonly udp: number; readonly unix: number }
} & TrapOptions

function judge({
  place,
  root,
  outside,
  output,
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
    ...(said.includes('finished') ? [] : ['the test did not run to its end']),
    ...(said.includes('no-perl') || (said.includes('tried-sockets') && said.includes('tried-calls'))
      ? []
      : ['Perl did not run to its end']),
    ...(existsSync(inWork('inside')) ? [] : ['the workspace is not writable']),
  ]
  const canary = statSync(join(place, 'secret'), { throwIfNoEntry: false })
  const changedOutside = [
    ...(canary === undefined || canary.size !== secret.length ? ['a file outside was moved or emptied'] : []),
    ...(canary !== undefined && (canary.mode & 0o777) !== 0o644 ? ['its mode was changed'] : []),
    ...(canary !== undefined && canary.mtimeMs !== canaryTime * 1000 ? ['its date was changed'] : []),
    ...(existsSync(join(place, 'through-link')) ? ['a link led out'] : []),
    ...saw('hard-link', 'symbolic-link', 'through-proc'),
  ]
  const attacked = [
    ...(bystander.exitCode === null && bystander.signalCode === null ? [] : ['a process was ended']),
    ...(/^Max open files +77 /m.test(textIfReadable(`/proc/${bystander.pid}/limits`) ?? '')
      ? ['a limit was changed']
      : []),
    ...(niceOf(bystander.pid ?? -1) === 19 ? ['a priority was changed'] : []),
    ...saw('traced', 'process-read', 'process-write'),
  ]
  /** What only Perl can try. */
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
    check('commands work inside', works, 'the workspace takes writes'),
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
    // Without an interface and a route there is no way out, for names neither: nothing has to be sent to strangers to
    // see that.
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
    check('kernel settings', saw('kernel-setting'), '/proc/sys and the like take no writes'),
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
        // Without mounts they can be seen.
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
