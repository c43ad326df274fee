import type { OptionTable } from './option-table.js'

/** A command that only changes how another command is started. */
export type Wrapper = OptionTable & {
  /** The number of its own operands before the other command: the seconds of `timeout 10 ls`. */
  readonly operands: number
  /** Words `NAME=value` before the command set variables. */
  readonly assigns?: true
  /** The other command runs in the shell itself, so its `cd` applies. */
  readonly inShell?: true
  /** It adds arguments that are not known. */
  readonly appends?: true
  /** Why no pattern can allow it. */
  readonly doubt?: string
}

export const WRAPPERS: Readonly<Record<string, Wrapper>> = {
  env: {
    stops: true,
    operands: 0,
    assigns: true,
    options: '-i0v -u= --ignore-environment --unset= --null --debug --help --version',
    hazards: {
      '-C= --chdir=': 'runs it in another directory',
      '-S= --split-string=': 'splits the command by its own rules',
    },
  },
  command: { stops: true, operands: 0, inShell: true, options: '-p' },
  builtin: { stops: true, operands: 0, inShell: true, options: '' },
  exec: {
    stops: true,
    operands: 0,
    options: '-cl -a=',
    doubt: 'exec replaces the shell by another program',
  },
  nice: { stops: true, operands: 0, numbers: true, options: '-n= --adjustment=' },
  nohup: { stops: true, operands: 0, options: '' },
  timeout: {
    stops: true,
    operands: 1,
    options: '-v -k= -s= --foreground --kill-after= --preserve-status --signal= --verbose',
  },
  time: {
    stops: true,
    operands: 0,
    options: '-pvq -f= --format= --portability --verbose --quiet',
    hazards: { '-o=w --output=w -a --append': 'writes a file' },
  },
  stdbuf: { stops: true, operands: 0, options: '-i= -o= -e= --input= --output= --error=' },
  setsid: { stops: true, operands: 0, options: '-cfw --ctty --fork --wait' },
  ionice: { stops: true, operands: 0, options: '-t -c= -n= --class= --classdata= --ignore' },
  chrt: {
    stops: true,
    operands: 1,
    options: '-abdfiorRv --batch --deadline --fifo --idle --other --rr --reset-on-fork --verbose -T= -P= -D=',
  },
  xargs: {
    stops: true,
    operands: 0,
    appends: true,
    options:
      '-0rtxop -d= -E= -I= -L= -n= -P= -s= -i? -l? -e? --null --no-run-if-empty --verbose --exit --delimiter= --eof? --replace? --max-lines? --max-args= --max-procs= --max-chars= --interactive --open-tty --show-limits',
    hazards: { '-a=r --arg-file=r': 'reads a file', '--process-slot-var=': 'sets a variable' },
  },
}

/**
 * Wrappers whose options are not parsed: every argument may be the command, and all of them are examined. The list
 * need not be complete, because an unknown program may start its arguments too (`possible-commands.ts`); listed
 * programs always need approval.
 */
export const OPAQUE_WRAPPERS: ReadonlySet<string> = new Set(
  [
    'sudo doas su sg newgrp runuser pkexec gosu su-exec setpriv capsh chroot unshare nsenter taskset numactl prlimit choom flock',
    'setarch linux32 linux64 i386 i486 i586 i686 x86_64 uname26 sparc32 sparc64 ppc32 ppc64 arch coreutils busybox toybox',
    'strace ltrace gdb lldb perf valgrind rr heaptrack uftrace catchsegv script scriptreplay expect unbuffer rlwrap socat',
    'systemd-run systemd-inhibit start-stop-daemon daemonize dumb-init tini run-parts cgexec chpst envdir softlimit setuidgid runcon aa-exec',
    'firejail bwrap proot fakeroot fakechroot faketime eatmydata torsocks tsocks proxychains proxychains4 trickle cpulimit',
    'dbus-run-session dbus-launch xvfb-run xinit startx openvt ssh-agent gpg-agent caffeinate entr chronic ifne pee ts',
    'hyperfine direnv mise nix-shell wine qemu-i386 qemu-x86_64 qemu-aarch64 apptainer singularity',
  ]
    .join(' ')
    .split(' '),
)

/** Returns whether a path is that of the dynamic loader, which runs the program in its arguments. */
export function isLoader(path: string): boolean {
  return /^(ld\.so|ld-(linux|musl)[\w.-]*\.so[\d.]*|ld-[\d.]+\.so)$/.test(
    path.slice(path.lastIndexOf('/') + 1),
  )
}

export const SHELLS: ReadonlySet<string> = new Set(
  'bash sh dash zsh ksh mksh ash rbash rksh fish csh tcsh yash posh'.split(' '),
)
