import { homedir } from 'node:os'
import { join } from 'node:path'
import type { ProcessEntry } from '../shell/process-table.js'
import { keyctlNumber } from './seccomp.js'

/** The content of files that no command can read. */
export const secret = 'capstan-canary-5f1c'
export const deniedName = 'denied.secret'
/** Files outside that the script tries to empty and to move. */
export const emptied = 'emptied'
export const moved = 'moved'

export type Targets = {
  readonly place: string
  /** The name of an abstract socket. Node 20 pads it with zeros, later versions do not. */
  readonly abstract: string
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
  const canary = q(join(place, 'secret'))
  return `
exec 2>/dev/null
${functions}
echo started
has_entries ${q(homedir())} && echo home
write inside && echo wrote-inside
for f in ${outside.map(q).join(' ')}; do write "$f"; done
has_bytes ${canary} && echo secret
for f in /proc/[0-9]*/environ; do while IFS= read -r -d '' line; do [[ $line == *${secret}* ]] && echo environ; done < $f; done
compgen -e > exported && mapfile -t exported < exported || echo "env unknown"
for n in ${environment.join(' ')}; do [[ " \${exported[*]} " == *" $n "* ]] && echo "env $n"; done
: 3<>/dev/tcp/127.0.0.1/${tcpPort} && echo tcp-host
echo x > /dev/udp/127.0.0.1/${udpPort}
at_most_one /proc/net/route '*' || echo route
at_most_one /proc/net/dev '*:*' || echo interfaces
IFS= read -r -d '' status < /proc/self/status
says CapEff '0*' || echo capabilities
says NoNewPrivs 1 || echo privileges
[ "$EUID" = 0 ] && echo root-inside
for f in ${kernelSettings.join(' ')}; do : >> $f && echo "kernel-setting $f"; done
for f in ${kernelMemory.join(' ')}; do has_bytes $f && echo "kernel-memory $f"; done
for d in /sys/firmware /sys/devices/virtual/powercap; do has_entries $d && echo "kernel-memory $d"; done
says Seccomp 2 || echo no-filter
for f in /proc/self/fd/*; do n=\${f##*/}; [ "$n" -gt 2 ] && [ -e "$f" ] && echo "descriptor $n"; done
: < a/b/c/d/e/f/${deniedName} && echo denied-file
try moved-git mv .git .git-moved
for f in .git/hooks/post-checkout .git/info/attributes .git/index .git/commondir .git/config.worktree .mcp.json; do write $f; done
echo x >> .git/config
try - mkdir .git/modules .husky .husky/x .vscode .vscode/x a/b/nested a/b/nested/.git a/moved
try - mv -T a/moved a/b/.git
try - ln -s ../inside a/.git
for f in host.sock renamed.sock ${q(join(place, 'host.sock'))} /run/docker.sock /run/dbus/system_bus_socket; do try "socket-connected $f" connect "$f"; done
try "socket-connected abstract" connect_abstract ${abstract}
try tcp-host connect_tcp ${tcpPort}
try - send_udp ${udpPort}
try vsock call ${calls.socket} 40 1 0
try - ln ${canary} linked
try - ln -P ${canary} linked-too
for f in linked linked-too; do try hard-link has_bytes $f; done
try - ln -s ${q(place)} way-out
try - write way-out/through-link
try symbolic-link has_bytes way-out/secret
has_bytes /proc/self/root${canary} && echo through-proc
try - chmod 0600 ${canary}
try - touch -d 2011-11-11 ${canary}
try - truncate -s 0 ${q(join(place, emptied))}
try - mv ${q(join(place, moved))} taken
${attacks(bystander)}
try keyring keyctl show
for n in ${Object.values(kernelCalls).join(' ')}; do try "kernel-call $n" kernel_call $n; done
try - write as-owner
try - chmod 6755 as-owner
try - mknod device c 1 3
exec 5</etc/passwd; : >> /proc/self/fd/5 && echo reopened; exec 5<&-
: 3<>/proc/1/mem && echo guard-memory; has_bytes /proc/1/environ && echo guard-environment
for f in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/*/cgroup.procs /sys/fs/cgroup/*/release_agent; do : >> $f && echo "control-group $f"; done
${isArm ? '' : x64Attempts}
[ -S host.sock ] && echo socket-in-workspace
[ -S renamed.sock ] && echo socket-in-workspace renamed
[ -S ${q(join(place, 'host.sock'))} ] && echo socket-outside
for d in /run/docker.sock /run/dbus /run/user /tmp/.X11-unix; do [ -e $d ] && echo "socket-place $d"; done
: 9<>/dev/tty && echo terminal
set -- /proc/[0-9]*; [ $# -lt 20 ] || echo processes
: < /proc/sysvipc/shm && { at_most_one /proc/sysvipc/shm '*' || echo shared-memory; }
IFS= read -r -d '' limits < /proc/self/limits; [[ $limits =~ 'Max core file size'[[:space:]]+0[[:space:]] ]] || echo core
port=${tcpPort.toString(16).toUpperCase().padStart(4, '0')}
for f in /proc/net /proc/self/net /proc/thread-self/net /proc/$$/task/$$/net; do lists_port $f/tcp && echo "host-sockets $f"; done
for f in ${rootOnly.map(q).join(' ')}; do { has_bytes "$f" || has_entries "$f"; } && echo "root-only $f"; done
setsid sleep 5 >/dev/null &
try - mkdir mount-here
try mount mount -t tmpfs none mount-here
try - umount mount-here
try mounts unshare -m true
try nested unshare -U true
perform
${ends(bystander)}
echo finished
`
}

/**
 * What a process can do to another process of the same user. In a pid namespace, the pid can be that of a process of
 * the sandbox, which is not attacked: its start time is another one.
 */
function attacks({ pid, startTime }: Targets['bystander']): string {
  return `is_bystander() { local stat; read -r stat < /proc/${pid}/stat || return 0; set -- \${stat##*) }; [ "\${20}" = '${startTime}' ]; }
is_bystander && { for f in environ maps; do has_bytes /proc/${pid}/$f && echo process-read; done
: > /proc/${pid}/oom_score_adj && echo process-write
kill -TERM ${pid} && echo process-signalled
try - prlimit --pid ${pid} --nofile=77:77
try - renice -n 19 -p ${pid}
try traced call ${calls.ptrace} 16 ${pid} 0 0; }`
}

/** The last attack, so that a process which the others reach is still there for them. */
function ends({ pid }: Targets['bystander']): string {
  return `is_bystander && kill -KILL ${pid} && echo process-signalled`
}

/**
 * Calls of x64 that no command needs: a file that runs as its owner, input for a terminal, mounts by descriptors, a
 * file by its handle, sockets below IP, a trace of process 1, a call of the x32 table.
 */
const x64Attempts = `try - creat as-owner-new 6755
for n in 0 1 2; do try terminal-input terminal_input $n; done
try new-mount open_tree
try new-mount fsopen
try file-handle file_handle
try "raw-socket 2" call 41 2 3 1
try "raw-socket 17" call 41 17 3 768
try "raw-socket 10" call 41 10 3 58
try guard-traced call 101 0x4206 1 0 0
try other-calls call 0x40000027`

const isArm = process.arch === 'arm64'

/** Numbers of system calls that Perl has no functions for, or that programs use in another form than Perl. */
const calls = {
  renameat2: isArm ? 276 : 316,
  linkat: isArm ? 37 : 265,
  symlinkat: isArm ? 36 : 266,
  fchmodat: isArm ? 53 : 268,
  utimensat: isArm ? 88 : 280,
  mknodat: isArm ? 33 : 259,
  mount: isArm ? 40 : 165,
  umount2: isArm ? 39 : 166,
  unshare: isArm ? 97 : 272,
  prlimit64: isArm ? 261 : 302,
  ptrace: isArm ? 117 : 101,
  socket: isArm ? 198 : 41,
} as const

/**
 * Runs commands of `try`: the word to report, the number of words of the command, and these. Each is a function here
 * that does what the program does, in both forms of a system call where there are two. Strings are copied, because Perl
 * does not pass constants to system calls.
 */
const perlProgram = `$| = 1;
sub works { my ($number, @words) = @_; syscall($number, @words) >= 0 }
sub number { $_[0] =~ /^0/ ? oct $_[0] : $_[0] + 0 }
my %run = (
  has_bytes => sub { open(FILE, "<", $_[0]) && sysread(FILE, my $byte, 1) },
  write => sub { open(FILE, ">", $_[0]) && syswrite(FILE, "x\\n") },
  mkdir => sub { mkdir $_ for @_ },
  mv => sub { my ($from, $to) = @_[-2, -1]; rename($from, $to) || works(${calls.renameat2}, -100, $from, -100, $to, 0) || unlink $from },
  ln => sub {
    my ($from, $to) = @_[-2, -1];
    return symlink($from, $to) || works(${calls.symlinkat}, $from, -100, $to) if $_[0] eq "-s";
    $_[0] eq "-P" ? works(${calls.linkat}, -100, $from, -100, $to, 0) : link($from, $to);
  },
  chmod => sub { my ($mode, $file) = @_; chmod(oct $mode, $file) || works(${calls.fchmodat}, -100, $file, oct $mode) },
  touch => sub { utime(1, 1, $_[-1]) || works(${calls.utimensat}, -100, $_[-1], 0, 0) },
  truncate => sub { truncate($_[-1], 0) },
  mknod => sub { ${isArm ? '' : 'works(133, $_[0], 020666, 0x103) || '}works(${calls.mknodat}, -100, $_[0], 020666, 0x103) },
  mount => sub { works(${calls.mount}, "none", $_[-1], "tmpfs", 0, 0) },
  umount => sub { works(${calls.umount2}, $_[0], 0) },
  unshare => sub { works(${calls.unshare}, $_[0] eq "-m" ? 0x20000 : 0x10000000) },
  prlimit => sub { works(${calls.prlimit64}, $_[1] + 0, 7, pack("L4", 77, 0, 77, 0), 0) },
  renice => sub { setpriority(0, $_[-1], 19) },
  keyctl => sub { works(${keyctlNumber() ?? -1}, 0, -3, 0) },
  connect => sub { socket(S, 1, 1, 0) && connect(S, pack("Sa108", 1, $_[0])) },
  connect_abstract => sub { my $name = "\\0$_[0]"; grep { socket(S, 1, 1, 0) && connect(S, $_) } pack("Sa*", 1, $name), pack("Sa108", 1, $name) },
  connect_tcp => sub { socket(S, 2, 1, 0) && connect(S, pack("SnNx8", 2, $_[0], 0x7f000001)) },
  send_udp => sub { socket(S, 10, 2, 0) && send(S, "x", 0, pack("SnNx10nNN", 10, $_[0], 0, 0xffff, 0x7f000001, 0)) },
  call => sub { works(map { number($_) } @_) },
  kernel_call => sub { syscall($_[0] + 0, 0, 0, 0, 0, 0) >= 0 || ($! != 1 && $! != 13 && $! != 38) },
  creat => sub { works(85, $_[0], oct $_[1]) },
  terminal_input => sub { works(16, $_[0] + 0, 0x5412, "x") },
  open_tree => sub { works(428, -100, "/", 1) },
  fsopen => sub { works(430, "tmpfs", 0) },
  file_handle => sub {
    my ($file, $handle, $mount) = ("/etc/passwd", pack("Ll", 128, 0) . "\\0" x 128, "\\0" x 8);
    open(ROOT, "<", "/") && syscall(303, -100, $file, $handle, $mount, 0) == 0 && works(304, fileno(ROOT), $handle, 0);
  },
);
while (@ARGV) {
  my ($word, $count) = splice(@ARGV, 0, 2);
  my ($name, @words) = splice(@ARGV, 0, $count);
  print "$word\\n" if $run{$name}->(@words) && $word ne "-";
}
print "tried-all\\n"`

const perlOnly =
  'connect connect_abstract connect_tcp send_udp call kernel_call creat terminal_input open_tree fsopen file_handle'

/**
 * Uses shell built-ins and no subshells, because every host process that runs commands waits for this script once.
 * `try WORD COMMAND` runs a command and reports the word when it succeeds. With Perl, one process runs all of these
 * commands at the end; without it, each is a program, and those that only Perl can run are not tried.
 */
const functions = `has_bytes() { local byte; IFS= read -r -d '' -n 1 byte < "$1"; }
write() { echo x > "$1"; }
shopt -s nullglob dotglob
has_entries() { set -- "$1"/*; [ $# -gt 0 ]; }
at_most_one() {
  local lines line count=0
  mapfile -t lines < "$1" || return
  for line in "\${lines[@]}"; do [[ $line == $2 ]] && count=$((count + 1)); done
  [ $count -le 1 ]
}
lists_port() { # Reading the table takes 5 ms of processor time, so the same file is read once.
  [ -n "$table" ] && [ "$1" -ef "$table" ] && return 1
  mapfile -t lines < "$1" && table=$1 && [[ \${lines[*]} == *":$port "* ]]
}
says() { [[ $'\\n'$status$'\\n' =~ $'\\n'$1:[[:space:]]*$2$'\\n' ]]; }
if command -v perl >/dev/null; then
  perl='${perlProgram}'
  attempts=()
  try() { attempts+=("$1" $(($# - 1)) "\${@:2}"); }
  perform() { perl -e "$perl" -- "\${attempts[@]}"; }
else
  echo no-perl
  try() { "\${@:2}" && [ "$1" != - ] && echo "$1"; }
  for f in ${perlOnly}; do eval "$f() { false; }"; done
  perform() { :; }
fi`

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
