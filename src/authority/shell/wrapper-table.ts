import type { OptionTable } from './option-table.js'

/** A command that only changes how another one is started. */
export type Wrapper = OptionTable & {
  /** Operands of its own before the other command: the seconds of `timeout 10 ls`. */
  readonly operands: number
  /** Words `NAME=value` before the command set variables. */
  readonly assigns?: true
  /** The other command runs in the shell itself, so that its `cd` counts. */
  readonly inShell?: true
  /** It adds arguments that cannot be known. */
  readonly appends?: true
  /** Why it can at best be asked about. */
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
      '-S= --split-string=': 'takes the command apart by its own rules',
    },
  },
  command: { stops: true, operands: 0, inShell: true, options: '-p' },
  builtin: { stops: true, operands: 0, inShell: true, options: '' },
  exec: {
    stops: true,
    operands: 0,
    options: '-cl -a=',
    doubt: 'exec puts another program in the place of the shell',
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

/** Wrappers whose options are not followed: every argument may be the command, and all of them are looked at. */
export const OPAQUE_WRAPPERS: ReadonlySet<string> = new Set(
  'sudo doas su runuser pkexec setpriv capsh chroot unshare nsenter taskset numactl prlimit flock strace ltrace gdb perf script expect unbuffer systemd-run busybox toybox start-stop-daemon firejail bwrap proot fakeroot torsocks proxychains catchsegv rlwrap dbus-run-session xvfb-run entr run-parts cgexec trickle ssh-agent caffeinate arch'.split(
    ' ',
  ),
)

export const SHELLS: ReadonlySet<string> = new Set(
  'bash sh dash zsh ksh mksh ash rbash rksh fish csh tcsh yash posh'.split(' '),
)
