import { homedir } from 'node:os'
import { join } from 'node:path'
import type { ProcessEntry } from '../shell/process-table.js'
import { keyctlNumber } from './seccomp.js'

/** The content of files that no command can read. */
export const secret = 'capstan-canary-5f1c'
export const deniedName = 'denied.secret'

export type Targets = {
  readonly place: string
  /** The name of an abstract socket. Node 20 pads it with zeros, later versions do not. */
  readonly abstract: string
  /** The ID of a process of the host. */
  /** A process of the host, which the script attacks. */
  readonly bystander: Pick<ProcessEntry, 'pid' | 'startTime'>
  readonly outside: readonly string[]
  /** Files and directories that only root can read. */
  readonly rootOnly: readonly string[]
  readonly tcpPort: number
  readonly udpPort: number
  readonly environment: readonly string[]
}

/**
 * Each line reports one thing that could be done or read; no output is the expected result. On a machine whose sandbox
 * fails, all of this affects the host: therefore nothing here causes damage or remains, and mounts only cover its own
 * directory. `close` removes the files, and the process ends by itself.
 */
export function escapeScript({
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
for f in ${kernelSettings.join(' ')}; do : >> $f && echo "kernel-setting $f"; done
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
${attacks(bystander)}
perl -e 'truncate($ARGV[0], 0); shift; print "keyring\\n" unless syscall(shift, 0, -3, 0) < 0;
for my $n (@ARGV) { my $r = syscall($n, 0, 0, 0, 0, 0); print "kernel-call $n\\n" unless $r < 0 && ($! == 1 || $! == 13 || $! == 38) }
print "tried-calls\\n"' ${q(join(place, 'secret'))} ${keyctlNumber() ?? -1} ${Object.values(kernelCalls).join(' ')}
cp /bin/true as-owner; chmod 6755 as-owner; mknod device c 1 3
exec 5</etc/passwd; (: >> /proc/self/fd/5) && echo reopened; exec 5<&-
(exec 3<>/proc/1/mem) && echo guard-memory; has_bytes /proc/1/environ && echo guard-environment
for f in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/*/cgroup.procs /sys/fs/cgroup/*/release_agent; do : >> $f && echo "control-group $f"; done
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
for f in ${rootOnly.map(q).join(' ')}; do { has_bytes "$f" || has_entries "$f"; } && echo "root-only $f"; done
(setsid sleep 5 >/dev/null &)
echo finished
`
}

/** Uses shell built-ins, because every host process that runs commands waits for this script once. */
const functions = `has_bytes() { local byte; IFS= read -r -d '' -n 1 byte < "$1"; }
shopt -s nullglob dotglob
has_entries() { set -- "$1"/*; [ $# -gt 0 ]; }
at_most_one() {
  local lines line count=0
  mapfile -t lines < "$1" || return
  for line in "\${lines[@]}"; do [[ $line == $2 ]] && count=$((count + 1)); done
  [ $count -le 1 ]
}
says() { [[ $'\\n'$status$'\\n' =~ $'\\n'$1:[[:space:]]*$2$'\\n' ]]; }`

/**
 * Returns what a process can do to another process of the same user. In a pid namespace, the pid can be that of a
 * process of the sandbox, which is not attacked: its start time is another one.
 */
function attacks({ pid, startTime }: Targets['bystander']): string {
  return `is_bystander() { local stat; read -r stat < /proc/${pid}/stat || return 0; set -- \${stat##*) }; [ "\${20}" = '${startTime}' ]; }
is_bystander && { kill -TERM ${pid}; kill -KILL ${pid}; prlimit --pid ${pid} --nofile=77:77; renice -n 19 -p ${pid}
perl -e 'exit(syscall(${ptraceNumber}, 16, ${pid}, 0, 0) < 0 ? 1 : 0)' && echo "traced"
for f in environ maps; do has_bytes /proc/${pid}/$f && echo "process-read"; done
: > /proc/${pid}/oom_score_adj && echo "process-write"; }`
}

/**
 * System calls of x64 that no command needs, by number. Strings are copied, because Perl cannot pass constants. In this
 * order: a file that runs as its owner, input for a terminal, mounts by descriptors, a file by its handle, sockets
 * below IP, a trace of process 1, a call of the x32 table.
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
/** System calls that no command needs and that have had kernel bugs: all are refused, with any arguments. */
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

/** Opened for writing, but never written: a machine whose sandbox fails must not be changed. */
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
